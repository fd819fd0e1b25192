"""The syntax of rules on the command line and in tiltmeter.toml.

BENCHMARK[/PART][:LANGUAGE,…].MEASURE[[NAME=GROUP]] [distance] NUMBER

stereoset.SS distance 5                      SS of the pooled parts, in every language, at most 5 from 50
stereoset/intrasentence:de.LMS 70            LMS of one part, in one language
stereoset.SS[bias_type=gender] distance 10   items about gender; bias_type=* means each bias type separately
gender-pairs.S_JSD distance 4                measures may be abbreviated if they remain unambiguous
2                                            all percentages of preferences, such as SS; only in no-worse-than rules
"""

import math
import re
from dataclasses import dataclass
from typing import Literal

from tiltmeter.errors import UsageError

RuleKind = Literal["max", "min", "no-worse-than"]

GRAMMAR = "BENCHMARK[/PART][:LANGUAGE].MEASURE [distance] NUMBER, as in: stereoset.SS distance 5"
EVERY = "*"

# The name of the benchmark ends at the first dot. If the benchmark is a file, its name ends after .jsonl. The number is
# at the end of the rule.
_RULE = re.compile(
    r"""
    (?P<location>.*?\.jsonl[^.]*|[^.\[]+) \. (?P<measure>[^\[]+?)
    (?:\[ \s* (?P<view>[^=\]]+?) \s* = \s* (?P<group>[^\]]+?) \s* \])?
    (?P<distance>\s+distance)? \s+ (?P<number>\S+)
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A limit on a measure; a rule without a measure limits each percentage of preferences, such as SS and CPS."""

    kind: RuleKind
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


def parse_rule(kind: RuleKind, text: str) -> Rule:
    """Return the rule that a text states; raise a UsageError if the text does not follow the syntax.

    >>> rule = parse_rule("max", "stereoset/intrasentence:de.SS[bias_type=gender] distance 5")
    >>> rule.benchmark, rule.part, rule.languages, rule.measure, rule.group, rule.distance, rule.limit
    ('stereoset', 'intrasentence', ('de',), 'SS', 'gender', True, 5.0)
    """
    text = " ".join(text.split())
    if kind == "no-worse-than" and " " not in text:
        return Rule(kind, text, _parse_limit(kind, text, text))
    match = _RULE.fullmatch(text)
    if match is None:
        raise UsageError(f"The rule {text!r} cannot be read; write {GRAMMAR}.")
    if kind == "no-worse-than" and match["distance"]:
        raise UsageError(f"The rule {text!r} contains the word distance, which no-worse-than does not need; delete it.")
    benchmark, part, languages = _parse_location(match["location"], text)
    limit = _parse_limit(kind, match["number"], text)
    if match["distance"] and limit < 0:
        raise UsageError(f"The rule {text!r} has a negative distance; distances are at least 0.")
    return Rule(
        kind,
        text,
        limit,
        benchmark,
        part,
        languages,
        match["measure"].strip(),
        match["view"] or "all",
        match["group"] or "all",
        bool(match["distance"]),
    )


def _parse_location(text: str, rule: str) -> tuple[str, str | None, tuple[str, ...]]:
    before, dot, after = text.rpartition(".jsonl") if ".jsonl" in text else ("", "", text)
    rest, colon, tail = after.partition(":")
    languages = tuple(filter(None, (language.strip() for language in tail.split(","))))
    name, slash, part = rest.partition("/")
    if (colon and not languages) or (slash and not part) or not (before + dot + name).strip():
        raise UsageError(f"The rule {rule!r} has an empty benchmark, part or language; write {GRAMMAR}.")
    return before + dot + name, part or None, languages


def _parse_limit(kind: RuleKind, text: str, rule: str) -> float:
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit):
        raise UsageError(f"The rule {rule!r} ends in {text!r}, which is not a number; write {GRAMMAR}.")
    if kind == "no-worse-than" and limit < 0:
        raise UsageError(f"The rule {rule!r} has a negative margin; the margin of no-worse-than is 0 or more.")
    return limit
