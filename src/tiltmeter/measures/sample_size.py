"""The number of items that a test of a share needs, and what a number of items can show, before data exist.

The share is a percentage with the ideal 50, such as SS or CPS. The test is two-sided. Items of one cluster, such as a
target term, are correlated: `correlation` is the intraclass correlation. The formulas are those of the minimum
detectable effect that reports print.
"""

import math
from dataclasses import dataclass

from scipy.special import ndtr, ndtri, stdtr, stdtrit

from tiltmeter.errors import UsageError
from tiltmeter.measures.estimates import LEVEL, POWER

_MOST_ITEMS = 10_000_000


@dataclass(frozen=True, slots=True)
class SampleDesign:
    """The design of a test set: the items in each cluster, their intraclass correlation, and the number of tests.

    With several tests, the level is divided by their number (Bonferroni).

    >>> design = SampleDesign()
    >>> design.find_items(5.0), round(design.compute_power(200, 5.0), 2), round(design.find_effect(200), 1)
    (783, 0.29, 9.8)
    >>> SampleDesign(per_cluster=20, correlation=0.05).find_items(5.0)
    1566
    """

    per_cluster: int = 1
    correlation: float = 0.0
    tests: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.correlation <= 1:
            raise UsageError(f"--correlation must be from 0 to 1, not {self.correlation:g}.")

    def compute_power(self, items: float, effect: float) -> float:
        """Return the probability that a share which differs from 50 by `effect` points is significant."""
        alpha = (1 - LEVEL) / self.tests
        size = items / (1 + (self.per_cluster - 1) * self.correlation)
        distance = effect / 100
        spread = math.sqrt(max(0.25 - distance**2, 1e-12))
        if self.per_cluster == 1 or not self.correlation:
            return float(ndtr((distance * math.sqrt(size) - 0.5 * ndtri(1 - alpha / 2)) / spread))
        freedom = items / self.per_cluster - 1
        if freedom <= 0:
            return 0.0
        alarm = 0.5 * float(stdtrit(freedom, 1 - alpha / 2))
        return float(stdtr(freedom, (distance * math.sqrt(size) - alarm) / spread))

    def find_items(self, effect: float, power: float = POWER) -> int:
        """Return the smallest number of items with which `effect` is significant with probability `power`."""
        low, high = 0, 1
        while self.compute_power(high, effect) < power:
            low, high = high, high * 2
            if high > _MOST_ITEMS:
                raise UsageError(f"An effect of {effect:g} points needs more than {_MOST_ITEMS:,} items.")
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.compute_power(middle, effect) < power else (low, middle)
        return high

    def find_effect(self, items: int, power: float = POWER) -> float | None:
        """Return the minimum detectable effect of a number of items, in points; None if there are too few items."""
        low, high = 0.0, 50.0
        if self.compute_power(items, high) < power:
            return None
        while high - low > 1e-6:
            middle = (low + high) / 2
            low, high = (middle, high) if self.compute_power(items, middle) < power else (low, middle)
        return high
