"""Continuations joined from parts have the tokens of the whole text, or are tokenized as a whole."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.models.tiny_tokenizers import byte_level, word_level, word_piece
from tiltmeter.benchmarks.continuations import ContinuedPrompt, encode_continuations
from tiltmeter.models.tokenizer_text import TokenizerText

ANSWERS = ("gentle", "the nurse", "she")
PROMPTS = [
    ContinuedPrompt(f"Context: the nurse was {word} .\nQuestion: is she loud ?\nAnswer:", ANSWERS)
    for word in ("gentle", "gruff", "wooden")
]


class CountingText(TokenizerText):
    """A tokenizer that counts the characters it is given."""

    characters = 0

    def encode(self, texts: Any, *, offsets: bool = False) -> Any:
        self.characters += sum(map(len, texts))
        return super().encode(texts, offsets=offsets)


def text_of(tokenizer: Any) -> CountingText:
    return CountingText(tokenizer, SimpleNamespace(), "causal")


@pytest.mark.parametrize("tokenizer", [byte_level(), word_level(bos_token="<s>"), word_piece()])
def test_the_tokens_are_those_of_the_whole_text(tokenizer: Any) -> None:
    text = text_of(tokenizer)
    for prompt, found in zip(PROMPTS, encode_continuations(text, PROMPTS), strict=True):
        for written, continuation in zip(prompt.texts, found, strict=True):
            (whole,) = text.encode([written], offsets=True)
            assert continuation.ids == whole.ids
            ends = [end > len(prompt.text) for _, end in whole.offsets]
            assert continuation.first == ends.index(True)


def test_a_tokenizer_that_depends_on_earlier_lines_gets_whole_texts() -> None:
    class Remembering(TokenizerText):
        def encode(self, texts: Any, *, offsets: bool = False) -> Any:
            found = super().encode(texts, offsets=offsets)
            return [one._replace(ids=(*one.ids[:-1], len(written))) for one, written in zip(found, texts, strict=True)]

    text = Remembering(byte_level(), SimpleNamespace(), "causal")
    for prompt, found in zip(PROMPTS, encode_continuations(text, PROMPTS), strict=True):
        assert [continuation.ids[-1] for continuation in found] == [len(written) for written in prompt.texts]


def test_a_long_prompt_is_not_tokenized_for_each_continuation() -> None:
    text = text_of(byte_level())
    prompts = [ContinuedPrompt(f"{'the nurse ' * 30}{number}\nAnswer:", ANSWERS) for number in range(200)]
    list(encode_continuations(text, prompts))
    assert text.characters < 2 * sum(len(prompt.text) for prompt in prompts)
