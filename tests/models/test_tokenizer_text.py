"""The text side of a model: properties of tokenizers that must not be assumed."""

from types import SimpleNamespace

import pytest

from tests.models.tiny_tokenizers import byte_level, with_template, word_level, word_piece
from tiltmeter.models.tokenizer_text import TokenizerText

NO_CONFIG = SimpleNamespace()


def test_the_start_token_is_that_of_the_tokenizer_or_of_the_config_or_the_end_token() -> None:
    assert TokenizerText(word_level(bos_token="<s>", eos_token="</s>"), NO_CONFIG, "causal").start == 1
    config = SimpleNamespace(bos_token_id=7)
    assert TokenizerText(word_level(eos_token="</s>"), config, "causal").start == 7
    assert TokenizerText(word_level(eos_token="</s>"), NO_CONFIG, "causal").start == 1
    assert TokenizerText(word_level(), NO_CONFIG, "causal").start is None


def test_a_config_can_have_several_start_tokens() -> None:
    assert TokenizerText(word_level(), SimpleNamespace(bos_token_id=[5, 6]), "causal").start == 5
    assert TokenizerText(word_level(), SimpleNamespace(bos_token_id=[]), "causal").start is None


@pytest.mark.parametrize(
    ("template", "special"), [("<s> $A", ["<s>"]), ("$A </s>", ["</s>"]), ("<s> $A </s>", ["<s>", "</s>"])]
)
def test_special_tokens_that_a_tokenizer_adds_are_not_part_of_a_text(template: str, special: list[str]) -> None:
    plain = TokenizerText(word_level(bos_token="<s>", eos_token="</s>"), NO_CONFIG, "causal")
    adding = with_template(word_level(bos_token="<s>", eos_token="</s>"), template, *special)
    text = TokenizerText(adding, NO_CONFIG, "causal")
    assert text.encode(["the nurse was kind ."]) == plain.encode(["the nurse was kind ."])
    assert len(text.encode_with_special_tokens(["the nurse"])[0].ids) == 2 + len(special)


def test_a_tokenizer_without_a_pad_token_encodes_texts_of_different_lengths() -> None:
    encoded = TokenizerText(word_level(), NO_CONFIG, "causal").encode(["the nurse", "the nurse was very kind ."])
    assert [len(text.ids) for text in encoded] == [2, 6]


def test_no_texts() -> None:
    text = TokenizerText(word_piece(), NO_CONFIG, "masked")
    assert text.encode([]) == text.encode_with_special_tokens([]) == text.encode_pairs([]) == []


def test_pairs_have_token_types_if_the_model_has_them() -> None:
    text = TokenizerText(word_piece(), NO_CONFIG, "masked")
    (pair,) = text.encode_pairs([("the nurse .", "she is kind .")])
    assert pair.segments == (0,) * 5 + (1,) * 5
    (plain,) = TokenizerText(word_level(), NO_CONFIG, "masked").encode_pairs([("the nurse", "she")])
    assert plain.segments == ()


def test_offsets_are_the_characters_of_each_token() -> None:
    (encoded,) = TokenizerText(word_piece(), NO_CONFIG, "masked").encode_with_special_tokens(
        ["the gentle nurse"], offsets=True
    )
    assert [("the gentle nurse")[a:b] for a, b in encoded.offsets] == ["", "the", "gen", "tle", "nurse", ""]


def test_a_word_is_tokenized_differently_after_a_space() -> None:
    text = TokenizerText(byte_level(), NO_CONFIG, "causal")
    alone, after = text.encode(["gentle", "the gentle"])
    assert len(alone.ids) == 4  # g e nt le
    assert len(after.ids) == 2  # the Ġgentle
