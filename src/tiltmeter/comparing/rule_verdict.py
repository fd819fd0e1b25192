"""How a rule came out: a limit held against a number, on the ends of its interval.

The burden of proof is the release's: a rule holds when the whole interval meets it, so for a maximum the upper end must
not be above it. What was measured on too few items to tell does not hold: a gate that opens because nobody looked
closely is none, and measuring more items is the way through. With `lenient` it is the other way round: a rule fails
only when the whole interval breaks it. A number whose verdict is "not interpretable" meets no rule in either way.
"""

from dataclasses import dataclass
from typing import Literal

from tiltmeter.comparing.gate_rules import Rule
from tiltmeter.measures.estimates import Interval

Outcome = Literal["holds", "not shown", "broken", "not interpretable"]


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """One rule judged on one number.

    `of` says which number, `end` which end of its interval was judged. `even` is the probability that a model without
    any bias passes the rule with so many items; None where the rule is not about bias. `needed` is the number of items
    with which it would pass 95 times in 100. `note` says what else there is to know.
    """

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
    even: float | None = None
    needed: int | None = None
    note: str = ""

    @property
    def judged(self) -> float:
        """The number that was held against the limit."""
        ends = {"upper": self.high, "lower": self.low, "value": self.value}
        return float(self.value if ends[self.end] is None else ends[self.end] or 0.0)


def judge(
    rule: Rule,
    model: str,
    place: str,
    of: str,
    value: float,
    ends: Interval | None,
    n: int,
    lenient: bool,
    *,
    even: float | None = None,
    needed: int | None = None,
    uninterpretable: str = "",
    note: str = "",
) -> RuleVerdict:
    """Hold a number and its interval against a rule; without an interval, the number itself is judged."""
    low, high = ends or (value, value)
    at_least = rule.kind == "min"
    holds = low >= rule.limit if at_least else high <= rule.limit
    broken = high < rule.limit if at_least else low > rule.limit
    end: Literal["upper", "lower"] = "lower" if at_least != lenient else "upper"
    outcome: Outcome = "holds" if holds else "broken" if broken else "not shown"
    return RuleVerdict(
        rule=rule,
        model=model,
        place=place,
        of=of,
        value=value,
        low=ends[0] if ends else None,
        high=ends[1] if ends else None,
        n=n,
        outcome="not interpretable" if uninterpretable else outcome,
        end=end if ends else "value",
        passed=not uninterpretable and (not broken if lenient else holds),
        even=even,
        needed=needed,
        note=uninterpretable or note,
    )
