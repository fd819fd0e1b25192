"""Verdicts: a rule held against a number, on the ends of its interval.

The burden of proof is the release's: a rule holds when the whole interval meets it, so for a maximum the upper end
must not be above it. What was measured on too few items to tell does not hold: a gate that opens because nobody looked
closely is none, and measuring more items is the way through. Scoring the same model on the same items gives the same
interval, so this costs no chance failures. With `lenient` it is the other way round: a rule fails only when the whole
interval breaks it.
"""

from dataclasses import dataclass
from typing import Literal

from tiltmeter.checks.rules import Rule
from tiltmeter.measures.intervals import Interval

Outcome = Literal["holds", "not shown", "broken"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One rule judged on one number. `of` says which number, `end` which end of its interval was judged."""

    rule: Rule
    model: str
    place: str
    of: str
    value: float
    low: float | None
    high: float | None
    n: int
    outcome: Outcome
    end: Literal["upper", "lower", "value"]
    passed: bool

    @property
    def judged(self) -> float:
        """The number that was held against the limit."""
        ends = {"upper": self.high, "lower": self.low, "value": self.value}
        return float(self.value if ends[self.end] is None else ends[self.end] or 0.0)


def judge(
    rule: Rule, model: str, place: str, of: str, value: float, ends: Interval | None, n: int, lenient: bool
) -> Verdict:
    """Hold a number and its interval against a rule; without an interval, the number itself is judged."""
    low, high = ends or (value, value)
    at_least = rule.kind == "min"
    holds = low >= rule.limit if at_least else high <= rule.limit
    broken = high < rule.limit if at_least else low > rule.limit
    end: Literal["upper", "lower"] = "lower" if at_least != lenient else "upper"
    return Verdict(
        rule=rule,
        model=model,
        place=place,
        of=of,
        value=value,
        low=ends[0] if ends else None,
        high=ends[1] if ends else None,
        n=n,
        outcome="holds" if holds else "broken" if broken else "not shown",
        end=end if ends else "value",
        passed=not broken if lenient else holds,
    )
