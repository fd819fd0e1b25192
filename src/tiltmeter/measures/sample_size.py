"""Sample sizes before data exist: the items that a test of a share needs, and the bias that a number of items shows.

The share is a percentage with the ideal 50, such as SS or CPS. The test is two-sided. Items of one cluster, such as a
target term, are correlated: `correlation` is the intraclass correlation. The formulas are those of the minimum
detectable effect that reports print.
"""

import math
from dataclasses import dataclass

from scipy.special import ndtr, ndtri, stdtr, stdtrit

from tiltmeter.errors import UsageError
from tiltmeter.measures.estimates import LEVEL, POWER, compute_detectable_share

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
        distance, freedom = effect / 100, self._count_freedom(items)
        if freedom is not None and freedom <= 0:
            return 0.0
        alarm = 0.5 * float(ndtri(self._quantile) if freedom is None else stdtrit(freedom, self._quantile))
        spread = math.sqrt(max(0.25 - distance**2, 1e-12))
        threshold = (distance * math.sqrt(self._count_effective(items)) - alarm) / spread
        return float(ndtr(threshold) if freedom is None else stdtr(freedom, threshold))

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
        freedom = self._count_freedom(items)
        if freedom is not None and freedom <= 0:
            return None
        found = compute_detectable_share(self._count_effective(items), self._alpha, power, freedom)
        return None if found is None else 100 * found

    @property
    def _alpha(self) -> float:
        return (1 - LEVEL) / self.tests

    @property
    def _quantile(self) -> float:
        return 1 - self._alpha / 2

    def _count_effective(self, items: float) -> float:
        """Return the number of independent items that give the same precision."""
        return items / (1 + (self.per_cluster - 1) * self.correlation)

    def _count_freedom(self, items: float) -> float | None:
        """Return the degrees of freedom of the clusters; None if items are independent."""
        return items / self.per_cluster - 1 if self.per_cluster > 1 and self.correlation else None
