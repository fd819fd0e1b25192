"""Estimates: a number, how uncertain it is, and the tests and intervals that follow from it.

Every estimate answers one question: how probable is a result as high (or as low) as this one if the truth is `at`?
Intervals, significance against an ideal, and equivalence within a margin are all read from these two tails, so that
they cannot contradict each other.

    Share    a percentage of preferences: the mid-P binomial tails of the number of items that would have this standard
             error, which is smaller than n where items are clustered
    Mean     Student's t, with Hall's correction for skewness where that is the more cautious
    Ratio    a geometric mean: Student's t of its logarithm
    Rates    a weighted sum of shares: the more cautious of the normal distribution and of Newcombe's and Zou's
             combination of Wilson intervals
    Paired   a difference of two percentages on the same items: the more cautious of Student's t and of the mid-P tails
             of the items that differ
    Least    the lesser of two smooth numbers, as ICAT is
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, ndtr, ndtri, stdtr, stdtrit

from tiltmeter.measures.standard_errors import Floats, Labels, Spread, spread

Interval = tuple[float, float]

LEVEL = 0.95
POWER = 0.8
PERCENT = (0.0, 100.0)

_Z = float(ndtri((1 + LEVEL) / 2))
# The share of the error of an interval that each of two pieces may have where either could be the least: with a half
# the coverage is at least that of one piece, and at 0.7 it is 94 to 98% in simulations.
_SHARED = 0.7
# The share of it that a number has which the least cannot exceed: a third way to miss would cost coverage.
_CEILING = 0.2
# The number of standard errors beyond which the tail of a normal distribution is too small for a float.
_FARTHEST = -37.0


class Estimate(Protocol):
    """A number that was estimated."""

    @property
    def value(self) -> float:
        """The number."""
        ...

    @property
    def spread(self) -> Spread:
        """Its standard error."""
        ...

    def above(self, at: float) -> float:
        """The p-value of the hypothesis that the truth is `at` or less: small where it is shown to be above."""
        ...

    def below(self, at: float) -> float:
        """The p-value of the hypothesis that the truth is `at` or more: small where it is shown to be below."""
        ...

    def interval(self, level: float = LEVEL) -> Interval:
        """The values that neither tail rejects at this level."""
        ...


def two_sided(estimate: Estimate, at: float) -> float:
    """The p-value of the hypothesis that the truth is `at`."""
    return min(1.0, 2 * min(estimate.above(at), estimate.below(at)))


def equivalence(estimate: Estimate, low: float, high: float) -> float:
    """The p-value of two one-sided tests (TOST): small where the truth is shown to lie between `low` and `high`."""
    return max(estimate.above(low), estimate.below(high))


@dataclass(frozen=True, slots=True)
class Share:
    """The mean of what items contribute between 0 and `whole`, such as 0, 50 or 100.

    >>> share = Share.of(np.array([100.0] * 12 + [0.0] * 8))
    >>> share.value, [round(end, 1) for end in share.interval()]
    (60.0, [37.9, 79.4])
    """

    value: float
    spread: Spread
    n: int
    whole: float = 100.0

    @classmethod
    def of(cls, values: Floats, clusters: Labels | None = None, whole: float = 100.0) -> "Share":
        """The estimate of the mean of `values`."""
        mean = float(values.mean())
        return cls(mean, spread((values - mean) / len(values), clusters), len(values), whole)

    @property
    def size(self) -> float:
        """The number of independent preferences that would be as uncertain: n, where items are that and have no ties.

        With clusters there are fewer (Korn and Graubard 1998).
        """
        share = self.value / self.whole
        variance = (self.spread.error / self.whole) ** 2
        # Where all items agree, nothing shows whether they are clustered.
        if variance < 1e-18 or not 0 < share < 1:
            return float(self.n)
        size = share * (1 - share) / variance
        # n independent preferences without ties: their standard error follows from the share.
        return float(self.n) if self.spread.clusters is None and abs(size / (self.n - 1) - 1) < 1e-9 else size

    @property
    def _known_size(self) -> bool:
        """Whether the size is known; that of clusters, ties and half preferences is estimated."""
        return self.spread.clusters is None and self.size == self.n

    def above(self, at: float) -> float:
        """See `Estimate`."""
        return self._tail(self.value / self.whole, at / self.whole)

    def below(self, at: float) -> float:
        """See `Estimate`."""
        return self._tail(1 - self.value / self.whole, 1 - at / self.whole)

    def _tail(self, share: float, at: float) -> float:
        """The tail of a share as high as this one.

        Where the size is itself estimated, a mid-P tail of so many standard errors of a normal distribution counts as
        that of Student's t, at any distance, so that small p-values hold in large families.
        """
        tail = mid_p(share * self.size, self.size, at)
        if self._known_size:
            return tail
        lower = tail > 0.5  # what is near 1 has lost its digits
        if lower:
            tail = mid_p((1 - share) * self.size, self.size, 1 - at)
        found = float(stdtr(self.spread.freedom, max(_FARTHEST, float(ndtri(tail)))))
        return 1 - found if lower else found

    def interval(self, level: float = LEVEL) -> Interval:
        """See `Estimate`."""
        tail, share, size = (1 - level) / 2, self.value / self.whole, self.size
        if not self._known_size:
            tail = float(ndtr(max(_FARTHEST, float(stdtrit(self.spread.freedom, tail)))))

        def lower_end(share: float) -> float:
            if share <= 0:
                return 0.0
            return float(brentq(lambda at: mid_p(share * size, size, at) - tail, 0.0, 1.0))

        return self.whole * lower_end(share), self.whole * (1 - lower_end(1 - share))


def mid_p(count: float, size: float, share: float) -> float:
    """P(more than `count`) plus half of P(exactly `count`) among `size` draws; neither has to be a whole number.

    >>> round(mid_p(9, 10, 0.5), 6), round(mid_p(5, 10, 0.5), 6)
    (0.005859, 0.5)
    """
    share = min(max(share, 0.0), 1.0)
    at_least = 1.0 if count <= 0 else float(betainc(count, size - count + 1, share))
    more = 0.0 if count >= size else float(betainc(count + 1, size - count, share))
    return (at_least + more) / 2


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of numbers, or any smooth function of means.

    `skewness` is that of the mean: the skewness of the items over the root of their number. Hall's (1992)
    transformation of t takes it away; the more cautious of the two counts, since with heavy tails the skewness is
    itself uncertain.

    >>> mean = Mean.of(np.array([0.2, -0.1, 0.4, 0.1, 0.0, 0.3, 0.5, 0.2]))
    >>> round(mean.value, 2), [round(end, 2) for end in mean.interval()], round(two_sided(mean, 0.0), 3)
    (0.2, [0.03, 0.37], 0.025)
    """

    value: float
    spread: Spread
    skewness: float = 0.0

    @classmethod
    def of(cls, values: Floats, clusters: Labels | None = None) -> "Mean":
        """The estimate of the mean of `values`."""
        mean = float(values.mean())
        centred = values - mean
        scale = float(np.sqrt(np.mean(centred**2)))
        skewness = float(np.mean(centred**3)) / scale**3 / math.sqrt(len(values)) if scale and clusters is None else 0.0
        return cls(mean, spread(centred / len(values), clusters), skewness)

    def above(self, at: float) -> float:
        """See `Estimate`."""
        return max(self._tails(at, 1))

    def below(self, at: float) -> float:
        """See `Estimate`."""
        return max(self._tails(at, -1))

    def _tails(self, at: float, side: int) -> tuple[float, ...]:
        if not self.spread.error:
            return (0.5 if self.value == at else float(side * self.value <= side * at),)
        t = (self.value - at) / self.spread.error
        plain = float(stdtr(self.spread.freedom, -side * t))
        if abs(self.skewness) < 1e-9:
            return (plain,)
        a = self.skewness
        corrected = t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6
        return plain, float(stdtr(self.spread.freedom, -side * corrected))

    def interval(self, level: float = LEVEL) -> Interval:
        """See `Estimate`."""
        reach = float(stdtrit(self.spread.freedom, (1 + level) / 2))
        ends = [self.value - reach * self.spread.error, self.value + reach * self.spread.error]
        if abs(self.skewness) >= 1e-9:
            a = self.skewness
            for quantile in (reach, -reach):
                t = 3 / a * (math.cbrt(1 + a * (quantile - a / 6)) - 1)
                ends.append(self.value - t * self.spread.error)
        return min(ends), max(ends)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio, estimated by the mean of its logarithm.

    >>> ratio = Ratio(Mean(math.log(2.0), Spread(0.1, 30)))
    >>> round(ratio.value, 2), [round(end, 2) for end in ratio.interval()]
    (2.0, [1.63, 2.45])
    """

    log: Mean

    @property
    def value(self) -> float:
        """See `Estimate`."""
        return math.exp(self.log.value)

    @property
    def spread(self) -> Spread:
        """That of the logarithm."""
        return self.log.spread

    def above(self, at: float) -> float:
        """See `Estimate`."""
        return self.log.above(math.log(at))

    def below(self, at: float) -> float:
        """See `Estimate`."""
        return self.log.below(math.log(at))

    def interval(self, level: float = LEVEL) -> Interval:
        """See `Estimate`."""
        low, high = self.log.interval(level)
        return math.exp(low), math.exp(high)


@dataclass(frozen=True, slots=True)
class Rates:
    """A weighted sum of shares of independent groups, plus a constant (Newcombe 1998; Zou and Donner 2008).

    Each group brings its Wilson interval; their distances from the shares are combined like standard errors. `counts`
    of `sizes` is a group's share. As the sizes are small, a Wilson interval is made for one item less than there are.
    Wilson intervals of shares near a half are the narrower the farther out they go: a sum of many is at least as
    uncertain as its standard error has it.

    >>> rates = Rates(np.array([1.0, -1.0]), np.array([56.0, 48.0]), np.array([70.0, 80.0]))
    >>> round(rates.value, 2), [round(end, 2) for end in rates.interval()]
    (0.2, [0.05, 0.34])
    """

    weights: Floats
    counts: Floats
    sizes: Floats
    constant: float = 0.0

    @property
    def value(self) -> float:
        """See `Estimate`."""
        return float(self.weights @ (self.counts / self.sizes)) + self.constant

    @property
    def spread(self) -> Spread:
        """That of a sum of independent shares."""
        shares = self.counts / self.sizes
        error = float(np.sqrt(np.sum(self.weights**2 * shares * (1 - shares) / np.maximum(1.0, self.sizes - 1))))
        return Spread(error, float(self.sizes.sum() - len(self.sizes)))

    def above(self, at: float) -> float:
        """See `Estimate`."""
        return self._tail(at, 0)

    def below(self, at: float) -> float:
        """See `Estimate`."""
        return self._tail(at, 1)

    def _tail(self, at: float, end: int) -> float:
        """One less the one-sided level at which this end of the interval is `at`."""
        side = 1 if end == 0 else -1
        if side * (self.value - at) <= 0:
            return 1 - self._tail_beyond(at, 1 - end)
        return self._tail_beyond(at, end)

    def _tail_beyond(self, at: float, end: int) -> float:
        def gap(z: float) -> float:
            return self._ends(z)[end] - at

        first = gap(0.0)
        if first == 0:
            return 0.5
        if math.copysign(1, gap(40.0)) == math.copysign(1, first):
            return 0.0
        return float(ndtr(-brentq(gap, 0.0, 40.0)))

    def _ends(self, z: float) -> Interval:
        sizes = np.maximum(1.0, self.sizes - 1)
        shares = self.counts / self.sizes
        centre = (shares + z**2 / (2 * sizes)) / (1 + z**2 / sizes)
        reach = z / (1 + z**2 / sizes) * np.sqrt(shares * (1 - shares) / sizes + z**2 / (4 * sizes**2))
        down, up = self.weights * (shares - centre + reach), self.weights * (centre + reach - shares)
        below, above = np.where(self.weights > 0, down, up), np.where(self.weights > 0, up, down)
        least = z * self.spread.error
        return (
            self.value - max(least, float(np.sqrt(np.sum(below**2)))),
            self.value + max(least, float(np.sqrt(np.sum(above**2)))),
        )

    def interval(self, level: float = LEVEL) -> Interval:
        """See `Estimate`."""
        return self._ends(float(ndtri((1 + level) / 2)))


@dataclass(frozen=True, slots=True)
class Paired:
    """The mean difference of two preferences on the same items, each from 0 to `whole`.

    Where few items differ, Student's t is too sure of itself: two items that differ the same way out of a thousand
    would be significant in a t-test of their mean. McNemar's test looks at the items that differ alone. Both are
    made, with clusters, and the more cautious one counts.

    >>> paired = Paired.of(np.array([100.0] * 6 + [-100.0] + [0.0] * 13))
    >>> paired.value, [round(end, 1) for end in paired.interval()], round(two_sided(paired, 0.0), 3)
    (25.0, [-2.1, 50.7], 0.07)
    """

    mean: Mean
    ups: float
    downs: float
    squares: float
    n: int
    whole: float = 100.0

    @classmethod
    def of(cls, differences: Floats, clusters: Labels | None = None, whole: float = 100.0) -> "Paired":
        """The estimate of the mean of `differences`."""
        mean = float(differences.mean())
        found = Mean(mean, spread((differences - mean) / len(differences), clusters))
        ups, downs = (float((side * differences).clip(0).sum()) / whole for side in (1, -1))
        return cls(found, ups, downs, float(np.sum((differences / whole) ** 2)), len(differences), whole)

    @property
    def value(self) -> float:
        """See `Estimate`."""
        return self.mean.value

    @property
    def spread(self) -> Spread:
        """See `Estimate`."""
        return self.mean.spread

    def above(self, at: float) -> float:
        """See `Estimate`."""
        if not self.ups + self.downs:
            return self._unseen(at, 1)
        return max(self.mean.above(at), self._conditional(at, self.ups))

    def below(self, at: float) -> float:
        """See `Estimate`."""
        if not self.ups + self.downs:
            return self._unseen(at, -1)
        return max(self.mean.below(at), self._conditional(-at, self.downs))

    @property
    def _size(self) -> float:
        """How many of the items that differ count as independent; one that differs by a half counts as one, too."""
        size = (self.ups + self.downs) ** 2 / self.squares
        if self.spread.clusters is None:
            return size
        widened = (_Z / stdtrit(self.spread.freedom, (1 + LEVEL) / 2)) ** 2
        return float(size / self.spread.inflation * widened)

    def _conditional(self, at: float, ups: float) -> float:
        """The mid-P tail of the ups among the items that differ, if the truth is `at` and as many items differ."""
        differing = self.whole * (self.ups + self.downs) / self.n
        if at < -differing:
            return 0.0  # if as many items differ, the truth cannot be as low as that
        share = ups / (self.ups + self.downs)
        return mid_p(share * self._size, self._size, (1 + at / differing) / 2)

    def _unseen(self, at: float, side: int) -> float:
        """The tail where no item differs: that n items would all have missed a share of `at`."""
        if side * at > 0:
            return 1.0
        return float((1 - min(1.0, abs(at) / self.whole)) ** self.n) if at else 0.5

    def interval(self, level: float = LEVEL) -> Interval:
        """See `Estimate`."""
        if not self.ups + self.downs:
            reach = self.whole * (1 - ((1 - level) / 2) ** (1 / self.n))
            return -reach, reach
        low, high = self.mean.interval(level)
        differing = self.whole * (self.ups + self.downs) / self.n
        tail, size = (1 - level) / 2, self._size

        def lower_end(ups: float) -> float:
            if not ups:
                return -differing
            share = ups / (self.ups + self.downs)
            found = brentq(lambda at: mid_p(share * size, size, at) - tail, 0.0, 1.0)
            return differing * (2 * float(found) - 1)

        return min(low, lower_end(self.ups)), max(high, -lower_end(self.downs))


@dataclass(frozen=True, slots=True)
class Least:
    """The least of several smooth numbers; each end of its interval is the least of theirs.

    The percentiles of a bootstrap would not do: where two of the numbers are equal, the least of them is at its
    highest, all resamples fall short of it, and their interval covers it in 70 to 85% of cases. `ceiling` is a number
    that the least cannot exceed, as ICAT cannot exceed LMS.
    """

    pieces: Sequence[Estimate]
    ceiling: Estimate | None = None
    bounds: Interval = field(default=PERCENT)

    @property
    def value(self) -> float:
        """See `Estimate`."""
        return min(piece.value for piece in self.pieces)

    @property
    def spread(self) -> Spread:
        """That of the least piece."""
        return min(self.pieces, key=lambda piece: piece.value).spread

    def above(self, at: float) -> float:
        """See `Estimate`."""
        return max(piece.above(at) for piece in self.pieces)

    def below(self, at: float) -> float:
        """See `Estimate`."""
        tails = [piece.below(at) / self._share for piece in self.pieces]
        if self.ceiling is not None:
            tails.append(self.ceiling.below(at) / _CEILING)
        return min(1.0, *tails)

    @property
    def _share(self) -> float:
        """The share of the error that each piece may have: all of it, unless any of them may be the least."""
        lows, highs = zip(*(piece.interval() for piece in self.pieces), strict=True)
        return _SHARED if max(lows) < min(highs) else 1.0

    def interval(self, level: float = LEVEL) -> Interval:
        """See `Estimate`."""
        low = min(piece.interval(level)[0] for piece in self.pieces)
        high = min(piece.interval(1 - self._share * (1 - level))[1] for piece in self.pieces)
        if self.ceiling is not None:
            high = min(high, self.ceiling.interval(1 - _CEILING * (1 - level))[1])
        return max(self.bounds[0], low), max(self.bounds[0], min(self.bounds[1], high))


def detectable(estimate: Estimate, alpha: float, power: float = POWER) -> float:
    """How far from the ideal the truth must be for a test at this level to find it with this power.

    >>> round(detectable(Share.of(np.array([100.0, 0.0] * 400)), 0.05), 1)
    4.9
    """
    found = estimate.spread
    if isinstance(estimate, Share):
        size = estimate.size
        alarm, miss = (
            float(ndtri(p) if found.clusters is None else stdtrit(found.freedom, p)) for p in (1 - alpha / 2, power)
        )

        def short_of(effect: float) -> float:
            return alarm * 0.5 + miss * math.sqrt(0.25 - effect**2) - effect * math.sqrt(size)

        return estimate.whole * (float(brentq(short_of, 0.0, 0.5)) if short_of(0.5) < 0 else 0.5)
    if isinstance(estimate, Rates):
        # Where all shares are 0 or 1 their standard error is nothing, but their intervals are not.
        low, high = estimate.interval(1 - alpha)
        alarm = float(ndtri(1 - alpha / 2))
        return (alarm + float(ndtri(power))) / alarm * (high - low) / 2
    reach = float(stdtrit(found.freedom, 1 - alpha / 2) + stdtrit(found.freedom, power))
    return reach * found.error
