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

from tiltmeter.comparing.cell_selection import GROUP, LOCATION, Selection, parse_location
from tiltmeter.errors import UsageError

RuleKind = Literal["max", "min", "no-worse-than"]

GRAMMAR = "BENCHMARK[/PART][:LANGUAGE].MEASURE [distance] NUMBER, as in: stereoset.SS distance 5"

_RULE = re.compile(
    rf"{LOCATION} \. (?P<measure>[^\[]+?) {GROUP} (?P<distance>\s+distance)? \s+ (?P<number>\S+)", re.VERBOSE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Selection):
    """A limit on a measure; a rule without a measure limits each percentage of preferences, such as SS and CPS."""

    kind: RuleKind
    limit: float
    distance: bool = False

    def __str__(self) -> str:
        return f"{self.kind} {self.text}"

    @property
    def subject(self) -> str:
        """The beginning of messages about the rule."""
        return f"The rule {self.text!r}"


def parse_rule(kind: RuleKind, text: str) -> Rule:
    """Return the rule that a text states; raise a UsageError if the text does not follow the syntax.

    >>> rule = parse_rule("max", "stereoset/intrasentence:de.SS[bias_type=gender] distance 5")
    >>> rule.benchmark, rule.part, rule.languages, rule.measure, rule.group, rule.distance, rule.limit
    ('stereoset', 'intrasentence', ('de',), 'SS', 'gender', True, 5.0)
    """
    text = " ".join(text.split())
    if kind == "no-worse-than" and " " not in text:
        return Rule(kind=kind, text=text, limit=_parse_limit(kind, text, text))
    match = _RULE.fullmatch(text)
    if match is None:
        raise UsageError(f"The rule {text!r} cannot be read; write {GRAMMAR}.")
    if kind == "no-worse-than" and match["distance"]:
        raise UsageError(f"The rule {text!r} contains the word distance, which no-worse-than does not need; delete it.")
    benchmark, part, languages = parse_location(match["location"], f"The rule {text!r}", GRAMMAR)
    limit = _parse_limit(kind, match["number"], text)
    if match["distance"] and limit < 0:
        raise UsageError(f"The rule {text!r} has a negative distance; distances are at least 0.")
    return Rule(
        kind=kind,
        text=text,
        limit=limit,
        benchmark=benchmark,
        part=part,
        languages=languages,
        measure=match["measure"].strip(),
        view=match["view"] or "all",
        group=match["group"] or "all",
        distance=bool(match["distance"]),
    )


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
