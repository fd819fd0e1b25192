"""A model's tokenizer and its special tokens, in the form that benchmarks use."""

import copy
import hashlib
import inspect
import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tiltmeter.engine.input_limits import read_decoder_start_token
from tiltmeter.errors import ModelError
from tiltmeter.models.tokenizer_growth import reject_text_growth
from tiltmeter.questions import EncodedText, Kind

# The text of the first sentinel token in T5 and similar models.
_SENTINEL = "<extra_id_0>"
# SentencePiece uses this character for the space before a word.
_SPACE_MARK = "▁"
# The usual format of special tokens.
_MARKUP = re.compile(r"<.*>|\[.*\]", re.DOTALL)
# Number of texts per call of the tokenizer. The tokenizer's result objects take far more memory than the token ids.
_CHUNK_SIZE = 1000
# Settings that are not part of a tokenizer's rules; the first affects decoding, and the second affects encoding.
_TEXT_SETTINGS = ("clean_up_tokenization_spaces", "split_special_tokens")
# Options that are not part of a tokenizer's digest: the places of its files, and the chat template.
_PLACES = ("name_or_path", "_commit_hash", "tokenizer_file", "vocab_file", "merges_file", "chat_template")


def compute_tokenizer_digest(tokenizer: Any) -> str:
    """Return the SHA-256 of a tokenizer's rules, vocabulary and special tokens."""
    if getattr(tokenizer, "is_fast", False):
        library = copy.deepcopy(tokenizer.backend_tokenizer)
        library.no_truncation()
        library.no_padding()
        rules = library.to_str()
    else:
        rules = json.dumps(tokenizer.get_vocab(), sort_keys=True) + _describe_other_rules(tokenizer)
    special = json.dumps(tokenizer.special_tokens_map, sort_keys=True, default=str)
    return hashlib.sha256(f"{rules}\n{special}".encode()).hexdigest()


def compute_settings_digest(tokenizer: Any) -> str:
    """Return the SHA-256 of everything that affects encoding and decoding: rules, class, source code and settings."""
    settings = {name: getattr(tokenizer, name, None) for name in _TEXT_SETTINGS}
    parts = (
        compute_tokenizer_digest(tokenizer),
        type(tokenizer).__qualname__,
        json.dumps(settings, default=str),
        _read_source(tokenizer),
    )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _read_source(tokenizer: Any) -> str:
    """Return the source code of a tokenizer's class; an empty text if the class is part of transformers."""
    if type(tokenizer).__module__.partition(".")[0] == "transformers":
        return ""
    with suppress(OSError, TypeError):  # a class from an interactive session has no source file
        return inspect.getsource(inspect.getmodule(type(tokenizer)) or type(tokenizer))
    return ""


def _describe_other_rules(tokenizer: Any) -> str:
    """Return as JSON the options of a tokenizer written in Python, and the digests of its files, such as merges."""
    options = {name: value for name, value in tokenizer.init_kwargs.items() if name not in _PLACES}
    files = {}
    with TemporaryDirectory() as folder, suppress(NotImplementedError, OSError):
        for name in tokenizer.save_vocabulary(folder) or ():
            files[Path(name).name] = hashlib.sha256(Path(name).read_bytes()).hexdigest()
    return json.dumps([files, options], sort_keys=True, default=str)


def reject_empty_vocabulary(tokenizer: Any, name: str) -> None:
    """Raise an error if a tokenizer has only special tokens, which happens in transformers if files are missing."""
    special = {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()}
    if not any(token not in special and token.strip(_SPACE_MARK) for token in tokenizer.get_vocab()):
        raise ModelError(
            f"The tokenizer of {name} has no vocabulary, because its files, such as tokenizer.json, are missing; put "
            "them into the folder of the weights, or name a tokenizer with --tokenizer."
        )


class TokenizerText:
    """A Hugging Face tokenizer with the interface `tiltmeter.questions.Tokenizer`, which benchmarks use."""

    def __init__(self, tokenizer: Any, config: Any, kind: Kind, *, next_sentence: bool = False) -> None:
        self.tokenizer = tokenizer
        self.kind = kind
        self.next_sentence = next_sentence
        self.start: int | None = _select_first_id(
            tokenizer.bos_token_id,
            getattr(config, "bos_token_id", None),
            # Models without a BOS token are trained on texts that the EOS token separates, so EOS can start a text.
            tokenizer.eos_token_id,
            tokenizer.cls_token_id,
        )
        self.mask: int | None = tokenizer.mask_token_id
        self.mask_text: str = tokenizer.mask_token or ""
        known = tokenizer.get_vocab()
        self.sentinel: int | None = known.get(_SENTINEL)
        self.sentinel_text = _SENTINEL if self.sentinel is not None else ""
        self.decoder_start: int | None = _select_first_id(
            read_decoder_start_token(config), tokenizer.pad_token_id, tokenizer.bos_token_id
        )
        self.pad_text: str = tokenizer.pad_token or ""
        # Byte-level tokenizers have no unknown token; some of them name the BOS or EOS token as their unknown token.
        unknown = _find_unknown_id(tokenizer)
        self.unknown: int | None = None if unknown in (tokenizer.bos_token_id, tokenizer.eos_token_id) else unknown
        self._decoded: dict[tuple[int, ...], str] = {(): ""}

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the tokenizer's rules, vocabulary and special tokens."""
        return compute_tokenizer_digest(self.tokenizer)

    @cached_property
    def special_tokens(self) -> dict[int, str]:
        """A dictionary from ids to special tokens, including added tokens with a similar form, such as `<think>`."""
        added = getattr(self.tokenizer, "added_tokens_decoder", {})
        marks = {id_: str(token) for id_, token in added.items() if token.special or _MARKUP.fullmatch(str(token))}
        named = zip(self.tokenizer.all_special_ids, self.tokenizer.all_special_tokens, strict=True)
        return {id_: token for id_, token in (marks | dict(named)).items() if token.strip()}

    @property
    def has_chat_template(self) -> bool:
        """Whether the tokenizer has a chat template; the tokenizers of instruct models have one."""
        return bool(getattr(self.tokenizer, "chat_template", None))

    @property
    def has_offsets(self) -> bool:
        """Whether the tokenizer returns for each token its range of characters in the text."""
        return bool(self.tokenizer.is_fast)

    def encode(self, texts: Sequence[str], *, offsets: bool = False) -> list[EncodedText]:
        """Tokenize texts without special tokens."""
        return self._encode_texts(texts, special=False, offsets=offsets)

    def encode_with_special_tokens(self, texts: Sequence[str], *, offsets: bool = False) -> list[EncodedText]:
        """Tokenize texts with the special tokens that the model expects around an input."""
        return self._encode_texts(texts, special=True, offsets=offsets)

    def find_token_words(self, texts: Sequence[str]) -> list[tuple[int | None, ...]]:
        """Return, per text, the word index of each token of `encode_with_special_tokens`; None for a special token."""
        if not texts:
            return []
        reject_text_growth(self.tokenizer, texts)
        encoded = self.tokenizer(list(texts), return_offsets_mapping=True)
        return [
            find_word_indices(text, encoded.word_ids(index), encoded["offset_mapping"][index])
            for index, text in enumerate(texts)
        ]

    def encode_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[EncodedText]:
        """Tokenize each sentence pair as one input; `segments` are the token types, if the model has token types."""
        if not pairs:
            return []
        reject_text_growth(self.tokenizer, [text for pair in pairs for text in pair])
        encoded = self.tokenizer(
            [first for first, _ in pairs], [second for _, second in pairs], return_attention_mask=False
        )
        segments = encoded.get("token_type_ids") or [()] * len(pairs)
        return [
            EncodedText(tuple(ids), segments=tuple(types))
            for ids, types in zip(encoded["input_ids"], segments, strict=True)
        ]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of a sequence of token ids."""
        key = tuple(ids)
        if key not in self._decoded:
            self._decoded[key] = str(self.tokenizer.decode(list(ids)))
        return self._decoded[key]

    def _encode_texts(self, texts: Sequence[str], *, special: bool, offsets: bool) -> list[EncodedText]:
        # Each distinct text is encoded once, because benchmarks ask several questions about the same text.
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return []
        reject_text_growth(self.tokenizer, distinct)
        if self.has_offsets:
            results = self._encode_fast(distinct, special=special, offsets=offsets)
        else:
            encoded = self.tokenizer(distinct, add_special_tokens=special, return_attention_mask=False)
            results = [EncodedText(tuple(ids)) for ids in encoded["input_ids"]]
        by_text = dict(zip(distinct, results, strict=True))
        return [by_text[text] for text in texts]

    def _encode_fast(self, texts: list[str], *, special: bool, offsets: bool) -> list[EncodedText]:
        """Encode with the tokenizers library directly, because transformers' wrapper takes longer than the encoding."""
        library = self.tokenizer.backend_tokenizer
        # Truncation and padding are turned off, because a tokenizer may have been saved with them.
        library.no_truncation()
        library.no_padding()
        encode = library.encode_batch if offsets else library.encode_batch_fast
        results: list[EncodedText] = []
        for start in range(0, len(texts), _CHUNK_SIZE):
            encoded = encode(texts[start : start + _CHUNK_SIZE], add_special_tokens=special)
            results += [EncodedText(tuple(e.ids), tuple(e.offsets) if offsets else ()) for e in encoded]
        return results


def find_word_indices(
    text: str, reported: Sequence[int | None], offsets: Sequence[tuple[int, int]]
) -> tuple[int | None, ...]:
    """Return the index of the word to which each token of `text` belongs; None for a special token.

    `reported` are the word indices from the tokenizer, and `offsets` the character ranges of the tokens. Tokenizers
    that replace spaces before splitting, such as Gemma's, report the whole text as one word. Then words are separated
    at white space instead.

    >>> find_word_indices("a bc", [None, 0, 0, 0, None], [(0, 0), (0, 1), (1, 3), (3, 4), (0, 0)])
    (None, 1, 2, 2, None)
    """
    starts = [match.start() for match in re.finditer(r"\S+", text)]
    if len(set(reported) - {None}) != 1 or len(starts) < 2:
        return tuple(reported)
    # A token may begin with the space before its word, so the token's first character that is not a space decides.
    firsts = [start + len(text[start:]) - len(text[start:].lstrip()) for start, _ in offsets]
    return tuple(
        None if word is None else bisect_right(starts, first) for word, first in zip(reported, firsts, strict=True)
    )


def _find_unknown_id(tokenizer: Any) -> int | None:
    """Return the id of the unknown token; some fast tokenizers define this token only in their rules."""
    token_id: int | None = tokenizer.unk_token_id
    if token_id is not None or not getattr(tokenizer, "is_fast", False):
        return token_id
    named = getattr(tokenizer.backend_tokenizer.model, "unk_token", None)
    return None if named is None else tokenizer.backend_tokenizer.token_to_id(named)


def _select_first_id(*tokens: Any) -> int | None:
    """Return the first token id that is not None; a list of ids counts as its first element."""
    for token in tokens:
        if isinstance(token, list):
            token = token[0] if token else None
        if token is not None:
            return int(token)
    return None
