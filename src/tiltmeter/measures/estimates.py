"""Estimates with their confidence intervals and tests.

Every estimate has two one-sided p-values for a null value. Intervals, two-sided tests against an ideal and equivalence
tests within a margin (TOST) are all derived from these two p-values, so they cannot contradict each other. If this list
names two methods for an estimate, the result of the more conservative method is used.

    Share           a percentage: mid-P binomial test with the effective sample size, which is below n with clusters
    Mean            a mean: Student's t; Student's t with Hall's correction for skewness
    Ratio           a geometric mean: Student's t of its logarithm
    WeightedShares  a weighted sum of shares: normal approximation; combined Wilson intervals
    PairedMean      a difference of two percentages on the same items: paired t-test; McNemar's mid-P test
    Minimum         the minimum of smooth functions of means, such as ICAT: the intervals of the functions are combined
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Protocol

import numpy as np
from scipy.special import betainc, betaincinv, ndtr, ndtri, stdtr, stdtrit

from tiltmeter.measures.factors import Factors
from tiltmeter.measures.standard_errors import Floats, StandardError, compute_standard_error

Interval = tuple[float, float]

LEVEL = 0.95
POWER = 0.8
PERCENT = (0.0, 100.0)

_Z = float(ndtri((1 + LEVEL) / 2))
# If two pieces of a `Minimum` are so close that either may be the minimum, the interval of each uses this fraction of
# the error rate. The Bonferroni fraction (0.5) is conservative; with 0.7, 94 to 98% of simulated intervals contain the
# true value.
_SHARED = 0.7
# The interval of the ceiling of a `Minimum` (an upper bound of the minimum) uses this fraction of the error rate.
_CEILING = 0.2
# For z-scores below this number, the tail probability of the normal distribution underflows to 0.
_LOWEST_Z = -37.0


class Estimate(Protocol):
    """An estimate of a true value, such as a mean, with an interval and tests."""

    @property
    def value(self) -> float:
        """The estimated value."""
        ...

    @property
    def standard_error(self) -> StandardError:
        """The standard error of the estimate."""
        ...

    def compute_p_above(self, null: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at most `null`."""
        ...

    def compute_p_below(self, null: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at least `null`."""
        ...

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the confidence interval: the values that neither one-sided test rejects."""
        ...


def compute_two_sided_p(estimate: Estimate, null: float) -> float:
    """Return the two-sided p-value of the hypothesis that the true value is `null`."""
    return min(1.0, 2 * min(estimate.compute_p_above(null), estimate.compute_p_below(null)))


def compute_equivalence_p(estimate: Estimate, low: float, high: float) -> float:
    """Return the p-value of equivalence (TOST): small if the true value is between `low` and `high`."""
    return max(estimate.compute_p_above(low), estimate.compute_p_below(high))


@dataclass(frozen=True, slots=True)
class Share:
    """The mean of item values from 0 to `maximum`; for example, items have the value 0, 50 or 100.

    >>> share = Share.from_values(np.array([100.0] * 12 + [0.0] * 8))
    >>> share.value, [round(end, 1) for end in share.interval()]
    (60.0, [37.9, 79.4])
    """

    value: float
    standard_error: StandardError
    n: int
    maximum: float = 100.0

    @classmethod
    def from_values(cls, values: Floats, factors: Factors | None = None, maximum: float = 100.0) -> "Share":
        """Estimate the mean of `values`."""
        mean = float(values.mean())
        return cls(mean, compute_standard_error((values - mean) / len(values), factors), len(values), maximum)

    @property
    def size(self) -> float:
        """The effective sample size (Korn and Graubard 1998); it equals n for independent items without ties."""
        share = self.value / self.maximum
        variance = (self.standard_error.value / self.maximum) ** 2
        # If all items have the same value, the design effect cannot be estimated.
        if variance < 1e-18 or not 0 < share < 1:
            return float(self.n)
        size = share * (1 - share) / variance
        # Without clusters and ties, the standard error is that of the binomial distribution, so the size is exactly n.
        return float(self.n) if self.standard_error.clusters is None and abs(size / (self.n - 1) - 1) < 1e-9 else size

    @property
    def _known_size(self) -> bool:
        """Whether the effective sample size is exact; it is only an estimate if there are clusters or ties."""
        return self.standard_error.clusters is None and self.size == self.n

    def compute_p_above(self, null: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at most `null`."""
        return self._compute_tail(self.value / self.maximum, null / self.maximum)

    def compute_p_below(self, null: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at least `null`."""
        return self._compute_tail(1 - self.value / self.maximum, 1 - null / self.maximum)

    def _compute_tail(self, share: float, null: float) -> float:
        """Return the one-sided p-value of a share for the null value.

        If the effective sample size is an estimate, the z-score of the mid-P value is converted to a p-value by
        Student's t. Without this conversion, very small p-values would be too small for a correction for many tests.
        """
        tail = compute_mid_p(share * self.size, self.size, null)
        if self._known_size:
            return tail
        mirrored = tail > 0.5  # a p-value near 1 would lose precision, so 1 - p is computed
        if mirrored:
            tail = compute_mid_p((1 - share) * self.size, self.size, 1 - null)
        p_value = float(stdtr(self.standard_error.df, max(_LOWEST_Z, float(ndtri(tail)))))
        return 1 - p_value if mirrored else p_value

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the interval with this confidence level."""
        tail, share, size = (1 - level) / 2, self.value / self.maximum, self.size
        if not self._known_size:
            tail = float(ndtr(max(_LOWEST_Z, float(stdtrit(self.standard_error.df, tail)))))

        def find_lower_end(share: float) -> float:
            if share <= 0:
                return 0.0
            return _find_mid_p_end(share * size, size, tail)

        return self.maximum * find_lower_end(share), self.maximum * (1 - find_lower_end(1 - share))


def compute_mid_p(count: float, size: float, share: float) -> float:
    """Return the mid-P value of a binomial count: P(X > count) + P(X = count) / 2. `count` and `size` may be fractions.

    >>> round(compute_mid_p(9, 10, 0.5), 6), round(compute_mid_p(5, 10, 0.5), 6)
    (0.005859, 0.5)
    """
    share = min(max(share, 0.0), 1.0)
    at_least = 1.0 if count <= 0 else float(betainc(count, size - count + 1, share))
    more = 0.0 if count >= size else float(betainc(count + 1, size - count, share))
    return (at_least + more) / 2


@lru_cache(maxsize=4096)
def _find_mid_p_end(count: float, size: float, tail: float) -> float:
    """Return the share whose mid-P value is `tail`: the lower end of the interval of a binomial count.

    The mid-P value is the mean of P(X >= count) and P(X > count), so the share is between those that give `tail` to
    one of these two. The result is kept because an interval is needed for its verdict, its table row and its figure.
    """
    low = float(betaincinv(count, size - count + 1, tail))
    high = float(betaincinv(count + 1, size - count, tail)) if count < size else 1.0

    def compute_excess(null: float) -> float:
        return compute_mid_p(count, size, null) - tail

    # At the ends of this short bracket, the rounding of `betaincinv` can hide the change of sign.
    if compute_excess(low) >= 0 or compute_excess(high) <= 0:
        low, high = 0.0, 1.0
    return _find_root(compute_excess, low, high)


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of numbers, or any smooth function of means.

    `skewness` is the skewness of the items divided by the square root of n. Hall's transformation of t (1992) corrects
    the test for skewness. The more conservative of the corrected and the uncorrected test is used, because the estimate
    of the skewness is uncertain if the distribution has heavy tails.

    >>> mean = Mean.from_values(np.array([0.2, -0.1, 0.4, 0.1, 0.0, 0.3, 0.5, 0.2]))
    >>> round(mean.value, 2), [round(end, 2) for end in mean.interval()], round(compute_two_sided_p(mean, 0.0), 3)
    (0.2, [0.03, 0.37], 0.025)
    """

    value: float
    standard_error: StandardError
    skewness: float = 0.0

    @classmethod
    def from_values(cls, values: Floats, factors: Factors | None = None) -> "Mean":
        """Estimate the mean of `values`."""
        mean = float(values.mean())
        centred = values - mean
        scale = float(np.sqrt(np.mean(centred**2)))
        error = compute_standard_error(centred / len(values), factors)
        is_skewed = scale > 0 and error.clusters is None
        skewness = float(np.mean(centred**3)) / scale**3 / math.sqrt(len(values)) if is_skewed else 0.0
        return cls(mean, error, skewness)

    def compute_p_above(self, null: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at most `null`."""
        return max(self._compute_tails(null, 1))

    def compute_p_below(self, null: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at least `null`."""
        return max(self._compute_tails(null, -1))

    def _compute_tails(self, null: float, side: int) -> tuple[float, ...]:
        if not self.standard_error.value:
            return (0.5 if self.value == null else float(side * self.value <= side * null),)
        t = (self.value - null) / self.standard_error.value
        plain = float(stdtr(self.standard_error.df, -side * t))
        if abs(self.skewness) < 1e-9:
            return (plain,)
        a = self.skewness
        corrected = t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6
        return plain, float(stdtr(self.standard_error.df, -side * corrected))

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the interval with this confidence level."""
        reach = float(stdtrit(self.standard_error.df, (1 + level) / 2))
        ends = [self.value - reach * self.standard_error.value, self.value + reach * self.standard_error.value]
        if abs(self.skewness) >= 1e-9:
            a = self.skewness
            for quantile in (reach, -reach):
                t = 3 / a * (math.cbrt(1 + a * (quantile - a / 6)) - 1)
                ends.append(self.value - t * self.standard_error.value)
        return min(ends), max(ends)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A geometric mean of ratios, estimated by the mean of their logarithms.

    >>> ratio = Ratio(Mean(math.log(2.0), StandardError(0.1, 30)))
    >>> round(ratio.value, 2), [round(end, 2) for end in ratio.interval()]
    (2.0, [1.63, 2.45])
    """

    log: Mean

    @property
    def value(self) -> float:
        """The estimated value."""
        return math.exp(self.log.value)

    @property
    def standard_error(self) -> StandardError:
        """The standard error of the logarithm of the ratio."""
        return self.log.standard_error

    def compute_p_above(self, null: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at most `null`."""
        return self.log.compute_p_above(math.log(null))

    def compute_p_below(self, null: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at least `null`."""
        return self.log.compute_p_below(math.log(null))

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the interval with this confidence level."""
        low, high = self.log.interval(level)
        return math.exp(low), math.exp(high)


@dataclass(frozen=True, slots=True)
class WeightedShares:
    """A weighted sum of shares of independent groups, plus a constant (Newcombe 1998; Zou and Donner 2008).

    Each share is `counts / sizes` and has a Wilson interval. The distances between the shares and the ends of these
    intervals are combined like standard errors: the square root of the sum of squares. Wilson intervals use n - 1
    instead of n as a small-sample correction. The combined interval is at least as wide as the normal approximation,
    because combined Wilson intervals are too narrow in the far tails.

    If items share factors, `counts` and `sizes` are effective numbers of items, and `clustered` is the standard error
    that they were computed from (see `share_factors`).

    >>> rates = WeightedShares(np.array([1.0, -1.0]), np.array([56.0, 48.0]), np.array([70.0, 80.0]))
    >>> round(rates.value, 2), [round(end, 2) for end in rates.interval()]
    (0.2, [0.05, 0.34])
    """

    weights: Floats
    counts: Floats
    sizes: Floats
    constant: float = 0.0
    clustered: StandardError | None = None

    def share_factors(self, error: StandardError) -> "WeightedShares":
        """Return the estimate for items that share factors; `error` is the standard error of the weighted sum.

        The numbers of items are divided by the design effect. The design effect is itself an estimate, so they are also
        multiplied by the squared ratio of the normal quantile and Student's t quantile.

        >>> shares = WeightedShares(np.array([1.0]), np.array([50.0]), np.array([100.0]))
        >>> shares.share_factors(StandardError(0.1, 1e9, 10, 4.0, "target")).sizes.round(3).tolist()
        [25.0]
        """
        if error.clusters is None:
            return self
        quantile = (1 + LEVEL) / 2
        ratio = float(ndtri(quantile) / stdtrit(error.df, quantile)) ** 2 / error.design_effect
        return replace(self, counts=self.counts * ratio, sizes=self.sizes * ratio, clustered=error)

    @property
    def value(self) -> float:
        """The estimated value."""
        return float(self.weights @ (self.counts / self.sizes)) + self.constant

    @property
    def standard_error(self) -> StandardError:
        """The standard error of the weighted sum, if the shares are independent."""
        shares = self.counts / self.sizes
        error = float(np.sqrt(np.sum(self.weights**2 * shares * (1 - shares) / np.maximum(1.0, self.sizes - 1))))
        if self.clustered is not None:
            return replace(self.clustered, value=error)
        return StandardError(error, float(self.sizes.sum() - len(self.sizes)))

    def compute_p_above(self, null: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at most `null`."""
        return self._compute_tail(null, 0)

    def compute_p_below(self, null: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at least `null`."""
        return self._compute_tail(null, 1)

    def _compute_tail(self, null: float, end: int) -> float:
        """Return the tail probability of the interval whose lower end (`end` 0) or upper end (1) is the null value."""
        side = 1 if end == 0 else -1
        if side * (self.value - null) <= 0:
            return 1 - self._compute_upper_tail(null, 1 - end)
        return self._compute_upper_tail(null, end)

    def _compute_upper_tail(self, null: float, end: int) -> float:
        def compute_gap(z: float) -> float:
            return self._compute_ends(z)[end] - null

        first = compute_gap(0.0)
        if first == 0:
            return 0.5
        if math.copysign(1, compute_gap(40.0)) == math.copysign(1, first):
            return 0.0
        return float(ndtr(-_find_root(compute_gap, 0.0, 40.0)))

    def _compute_ends(self, z: float) -> Interval:
        sizes = np.maximum(1.0, self.sizes - 1)
        shares = self.counts / self.sizes
        centre = (shares + z**2 / (2 * sizes)) / (1 + z**2 / sizes)
        reach = z / (1 + z**2 / sizes) * np.sqrt(shares * (1 - shares) / sizes + z**2 / (4 * sizes**2))
        down, up = self.weights * (shares - centre + reach), self.weights * (centre + reach - shares)
        below, above = np.where(self.weights > 0, down, up), np.where(self.weights > 0, up, down)
        least = z * self.standard_error.value
        return (
            self.value - max(least, float(np.sqrt(np.sum(below**2)))),
            self.value + max(least, float(np.sqrt(np.sum(above**2)))),
        )

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the interval with this confidence level."""
        return self._compute_ends(float(ndtri((1 + level) / 2)))


@dataclass(frozen=True, slots=True)
class PairedMean:
    """The mean difference of two preferences (numbers from 0 to `maximum`) on the same items.

    With few discordant items the paired t-test is anticonservative: if two of a thousand items differ, in the same
    direction, the mean difference would be significant. McNemar's test uses only the discordant items. The more
    conservative of the two tests is used. Both account for clusters. `ups` is the sum of the positive differences,
    `downs` the sum of the absolute negative differences, and `squares` the sum of all squared differences, in units of
    `maximum`.

    >>> paired = PairedMean.from_differences(np.array([100.0] * 6 + [-100.0] + [0.0] * 13))
    >>> paired.value, [round(end, 1) for end in paired.interval()], round(compute_two_sided_p(paired, 0.0), 3)
    (25.0, [-2.1, 50.7], 0.07)
    """

    mean: Mean
    ups: float
    downs: float
    squares: float
    n: int
    maximum: float

    @classmethod
    def from_differences(
        cls, differences: Floats, factors: Factors | None = None, maximum: float = 100.0
    ) -> "PairedMean":
        """Estimate the mean of `differences`."""
        mean = float(differences.mean())
        estimate = Mean(mean, compute_standard_error((differences - mean) / len(differences), factors))
        ups, downs = (float((side * differences).clip(0).sum()) / maximum for side in (1, -1))
        return cls(estimate, ups, downs, float(np.sum((differences / maximum) ** 2)), len(differences), maximum)

    @property
    def value(self) -> float:
        """The estimated value."""
        return self.mean.value

    @property
    def standard_error(self) -> StandardError:
        """The standard error of the estimate."""
        return self.mean.standard_error

    def compute_p_above(self, null: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at most `null`."""
        if not self.ups + self.downs:
            return self._compute_unseen_p(null, 1)
        return max(self.mean.compute_p_above(null), self._compute_mcnemar_p(null, self.ups))

    def compute_p_below(self, null: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at least `null`."""
        if not self.ups + self.downs:
            return self._compute_unseen_p(null, -1)
        return max(self.mean.compute_p_below(null), self._compute_mcnemar_p(-null, self.downs))

    @property
    def _size(self) -> float:
        """The effective number of discordant items: (ups + downs)² / squares, reduced for clusters."""
        size = (self.ups + self.downs) ** 2 / self.squares
        if self.standard_error.clusters is None:
            return size
        widened = (_Z / stdtrit(self.standard_error.df, (1 + LEVEL) / 2)) ** 2
        return float(size / self.standard_error.design_effect * widened)

    def _compute_mcnemar_p(self, null: float, ups: float) -> float:
        """Return McNemar's mid-P value for the null value; the share of discordant items is taken as known."""
        differing = self.maximum * (self.ups + self.downs) / self.n
        if null < -differing:
            return 0.0  # the null value is impossible with this share of discordant items
        share = ups / (self.ups + self.downs)
        return compute_mid_p(share * self._size, self._size, (1 + null / differing) / 2)

    def _compute_unseen_p(self, null: float, side: int) -> float:
        """Return the p-value of data without discordant items: the probability that none of n items is discordant."""
        if side * null > 0:
            return 1.0
        return float((1 - min(1.0, abs(null) / self.maximum)) ** self.n) if null else 0.5

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the interval with this confidence level."""
        if not self.ups + self.downs:
            reach = self.maximum * (1 - ((1 - level) / 2) ** (1 / self.n))
            return -reach, reach
        low, high = self.mean.interval(level)
        differing = self.maximum * (self.ups + self.downs) / self.n
        tail, size = (1 - level) / 2, self._size

        def find_lower_end(ups: float) -> float:
            if not ups:
                return -differing
            share = ups / (self.ups + self.downs)
            return differing * (2 * _find_mid_p_end(share * size, size, tail) - 1)

        return min(low, find_lower_end(self.ups)), max(high, -find_lower_end(self.downs))


@dataclass(frozen=True, slots=True)
class Minimum:
    """The minimum of several smooth estimates (pieces); each end of its interval is the minimum of the pieces' ends.

    A percentile bootstrap fails if two pieces are equal: nearly all resampled minima are below the true minimum, and
    its 95% intervals contain the true value in only 70 to 85% of data sets. `ceiling` is an upper bound of the minimum;
    LMS is the ceiling of ICAT.
    """

    pieces: Sequence[Estimate]
    ceiling: Estimate | None = None
    bounds: Interval = field(default=PERCENT)

    @property
    def value(self) -> float:
        """The estimated value."""
        return min(piece.value for piece in self.pieces)

    @property
    def standard_error(self) -> StandardError:
        """The standard error of the smallest piece."""
        return min(self.pieces, key=lambda piece: piece.value).standard_error

    def compute_p_above(self, null: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at most `null`."""
        return max(piece.compute_p_above(null) for piece in self.pieces)

    def compute_p_below(self, null: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at least `null`."""
        tails = [piece.compute_p_below(null) / self._share for piece in self.pieces]
        if self.ceiling is not None:
            tails.append(self.ceiling.compute_p_below(null) / _CEILING)
        return min(1.0, *tails)

    @property
    def _share(self) -> float:
        """The fraction of the error rate for the interval of each piece: 1 unless several pieces may be the minimum."""
        lows, highs = zip(*(piece.interval() for piece in self.pieces), strict=True)
        return _SHARED if max(lows) < min(highs) else 1.0

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the interval with this confidence level."""
        low = min(piece.interval(level)[0] for piece in self.pieces)
        high = min(piece.interval(1 - self._share * (1 - level))[1] for piece in self.pieces)
        if self.ceiling is not None:
            high = min(high, self.ceiling.interval(1 - _CEILING * (1 - level))[1])
        return max(self.bounds[0], low), max(self.bounds[0], min(self.bounds[1], high))


def _find_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Find the root of a function by Brent's method."""
    from scipy.optimize import brentq  # imported here because this takes half a second

    return float(brentq(function, low, high))


def compute_detectable_share(size: float, alpha: float, power: float, df: float | None) -> float | None:
    """Return the minimum detectable distance of a share from 0.5 with `size` items; None if there are too few items.

    `df` are the degrees of freedom of clusters; None without clusters.
    """
    alarm, miss = (float(ndtri(p) if df is None else stdtrit(df, p)) for p in (1 - alpha / 2, power))

    def compute_power_gap(effect: float) -> float:
        return alarm * 0.5 + miss * math.sqrt(0.25 - effect**2) - effect * math.sqrt(size)

    return _find_root(compute_power_gap, 0.0, 0.5) if compute_power_gap(0.5) < 0 else None


def compute_detectable_effect(estimate: Estimate, alpha: float, power: float = POWER) -> float:
    """Return the minimum detectable effect: the distance from the ideal that a test at level `alpha` detects.

    The test detects this distance with a probability of `power`.

    >>> round(compute_detectable_effect(Share.from_values(np.array([100.0, 0.0] * 400)), 0.05), 1)
    4.9
    """
    error = estimate.standard_error
    if isinstance(estimate, Share):
        found = compute_detectable_share(estimate.size, alpha, power, None if error.clusters is None else error.df)
        return estimate.maximum * (0.5 if found is None else found)
    if isinstance(estimate, WeightedShares) or (isinstance(estimate, PairedMean) and not error.value):
        # If all items have the same value, the standard error is 0, so the width of the interval is used instead.
        low, high = estimate.interval(1 - alpha)
        alarm = float(ndtri(1 - alpha / 2))
        return (alarm + float(ndtri(power))) / alarm * (high - low) / 2
    return float(stdtrit(error.df, 1 - alpha / 2) + stdtrit(error.df, power)) * error.value
