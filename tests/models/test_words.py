"""Which word each token belongs to."""

from types import SimpleNamespace

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from tests.models.tiny_tokenizers import byte_level, word_piece
from tiltmeter.models.tokenizer_text import TokenizerText, find_word_indices


def test_pieces_of_a_word_have_its_number_and_special_tokens_none() -> None:
    text = TokenizerText(word_piece(), SimpleNamespace(), "masked")
    assert text.find_token_words(["she is gentle ."]) == [(None, 0, 1, 2, 2, 3, None)]
    assert text.find_token_words([]) == []


def test_byte_level_words_take_the_space_in_front_of_them() -> None:
    (words,) = TokenizerText(byte_level(), SimpleNamespace(), "masked").find_token_words(["the gentle cat"])
    assert words == (0, 1, 2, 2, 2, 2)


@pytest.mark.parametrize("lead", ["", " "])
def test_a_tokenizer_that_knows_no_words_is_told_by_spaces(lead: str) -> None:
    """Spaces become characters before the text is cut, so that to the tokenizer all is one word."""
    pieces = ["▁", *"abcde", "▁c", "de", "."]
    merges = [("▁", "c"), ("d", "e")]
    tokenizer = Tokenizer(models.BPE(vocab={piece: i for i, piece in enumerate(pieces)}, merges=merges))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split("▁▁▁", "isolated")
    text = TokenizerText(PreTrainedTokenizerFast(tokenizer_object=tokenizer), SimpleNamespace(), "masked")
    sentence = f"{lead}ab cde b."
    assert set(text.tokenizer(sentence).word_ids()) == {0}
    (words,) = text.find_token_words([sentence])
    tokens = text.tokenizer(sentence).tokens()
    spelt: dict[int, str] = {}
    for token, word in zip(tokens, words, strict=True):
        assert word is not None
        spelt[word] = spelt.get(word, "") + token
    assert [word.strip("▁") for word in spelt.values()] == ["ab", "cde", "b."]


def test_one_word_is_one_word_where_there_are_no_spaces() -> None:
    assert find_word_indices("她织毛衣", [None, 0, 0, 0, 0], [(0, 0), (0, 1), (1, 2), (2, 3), (3, 4)]) == (
        None,
        0,
        0,
        0,
        0,
    )
