"""Worst-case bounds over missing answers: refusals, replies without a choice, translations without a gender.

Nobody knows how a missing answer would have turned out. A claim about all answers must therefore be true in two worst
cases: all missing answers increase the measure, or all decrease the measure (Manski 1990). Each of these two cases is
an estimate of its own, so that the bounds include sampling uncertainty.
"""

from dataclasses import dataclass

import numpy as np

from tiltmeter.measures.estimates import LEVEL, Estimate, Interval
from tiltmeter.measures.standard_errors import Floats, StandardError

# Shares below this number are rounding errors.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class PartialEstimate:
    """An estimate from the answers that were given, with the two worst cases of the missing answers.

    Value and interval are those of the given answers. Each p-value is the largest of three: of the given answers, and
    of the two worst cases. So a test is significant only if it is significant for all outcomes of the missing answers.
    `lowest` and `highest` are the estimates if all missing answers decrease or increase the measure. `missing` is the
    share of missing answers, from 0 to 1.
    """

    given: Estimate
    lowest: Estimate
    highest: Estimate
    missing: float

    @property
    def value(self) -> float:
        """The estimated value."""
        return self.given.value

    @property
    def standard_error(self) -> StandardError:
        """The standard error of the estimate."""
        return self.given.standard_error

    def compute_p_above(self, null: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at most `null`."""
        return max(self.given.compute_p_above(null), self.lowest.compute_p_above(null))

    def compute_p_below(self, null: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at least `null`."""
        return max(self.given.compute_p_below(null), self.highest.compute_p_below(null))

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the interval with this confidence level."""
        return self.given.interval(level)

    @property
    def possible_range(self) -> Interval:
        """The lowest and the highest possible value, over all outcomes of the missing answers."""
        return min(self.value, self.lowest.value), max(self.value, self.highest.value)


def get_given_estimate(estimate: Estimate) -> Estimate:
    """Return the estimate from the given answers, without the worst cases of missing answers."""
    return estimate.given if isinstance(estimate, PartialEstimate) else estimate


def fill_missing_shares(wanted: Floats, other: Floats, missing: Floats) -> tuple[Floats, Floats]:
    """Return for each item the lowest and the highest possible value of wanted / (wanted + other), in percent.

    `wanted`, `other` and `missing` are shares of the answers to an item. The result is NaN for items without any of
    these answers, for example if all answers choose an unrelated option.

    >>> lowest, highest = fill_missing_shares(np.array([0.5, 0.0]), np.array([0.25, 0.0]), np.array([0.25, 1.0]))
    >>> lowest.tolist(), highest.tolist()
    ([50.0, 0.0], [75.0, 100.0])
    """
    total = wanted + other + missing
    used = total > _ROUNDING

    def divide_missing_shares(count: Floats) -> Floats:
        return np.asarray(np.divide(100.0 * count, total, out=np.full(len(total), np.nan), where=used))

    return divide_missing_shares(wanted), divide_missing_shares(wanted + missing)


def round_missing_shares(missing: Floats) -> Floats:
    """Return `missing` (the share of missing answers of each item) with 0 for shares below the rounding error."""
    shares: Floats = np.where(missing > _ROUNDING, missing, 0.0)
    return shares
