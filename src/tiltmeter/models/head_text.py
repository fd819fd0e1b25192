"""Tokenization of sentence pairs for a trained next-sentence head, in training and in measurement."""

from collections.abc import Sequence
from typing import Any

from tiltmeter.models.head_config import HeadConfig
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.questions import EncodedText


class HeadText(TokenizerText):
    """The tokenizer of a model with a trained next-sentence head; it encodes sentence pairs as in training."""

    def __init__(self, tokenizer: Any, config: Any, head: HeadConfig) -> None:
        super().__init__(tokenizer, config, head.kind, next_sentence=True)
        self._head = head

    def encode_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[EncodedText]:
        """Return each sentence pair as one input, truncated to the head's maximum length."""
        return encode_pairs(self, [(self._head.prefix + first, second) for first, second in pairs], self._head)


def encode_pairs(text: TokenizerText, pairs: Sequence[tuple[str, str]], head: HeadConfig) -> list[EncodedText]:
    """Return each sentence pair as one input; the caller must have put `head.prefix` before the first sentences."""
    if not pairs:
        return []
    if not head.joined:
        return _encode_as_pairs(text, pairs, head.max_length)
    whole = [f"{first}{head.separator}{second}" for first, second in pairs]
    joined = text.encode_with_special_tokens(whole, offsets=text.has_offsets)
    return [
        EncodedText(encoded.ids)
        if len(encoded.ids) <= head.max_length
        else EncodedText(_truncate_pair(text, encoded, first, head.max_length))
        for encoded, (first, _) in zip(joined, pairs, strict=True)
    ]


def _encode_as_pairs(text: TokenizerText, pairs: Sequence[tuple[str, str]], max_length: int) -> list[EncodedText]:
    """Encode pairs in the tokenizer's format for pairs; the longer sentence is shortened until the input fits."""
    encoded = text.tokenizer(
        [first for first, _ in pairs],
        [second for _, second in pairs],
        truncation="longest_first",
        max_length=max_length,
        return_attention_mask=False,
    )
    segments = encoded.get("token_type_ids") or [()] * len(pairs)
    return [EncodedText(tuple(i), segments=tuple(s)) for i, s in zip(encoded["input_ids"], segments, strict=True)]


def _truncate_pair(text: TokenizerText, encoded: EncodedText, first: str, max_length: int) -> tuple[int, ...]:
    """Return the token ids of a pair with the end of the longer sentence removed; special tokens are not removed."""
    if encoded.offsets:
        tokens = [index for index, (start, end) in enumerate(encoded.offsets) if end > start]
        count = sum(encoded.offsets[index][0] < len(first) for index in tokens)
    else:
        # A slow tokenizer gives no offsets, so the number of tokens of the first sentence is estimated by encoding this
        # sentence alone.
        special = set(text.tokenizer.all_special_ids) - {text.unknown}
        tokens = [index for index, token in enumerate(encoded.ids) if token not in special]
        count = len(text.encode([first])[0].ids)
    in_first, in_second = tokens[:count], tokens[count:]
    for _ in range(len(encoded.ids) - max_length):
        (in_first if len(in_first) > len(in_second) else in_second).pop()
    removed = set(tokens) - {*in_first, *in_second}
    return tuple(token for index, token in enumerate(encoded.ids) if index not in removed)
