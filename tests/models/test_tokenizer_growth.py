"""Normalisers that multiply texts are stopped, and usual ones are not."""

from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers
from transformers import PreTrainedTokenizerFast

from tests.support.messages import raises_mentioning
from tiltmeter.errors import ModelError
from tiltmeter.models.tokenizer_growth import reject_text_growth
from tiltmeter.models.tokenizer_text import TokenizerText

TEXTS = ["tea", "A banana and a cup of tea. " * 40]


def tokenizer(normalizer: Any = None, decoder: Any = None) -> Any:
    library = Tokenizer(models.WordLevel({"[UNK]": 0, "tea": 1}, unk_token="[UNK]"))
    if normalizer is not None:
        library.normalizer = normalizer
    if decoder is not None:
        library.decoder = decoder
    return PreTrainedTokenizerFast(tokenizer_object=library, unk_token="[UNK]", name_or_path="tiny")


@pytest.mark.parametrize(
    "normalizer",
    [
        normalizers.Sequence([normalizers.Replace("a", "aa")] * 40),
        normalizers.Sequence([normalizers.Replace(Regex("."), "ab"), normalizers.NFC()] * 40),
        normalizers.Sequence([normalizers.Sequence([normalizers.Replace(Regex(""), "xy")] * 5)] * 6),
        normalizers.Replace("a", "b" * 1_000_000),
    ],
)
def test_normalisers_that_multiply_texts(normalizer: Any) -> None:
    text = TokenizerText(tokenizer(normalizer), None, "causal")
    for encode in (
        text.encode,
        text.encode_with_special_tokens,
        text.find_token_words,
        lambda texts: text.encode_pairs([(texts[0], texts[1])]),
    ):
        with raises_mentioning(ModelError, "tokenizer of tiny", "'normalizer' in tokenizer.json"):
            encode(TEXTS)


def test_a_decoder_that_multiplies_texts() -> None:
    with raises_mentioning(ModelError, "tokenizer of tiny", "'decoder' in tokenizer.json"):
        reject_text_growth(tokenizer(decoder=decoders.Sequence([decoders.Replace("a", "aa")] * 40)), TEXTS)


@pytest.mark.parametrize(
    "normalizer",
    [
        None,
        normalizers.BertNormalizer(),
        normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), "▁"), normalizers.Prepend("▁")]),
        normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()] * 3),
        # Each applies to another character.
        normalizers.Sequence([normalizers.Replace(chr(0x1F600 + place), ":a face:") for place in range(60)]),
    ],
)
def test_usual_normalisers(normalizer: Any) -> None:
    reject_text_growth(tokenizer(normalizer), [*TEXTS, "", "tea " * 20_000])
