"""Sentence pairs as inputs of a trained head: both sentences are kept when they are too long together."""

from typing import Any

import pytest
import transformers as t

from tests.models.tiny_tokenizers import with_template, word_level
from tiltmeter.models.head_config import HeadConfig
from tiltmeter.models.head_text import HeadText

HEAD = {"design": "recommended", "reading": "mean", "base": "tiny", "base_weights": ""}
LONG, SHORT = "the nurse was gentle to me . " * 5, "she is very loud"


def text(tokenizer: Any, **head: Any) -> HeadText:
    return HeadText(tokenizer, t.LlamaConfig(), HeadConfig(**{**HEAD, "kind": "causal", **head}))


@pytest.mark.parametrize("pair", [(LONG, SHORT), (SHORT, LONG), (LONG, LONG)])
@pytest.mark.parametrize("slow", [True, False])
def test_the_longer_sentence_is_cut_and_special_tokens_stay(slow: bool, pair: tuple[str, str]) -> None:
    fast = with_template(word_level(bos_token="<s>", eos_token="</s>"), "<s> $A </s>", "<s>", "</s>")
    tokenizer: Any = t.ByT5Tokenizer() if slow else fast
    longest = 40 if slow else 12
    found = text(tokenizer, max_length=longest)
    (encoded,) = found.encode_pairs([pair])
    assert len(encoded.ids) == longest
    assert encoded.ids[-1] == tokenizer.eos_token_id
    words = tokenizer.decode(encoded.ids, skip_special_tokens=True)
    first, second = pair
    if len(first) > len(second):
        assert words.endswith(second)
        assert words.startswith("the nurse was")
    elif len(second) > len(first):
        assert words.startswith(f"{first} the nurse")
    else:
        assert words.count("the nurse was") == 2
