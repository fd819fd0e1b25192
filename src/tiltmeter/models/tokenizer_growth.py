"""A bound on what the normaliser of a fast tokenizer makes of a text.

A few replacements in tokenizer.json, each of which doubles a text, make a terabyte of a sentence, inside a library that
cannot be interrupted. The rules are therefore applied one at a time to texts that they might enlarge that much.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from tokenizers import Tokenizer, models

from tiltmeter.errors import ModelError

# Characters of a normalised text, or this many times those of the text.
_LONGEST = 200_000
_TIMES = 20
# Longest result of Unicode's normal forms for one character, and of the tables of SentencePiece.
_FORMS = 18
_EMPTY = json.loads(Tokenizer(models.BPE()).to_str())

_Rule = dict[str, Any]
_RULES: WeakKeyDictionary[Any, list[_Rule]] = WeakKeyDictionary()


def reject_text_growth(tokenizer: Any, texts: Sequence[str]) -> None:
    """A ModelError if the tokenizer makes a text far longer before it splits it, or the decoder a token."""
    if not getattr(tokenizer, "is_fast", False):
        return
    if tokenizer not in _RULES:
        _RULES[tokenizer] = _read_rules(tokenizer)
    rules = _RULES[tokenizer]
    if _compute_bound(rules, max(map(len, texts), default=0)) <= _LONGEST:
        return
    for text in texts:
        if not _stays_short(rules, text):
            raise ModelError(
                f"The normalizer of the tokenizer of {tokenizer.name_or_path or 'the model'} makes more than "
                f"{_LONGEST:,} characters of one text; check the rules of 'normalizer' in tokenizer.json."
            )


def _read_rules(tokenizer: Any) -> list[_Rule]:
    """The rules of the normaliser in their order; a ModelError if the decoder can multiply texts."""
    parts = json.loads(tokenizer.backend_tokenizer.to_str())
    if _compute_bound([*_flatten_rules(parts.get("decoder"), "decoders")], 1) > _LONGEST:
        raise ModelError(
            f"The decoder of the tokenizer of {tokenizer.name_or_path or 'the model'} multiplies texts; check the "
            "rules of 'decoder' in tokenizer.json."
        )
    return [*_flatten_rules(parts.get("normalizer"), "normalizers")]


def _flatten_rules(rule: _Rule | None, inner: str) -> Iterator[_Rule]:
    if rule is not None and rule["type"] == "Sequence":
        for part in rule[inner]:
            yield from _flatten_rules(part, inner)
    elif rule is not None:
        yield rule


def _compute_bound(rules: Sequence[_Rule], length: float) -> float:
    """The most characters that the rules can make of a text of this length."""
    for rule in rules:
        length = _compute_longest(rule, length)
    return length


def _compute_longest(rule: _Rule, length: float) -> float:
    if rule["type"] == "Prepend":
        return length + len(rule["prepend"])
    if rule["type"] != "Replace":
        return length * (_FORMS if rule["type"].startswith(("NF", "Precompiled", "Bert")) else 4)
    (kind, pattern), content = next(iter(rule["pattern"].items())), len(rule["content"])
    least = len(pattern) if kind == "String" else _compute_shortest_match(pattern)
    return length + content * (length + 1) if least == 0 else length * max(1.0, content / least)


def _compute_shortest_match(pattern: str) -> int:
    """The fewest characters that a pattern matches; 0 if that cannot be told."""
    try:
        parser: Any = re._parser  # type: ignore[attr-defined]
        return int(parser.parse(pattern).getwidth()[0])
    except (re.error, AttributeError, OverflowError, RecursionError):
        return 0


def _stays_short(rules: Sequence[_Rule], text: str) -> bool:
    """Whether the rules, applied one after the other, make no more of a text than is allowed."""
    longest = max(_LONGEST, _TIMES * len(text))
    if _compute_bound(rules, len(text)) <= longest:
        return True
    for rule in rules:
        # A single replacement cannot be interrupted either.
        if rule["type"] == "Replace" and len(text) * len(rule["content"]) > 100 * longest:
            return False
        text = Tokenizer.from_str(json.dumps({**_EMPTY, "normalizer": rule})).normalizer.normalize_str(text)
        if len(text) > longest:
            return False
    return True
