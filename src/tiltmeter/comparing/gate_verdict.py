"""The outcome of a rule: the limit is compared with one end of a confidence interval.

A rule passes if the whole interval satisfies it: for a maximum, the upper end must not exceed the limit. With few items
the interval is wide and the rule fails, as in a non-inferiority trial. If `lenient` is true, a rule fails only if the
whole interval violates it. The rule always fails if the value is not interpretable or hides a contradiction.
"""

from dataclasses import dataclass
from typing import Literal

from tiltmeter.comparing.gate_rules import Rule
from tiltmeter.measures.estimates import Interval
from tiltmeter.measures.verdict import Verdict
from tiltmeter.printable_text import escape_unsafe

RuleOutcome = Literal["holds", "not shown", "broken", "not interpretable", "contradictory"]


@dataclass(frozen=True, slots=True, repr=False)
class RuleVerdict:
    """The outcome of one rule for one value.

    `quantity` is the name of the value, and `location` is its benchmark, part and language. `end` tells which number
    was compared with the limit: the upper or the lower end of the interval, or the value itself. `even` is the
    probability that an unbiased model passes the rule with n items; it is None if the rule is not about bias. `needed`
    is the number of items with which an unbiased model passes with probability 0.95.
    """

    rule: Rule
    model: str
    location: str
    quantity: str
    value: float
    low: float | None
    high: float | None
    n: int
    outcome: RuleOutcome
    end: Literal["upper", "lower", "value"]
    passed: bool
    even: float | None = None
    needed: int | None = None
    note: str = ""

    def __repr__(self) -> str:
        """Return the rule and its outcome in one line."""
        ended = "passed" if self.passed else "failed"
        return escape_unsafe(f"<RuleVerdict: {self.rule}, {self.model} on {self.location}: {self.outcome}, {ended}>")

    @property
    def judged(self) -> float:
        """The number that was compared with the limit: an end of the interval, or the value itself."""
        ends = {"upper": self.high, "lower": self.low, "value": self.value}
        return float(self.value if ends[self.end] is None else ends[self.end] or 0.0)


def judge_value(
    rule: Rule,
    model: str,
    location: str,
    quantity: str,
    value: float,
    ends: Interval | None,
    n: int,
    lenient: bool,
    *,
    even: float | None = None,
    needed: int | None = None,
    unreliable: Verdict | None = None,
    note: str = "",
) -> RuleVerdict:
    """Return the verdict of a rule on a value; without an interval (`ends`), the value is compared with the limit.

    `unreliable` is the verdict on a value that is not reliable. Such a value passes no rule, and the outcome is the
    kind of this verdict.
    """
    low, high = ends or (value, value)
    at_least = rule.kind == "min"
    holds = low >= rule.limit if at_least else high <= rule.limit
    broken = high < rule.limit if at_least else low > rule.limit
    end: Literal["upper", "lower"] = "lower" if at_least != lenient else "upper"
    outcome: RuleOutcome = "holds" if holds else "broken" if broken else "not shown"
    if unreliable:
        outcome = "contradictory" if unreliable.kind == "contradictory" else "not interpretable"
    return RuleVerdict(
        rule=rule,
        model=model,
        location=location,
        quantity=quantity,
        value=value,
        low=ends[0] if ends else None,
        high=ends[1] if ends else None,
        n=n,
        outcome=outcome,
        end=end if ends else "value",
        passed=unreliable is None and (not broken if lenient else holds),
        even=even,
        needed=needed,
        note=unreliable.words if unreliable else note,
    )
