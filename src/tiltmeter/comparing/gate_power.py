"""The power of a rule: the probability that an unbiased model passes, and the number of items for a power of 0.95."""

import math
from dataclasses import dataclass

from scipy.special import ndtr, stdtrit

from tiltmeter.comparing.gate_rules import Rule
from tiltmeter.measures.estimates import LEVEL

# An unbiased model should pass a rule with this probability.
WANTED_POWER = 0.95


@dataclass(frozen=True, slots=True)
class RuleTolerance:
    """The maximum distances from the ideal at which a rule passes, below and above the ideal; None means no limit.

    `error` is the standard error of the value, `freedom` are the degrees of freedom of this error.
    """

    below: float | None
    above: float | None
    error: float
    freedom: float

    def passes(self, lenient: bool) -> float:
        """Return the probability that an unbiased model passes the rule.

        >>> round(RuleTolerance(5.0, 5.0, 1.0, 1000).passes(False), 2), RuleTolerance(5.0, 5.0, 3.0, 1000).passes(False)
        (1.0, 0.0)
        """
        if not self.error:
            return 1.0 if min(side for side in (self.below, self.above, 0.0) if side is not None) >= 0 else 0.0
        reach = float(stdtrit(self.freedom, (1 + LEVEL) / 2)) * self.error * (-1 if lenient else 1)
        low = -math.inf if self.below is None else -(self.below - reach) / self.error
        high = math.inf if self.above is None else (self.above - reach) / self.error
        return max(0.0, float(ndtr(high) - ndtr(low)))

    def compute_needed_items(self, n: int, lenient: bool) -> int | None:
        """Return the minimum number of items with which an unbiased model passes with probability 0.95.

        `n` is the number of items for which `error` was computed. Return None if no number of items is enough.

        >>> RuleTolerance(5.0, 5.0, 1.8, 400).compute_needed_items(1000, False)
        1995
        """
        # If the ideal itself violates the rule, an unbiased model fails with any number of items.
        if min(side for side in (self.below, self.above, math.inf) if side is not None) < 0:
            return None

        def with_items(count: int) -> "RuleTolerance":
            return RuleTolerance(self.below, self.above, self.error * math.sqrt(n / count), self.freedom * count / n)

        low, high = 1, 1
        while with_items(high).passes(lenient) < WANTED_POWER:
            low, high = high, high * 2
            if high > 10_000_000:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if with_items(middle).passes(lenient) < WANTED_POWER else (low, middle)
        return high


def compute_unbiased_error(value: float, error: float, ideal: float, bounds: tuple[float, float] | None) -> float:
    """Return the standard error that an unbiased model would have on the same items.

    The standard error of a percentage depends on the percentage itself, so `error` is converted from `value` to
    `ideal`.

    >>> round(compute_unbiased_error(90.0, 3.0, 50.0, (0.0, 100.0)), 2), compute_unbiased_error(0.3, 0.1, 0.0, None)
    (5.0, 0.1)
    """
    if bounds is None or not bounds[0] < ideal < bounds[1] or not bounds[0] < value < bounds[1]:
        return error
    variance, even = ((at - bounds[0]) * (bounds[1] - at) for at in (value, ideal))
    return error * math.sqrt(even / variance)


def compute_tolerance(rule: Rule, ideal: float, error: float, freedom: float, *, ratio: bool = False) -> RuleTolerance:
    """Return the tolerance of a rule around the ideal; for a ratio, on the log scale."""

    def get_position(value: float) -> float:
        if not ratio:
            return value
        return math.log(value) if value > 0 else -math.inf

    if rule.distance:
        above = get_position(ideal + rule.limit) - get_position(ideal)
        below = get_position(ideal) - get_position(ideal - rule.limit)
        return RuleTolerance(below, above, error, freedom)
    gap = get_position(rule.limit) - get_position(ideal)
    return RuleTolerance(None, gap, error, freedom) if rule.kind == "max" else RuleTolerance(-gap, None, error, freedom)
