"""The text side of a model: its tokenizer, asked for every special token instead of assuming one."""

from collections.abc import Sequence
from typing import Any

from tiltmeter.questions import Encoded, Kind

# The name of the first sentinel in T5 and all models made after it.
_SENTINEL = "<extra_id_0>"


class TokenizerText:
    """A Hugging Face tokenizer as benchmarks see it (see `tiltmeter.questions.Text`)."""

    def __init__(self, tokenizer: Any, config: Any, kind: Kind) -> None:
        self._tokenizer = tokenizer
        self.kind = kind
        self.start: int | None = _first(
            tokenizer.bos_token_id,
            getattr(config, "bos_token_id", None),
            # Where a model names no token for the beginning, texts were joined by the one for the end in training.
            tokenizer.eos_token_id,
            tokenizer.cls_token_id,
        )
        self.mask: int | None = tokenizer.mask_token_id
        self.mask_text: str = tokenizer.mask_token or ""
        known = tokenizer.get_vocab()
        self.sentinel: int | None = known.get(_SENTINEL)
        self.sentinel_text = _SENTINEL if self.sentinel is not None else ""
        self.decoder_start: int | None = _first(
            getattr(config, "decoder_start_token_id", None), tokenizer.pad_token_id, tokenizer.bos_token_id
        )
        self.pad_text: str = tokenizer.pad_token or ""

    @property
    def has_offsets(self) -> bool:
        """Whether the tokenizer knows which characters a token stands for."""
        return bool(self._tokenizer.is_fast)

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """The texts alone, without any special token."""
        return self._encode(list(texts), special=False)

    def encode_whole(self, texts: Sequence[str]) -> list[Encoded]:
        """The texts with the special tokens the model expects around an input."""
        return self._encode(list(texts), special=True)

    def encode_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[Encoded]:
        """Two sentences as one input, with token types where the model has them."""
        if not pairs:
            return []
        encoded = self._tokenizer(
            [first for first, _ in pairs], [second for _, second in pairs], return_attention_mask=False
        )
        segments = encoded.get("token_type_ids") or [()] * len(pairs)
        return [
            Encoded(tuple(ids), segments=tuple(types))
            for ids, types in zip(encoded["input_ids"], segments, strict=True)
        ]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of some tokens."""
        return str(self._tokenizer.decode(list(ids)))

    def _encode(self, texts: list[str], *, special: bool) -> list[Encoded]:
        if not texts:
            return []
        encoded = self._tokenizer(
            texts,
            add_special_tokens=special,
            return_attention_mask=False,
            return_token_type_ids=False,
            return_offsets_mapping=self.has_offsets,
        )
        offsets = encoded["offset_mapping"] if self.has_offsets else [()] * len(texts)
        return [Encoded(tuple(i), tuple(o)) for i, o in zip(encoded["input_ids"], offsets, strict=True)]


def _first(*tokens: Any) -> int | None:
    """The first token id there is; configs may hold None, or a list of several."""
    for token in tokens:
        if isinstance(token, list):
            token = token[0] if token else None
        if token is not None:
            return int(token)
    return None
