"""A limit on the length of the texts that the normaliser of a fast tokenizer produces.

Rules in tokenizer.json can make a text longer. A few rules that each double a text can turn a sentence into a terabyte,
and the tokenizers library cannot be interrupted. Therefore, if the rules could exceed the limit for a text, they are
first applied one after the other, and the length of the text is checked after each rule.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from tokenizers import Tokenizer, models

from tiltmeter.errors import ModelError

# Maximum number of characters of a normalised text: `_MAX_CHARACTERS`, or `_MAX_GROWTH` times the length of the text if
# this is more.
_MAX_CHARACTERS = 200_000
_MAX_GROWTH = 20
# Maximum number of characters that Unicode normalisation or a SentencePiece table makes from one character.
_NORMALIZATION_GROWTH = 18
_EMPTY = json.loads(Tokenizer(models.BPE()).to_str())

_Rule = dict[str, Any]
_RULES: WeakKeyDictionary[Any, list[_Rule]] = WeakKeyDictionary()


def reject_text_growth(tokenizer: Any, texts: Sequence[str]) -> None:
    """Raise a ModelError if the normaliser makes a text far longer, or if the decoder could make a text far longer."""
    if not getattr(tokenizer, "is_fast", False):
        return
    if tokenizer not in _RULES:
        _RULES[tokenizer] = _read_rules(tokenizer)
    rules = _RULES[tokenizer]
    if _compute_bound(rules, max(map(len, texts), default=0)) <= _MAX_CHARACTERS:
        return
    for text in texts:
        if not _is_below_limit(rules, text):
            raise ModelError(
                f"The normalizer of the tokenizer of {tokenizer.name_or_path or 'the model'} turns one text into more "
                f"than {_MAX_CHARACTERS:,} characters; check the rules of 'normalizer' in tokenizer.json."
            )


def _read_rules(tokenizer: Any) -> list[_Rule]:
    """Return the normaliser rules of a tokenizer; raise a ModelError if its decoder could make texts far longer."""
    parts = json.loads(tokenizer.backend_tokenizer.to_str())
    if _compute_bound([*_flatten_rules(parts.get("decoder"), "decoders")], 1) > _MAX_CHARACTERS:
        raise ModelError(
            f"The decoder of the tokenizer of {tokenizer.name_or_path or 'the model'} makes texts far longer; check "
            "the rules of 'decoder' in tokenizer.json."
        )
    return [*_flatten_rules(parts.get("normalizer"), "normalizers")]


def _flatten_rules(rule: _Rule | None, inner: str) -> Iterator[_Rule]:
    if rule is not None and rule["type"] == "Sequence":
        for part in rule[inner]:
            yield from _flatten_rules(part, inner)
    elif rule is not None:
        yield rule


def _compute_bound(rules: Sequence[_Rule], length: float) -> float:
    """Return the maximum length that a text of this length can have after all rules."""
    for rule in rules:
        length = _compute_longest(rule, length)
    return length


def _compute_longest(rule: _Rule, length: float) -> float:
    if rule["type"] == "Prepend":
        return length + len(rule["prepend"])
    if rule["type"] != "Replace":
        return length * (_NORMALIZATION_GROWTH if rule["type"].startswith(("NF", "Precompiled", "Bert")) else 4)
    (kind, pattern), content = next(iter(rule["pattern"].items())), len(rule["content"])
    least = len(pattern) if kind == "String" else _compute_shortest_match(pattern)
    return length + content * (length + 1) if least == 0 else length * max(1.0, content / least)


def _compute_shortest_match(pattern: str) -> int:
    """Return the minimum number of characters that a pattern matches; 0 if this number is unknown."""
    try:
        parser: Any = re._parser  # type: ignore[attr-defined]
        return int(parser.parse(pattern).getwidth()[0])
    except (re.error, AttributeError, OverflowError, RecursionError):
        return 0


def _is_below_limit(rules: Sequence[_Rule], text: str) -> bool:
    """Return whether the length of a text stays within the limit after each rule of the normaliser."""
    longest = max(_MAX_CHARACTERS, _MAX_GROWTH * len(text))
    if _compute_bound(rules, len(text)) <= longest:
        return True
    for rule in rules:
        # A single replacement can already make the text too long, and it cannot be interrupted.
        if rule["type"] == "Replace" and len(text) * len(rule["content"]) > 100 * longest:
            return False
        text = Tokenizer.from_str(json.dumps({**_EMPTY, "normalizer": rule})).normalizer.normalize_str(text)
        if len(text) > longest:
            return False
    return True
