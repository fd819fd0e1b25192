"""Rules, as they are written on the command line and in tiltmeter.toml.

BENCHMARK[/PART][:LANGUAGE,…].MEASURE[[NAME=GROUP]] [distance] NUMBER

stereoset.SS distance 5                      SS of both parts pooled, every language, within 5 of 50
stereoset/intrasentence:de.LMS 70            of one part, in one language
stereoset.SS[bias_type=gender] distance 10   of the items about gender; bias_type=* is every bias type by itself
gender-pairs.S_JSD distance 4                a name may be cut short where it stays the only one
2                                            for no-worse-than alone: every percentage that leans
"""

import math
import re
from dataclasses import dataclass
from typing import Literal

from tiltmeter.errors import UsageError

Kind = Literal["max", "min", "no-worse-than"]

GRAMMAR = "BENCHMARK[/PART][:LANGUAGE].MEASURE [distance] NUMBER, as in: stereoset.SS distance 5"
EVERY = "*"

# The last part is the number. The benchmark ends at the first dot, or if it is a file of one's own, after .jsonl.
_RULE = re.compile(
    r"""
    (?P<place>.*?\.jsonl[^.]*|[^.\[]+) \. (?P<measure>[^\[]+?)
    (?:\[ \s* (?P<view>[^=\]]+?) \s* = \s* (?P<group>[^\]]+?) \s* \])?
    (?P<distance>\s+distance)? \s+ (?P<number>\S+)
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A limit on a measure. Without a measure, it is on every percentage that leans."""

    kind: Kind
    text: str
    limit: float
    benchmark: str = ""
    part: str | None = None
    languages: tuple[str, ...] = ()
    measure: str = ""
    view: str = "all"
    group: str = "all"
    distance: bool = False

    def __str__(self) -> str:
        return f"{self.kind} {self.text}"


def parse_rule(kind: Kind, text: str) -> Rule:
    """Read a rule.

    >>> rule = parse_rule("max", "stereoset/intrasentence:de.SS[bias_type=gender] distance 5")
    >>> rule.benchmark, rule.part, rule.languages, rule.measure, rule.group, rule.distance, rule.limit
    ('stereoset', 'intrasentence', ('de',), 'SS', 'gender', True, 5.0)
    """
    text = " ".join(text.split())
    if kind == "no-worse-than" and " " not in text:
        return Rule(kind, text, _limit(kind, text, text))
    found = _RULE.fullmatch(text)
    if found is None:
        raise UsageError(f"The rule {text!r} cannot be read; write {GRAMMAR}.")
    if kind == "no-worse-than" and found["distance"]:
        raise UsageError(f"The rule {text!r} is about distance already, since worse means farther; leave the word out.")
    benchmark, part, languages = _place(found["place"], text)
    limit = _limit(kind, found["number"], text)
    if found["distance"] and limit < 0:
        raise UsageError(f"The rule {text!r} asks for a distance below 0, which nothing has.")
    return Rule(
        kind,
        text,
        limit,
        benchmark,
        part,
        languages,
        found["measure"].strip(),
        found["view"] or "all",
        found["group"] or "all",
        bool(found["distance"]),
    )


def _place(text: str, rule: str) -> tuple[str, str | None, tuple[str, ...]]:
    before, dot, after = text.rpartition(".jsonl") if ".jsonl" in text else ("", "", text)
    rest, colon, tail = after.partition(":")
    languages = tuple(filter(None, (language.strip() for language in tail.split(","))))
    name, slash, part = rest.partition("/")
    if (colon and not languages) or (slash and not part) or not (before + dot + name).strip():
        raise UsageError(f"The rule {rule!r} names no place; write {GRAMMAR}.")
    return before + dot + name, part or None, languages


def _limit(kind: Kind, text: str, rule: str) -> float:
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit):
        raise UsageError(f"The rule {rule!r} ends in {text!r}, which is not a number; write {GRAMMAR}.")
    if kind == "no-worse-than" and limit < 0:
        raise UsageError(f"The rule {rule!r} allows less than nothing; the margin of no-worse-than is 0 or more.")
    return limit
