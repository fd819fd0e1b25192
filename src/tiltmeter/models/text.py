"""The text side of a model: its tokenizer, asked for every special token instead of assuming one."""

import copy
import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from tiltmeter.questions import Encoded, Kind

# The name of the first sentinel in T5 and all models made after it.
_SENTINEL = "<extra_id_0>"
# What the tokenizer tells of a text takes far more memory than the ids that are kept of it.
_TEXTS_AT_ONCE = 1000


def tokenizer_digest(tokenizer: Any) -> str:
    """SHA-256 of a tokenizer: its rules and vocabulary, and its special tokens."""
    if getattr(tokenizer, "is_fast", False):
        library = copy.deepcopy(tokenizer.backend_tokenizer)
        library.no_truncation()
        library.no_padding()
        rules = library.to_str()
    else:
        rules = json.dumps(tokenizer.get_vocab(), sort_keys=True)
    special = json.dumps(tokenizer.special_tokens_map, sort_keys=True, default=str)
    return hashlib.sha256(f"{rules}\n{special}".encode()).hexdigest()


class TokenizerText:
    """A Hugging Face tokenizer as benchmarks see it (see `tiltmeter.questions.Text`)."""

    def __init__(self, tokenizer: Any, config: Any, kind: Kind, *, next_sentence: bool = False) -> None:
        self._tokenizer = tokenizer
        self.kind = kind
        self.next_sentence = next_sentence
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
        # Tokenizers over bytes know everything, and some give another special token in that place.
        named = tokenizer.unk_token_id
        self.unknown: int | None = None if named in (tokenizer.bos_token_id, tokenizer.eos_token_id) else named
        self._decoded: dict[tuple[int, ...], str] = {(): ""}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what splits texts into tokens."""
        return tokenizer_digest(self._tokenizer)

    @property
    def has_offsets(self) -> bool:
        """Whether the tokenizer knows which characters a token stands for."""
        return bool(self._tokenizer.is_fast)

    def encode(self, texts: Sequence[str], *, offsets: bool = False) -> list[Encoded]:
        """The texts alone, without any special token."""
        return self._encode(texts, special=False, offsets=offsets)

    def encode_whole(self, texts: Sequence[str], *, offsets: bool = False) -> list[Encoded]:
        """The texts with the special tokens the model expects around an input."""
        return self._encode(texts, special=True, offsets=offsets)

    def words(self, texts: Sequence[str]) -> list[tuple[int | None, ...]]:
        """The number of the word that each token of `encode_whole` belongs to; None for a special token."""
        if not texts:
            return []
        encoded = self._tokenizer(list(texts), return_offsets_mapping=True)
        return [
            words_of(text, encoded.word_ids(number), encoded["offset_mapping"][number])
            for number, text in enumerate(texts)
        ]

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
        key = tuple(ids)
        if key not in self._decoded:  # the beginnings of words come again and again
            self._decoded[key] = str(self._tokenizer.decode(list(ids)))
        return self._decoded[key]

    def _encode(self, texts: Sequence[str], *, special: bool, offsets: bool) -> list[Encoded]:
        # Many texts of a benchmark are the same but for what is asked of them: each is encoded once.
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return []
        if self.has_offsets:
            found = self._encode_fast(distinct, special=special, offsets=offsets)
        else:
            encoded = self._tokenizer(distinct, add_special_tokens=special, return_attention_mask=False)
            found = [Encoded(tuple(ids)) for ids in encoded["input_ids"]]
        place = dict(zip(distinct, found, strict=True))
        return [place[text] for text in texts]

    def _encode_fast(self, texts: list[str], *, special: bool, offsets: bool) -> list[Encoded]:
        """By the library behind the tokenizer: the wrapper around it takes longer than the work itself."""
        library = self._tokenizer.backend_tokenizer
        # A checkpoint may have been saved with them on; nothing here is cut or filled up.
        library.no_truncation()
        library.no_padding()
        encode = library.encode_batch if offsets else library.encode_batch_fast
        found: list[Encoded] = []
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            encoded = encode(texts[start : start + _TEXTS_AT_ONCE], add_special_tokens=special)
            found += [Encoded(tuple(e.ids), tuple(e.offsets) if offsets else ()) for e in encoded]
        return found


def words_of(text: str, told: Sequence[int | None], offsets: Sequence[tuple[int, int]]) -> tuple[int | None, ...]:
    """The words as the tokenizer tells them, or, where to it all is one word, as spaces part them.

    A tokenizer that turns spaces into a character of its own before it cuts (Gemma's, say) knows no words.

    >>> words_of("a bc", [None, 0, 0, 0, None], [(0, 0), (0, 1), (1, 3), (3, 4), (0, 0)])
    (None, 1, 2, 2, None)
    """
    starts = [match.start() for match in re.finditer(r"\S+", text)]
    if len(set(told) - {None}) != 1 or len(starts) < 2:
        return tuple(told)
    # A token may begin with the space in front of its word: the first other character tells.
    firsts = [start + len(text[start:]) - len(text[start:].lstrip()) for start, _ in offsets]
    return tuple(
        None if word is None else bisect_right(starts, first) for word, first in zip(told, firsts, strict=True)
    )


def _first(*tokens: Any) -> int | None:
    """The first token id there is; configs may hold None, or a list of several."""
    for token in tokens:
        if isinstance(token, list):
            token = token[0] if token else None
        if token is not None:
            return int(token)
    return None
