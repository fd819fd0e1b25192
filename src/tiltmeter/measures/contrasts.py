"""Contrasts: how far two answers to the same items lie apart, and whether that is more than noise.

Everything here is paired: the same item answered twice, by two models or in two languages. Items differ far more from
each other than models do on one item, so a paired comparison sees differences that two separate intervals hide.

Interval    percentile bootstrap; both answers to an item are drawn together, within strata where there are any.
Test        McNemar's exact test where an item says one of two things (SS, CPS): only the items on which the two differ
            count, and a tie counts as in the measure itself, as no preference for the stereotype. For other means a
            paired permutation test: were there no difference, the two answers to an item might as well be swapped.
            For ICAT the level at which the bootstrap interval would just reach 0; swapping would not do there, since
            it moves both SS to where ICAT is bent and hardly varies, and cries wolf up to three times too often.
Effect      Cohen's g for McNemar's test, Hedges' g of the paired differences for means, none for ICAT.
Family      Holm's correction, which holds whatever the tests have to do with each other.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri

from tiltmeter.measures.intervals import (
    LEVEL,
    RESAMPLES,
    Floats,
    Interval,
    draws,
    generator,
    percentile,
    resample_means,
    widen,
)
from tiltmeter.measures.power import POWER
from tiltmeter.measures.quantities import Quantity
from tiltmeter.measures.significance import sign_test

Test = Literal["McNemar exact", "paired permutation", "paired bootstrap"]
Effect = Literal["Cohen's g", "Hedges' g"]

# With so few items that differ, all swaps are tried instead of a sample of them.
_FEW = 13
# Swaps drawn at a time, so that thousands of items take megabytes and not gigabytes.
_CHUNK = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """The difference between two answers to the same n items: `difference` is `left` minus `right`.

    `farther` is how much farther `left` is from the ideal than `right`: what "worse" means. `disagree` counts the items
    that say different things, or where items say numbers, numbers of different signs. `detectable` is the difference
    that n such items show, at 5%, four times in five.
    """

    left: float
    right: float
    difference: float
    low: float
    high: float
    farther: float
    farther_low: float
    farther_high: float
    n: int
    disagree: int
    test: Test
    p_value: float
    effect: float | None
    effect_name: Effect | None
    detectable: float


def contrast(
    quantity: Quantity,
    left: Floats,
    right: Floats,
    labels: NDArray[np.object_] | None = None,
    *,
    resamples: int = RESAMPLES,
) -> Contrast:
    """Compare what two answers to the same items say: a row for each mean, a column for each item, in the same order.

    >>> from tiltmeter.measures.quantities import QUANTITIES
    >>> ss = QUANTITIES[0]
    >>> left = 100.0 * np.array([[1, 1, 1, 1, 1, 1, 1, 1, 0, 0]])
    >>> right = 100.0 * np.array([[1, 1, 0, 0, 0, 0, 0, 0, 1, 0]])
    >>> found = contrast(ss, left, right)
    >>> found.difference, found.disagree, found.p_value
    (50.0, 7, 0.125)
    """
    n = left.shape[1]
    scaled = _scaled(quantity, labels, n)
    both = np.vstack([left, right]) * scaled
    means = both.mean(axis=1)
    drawn = _resampled(both, labels if quantity.weigh else None, resamples)
    k = len(left)
    ours, theirs = quantity.pieces(means[:k]), quantity.pieces(means[k:])
    value, other = float(min(ours)), float(min(theirs))
    drawn_ours, drawn_theirs = quantity.pieces(drawn[:k]), quantity.pieces(drawn[k:])
    low, high = _widened(quantity, value - other, _least(_differences(drawn_ours, drawn_theirs)), n)
    spread = float(np.std(np.min(drawn_ours, axis=0) - np.min(drawn_theirs, axis=0)))
    farther, farther_low, farther_high = _farther(quantity, (value, other), (low, high), drawn)
    if quantity.binary:
        ups, downs = int(np.count_nonzero(left > right)), int(np.count_nonzero(left < right))
        test: Test = "McNemar exact"
        p_value = sign_test(ups, downs)
        effect: float | None = cohens_g(ups, downs)
        effect_name: Effect | None = "Cohen's g"
        detectable = 100 * detectable_share(n, ups + downs)
    else:
        if k == 1:
            test, p_value = "paired permutation", permutation_test(both[0] - both[1], resamples)
            effect, effect_name = hedges_g(value - other, spread * math.sqrt(n), n), "Hedges' g"
        else:
            test, p_value = "paired bootstrap", _inverted(drawn_ours, drawn_theirs)
            effect, effect_name = None, None
        detectable = float(ndtri((1 + LEVEL) / 2) + ndtri(POWER)) * spread
    return Contrast(
        left=value,
        right=other,
        difference=value - other,
        low=low,
        high=high,
        farther=farther,
        farther_low=farther_low,
        farther_high=farther_high,
        n=n,
        disagree=int(disagreements(quantity, left, right).sum()),
        test=test,
        p_value=p_value,
        effect=effect,
        effect_name=effect_name,
        detectable=detectable,
    )


def disagreements(quantity: Quantity, left: Floats, right: Floats) -> NDArray[np.bool_]:
    """The items on which two answers disagree: they say different things, or numbers of different signs."""
    if quantity.discrete:
        return np.asarray((left != right).any(axis=0))
    return np.asarray((np.sign(left) != np.sign(right)).any(axis=0))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values of a family of tests, adjusted so that the chance of any false alarm in it stays at the level.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def cohens_g(ups: int, downs: int) -> float:
    """How far the share of ups among the items that differ is from a half: 0.05 is small, 0.15 medium, 0.25 large.

    >>> cohens_g(15, 5)
    0.25
    """
    return ups / (ups + downs) - 0.5 if ups + downs else 0.0


def hedges_g(difference: float, spread: float, n: int) -> float:
    """A mean paired difference in units of the spread of the differences, corrected for few items (Hedges 1981).

    With strata the spread is that of one item in n that would give the mean the same standard error.

    >>> round(hedges_g(2.0, 1.0, 3), 3)
    1.143
    """
    return difference / spread * (1 - 3 / (4 * (n - 1) - 1)) if spread and n > 1 else 0.0


def detectable_share(n: int, discordant: int, power: float = POWER, level: float = LEVEL) -> float:
    """The difference between two shares that McNemar's test sees with this power, if so many of n items differ.

    From Connor (1987). Where so few differ that the test would see nothing even if all of them differed one way, it is
    the difference that would be seen if no item differed the other way.

    >>> round(detectable_share(4229, 1700), 3)
    0.027
    >>> round(detectable_share(50, 0), 3)
    0.15
    """
    alarm, miss = float(ndtri((1 + level) / 2)), float(ndtri(power))

    def short_of(difference: float, share: float) -> float:
        return alarm * math.sqrt(share) + miss * math.sqrt(share - difference**2) - difference * math.sqrt(n)

    share = discordant / n
    if share and short_of(share, share) < 0:
        return float(brentq(short_of, 0.0, share, args=(share,)))
    if short_of(1.0, 1.0) >= 0:
        return 1.0
    return float(brentq(lambda difference: short_of(difference, difference), max(share, 1 / n**2), 1.0))


def permutation_test(differences: Floats, resamples: int = RESAMPLES) -> float:
    """The two-sided p-value of a paired permutation test, in which the answers to each item are swapped or not.

    All swaps are tried where few items differ; else so many are drawn, and the p-value is never below 1 in that many.

    >>> permutation_test(np.array([1.0, 2.0, 3.0, 4.0]))
    0.125
    """
    sizes, counts = np.unique(np.abs(differences[differences != 0]), return_counts=True)
    # What is equal but for the last digit counts as equal.
    bar = abs(float(differences.sum())) * (1 - 1e-9) - 1e-12
    if counts.sum() <= _FEW:
        signs = np.array(list(product((-1.0, 1.0), repeat=int(counts.sum()))))
        return float(np.mean(np.abs(signs @ np.repeat(sizes, counts)) >= bar))
    rng = generator("swaps", str(len(differences)))
    extreme = 0
    for start in range(0, resamples, _CHUNK):
        size = (min(_CHUNK, resamples - start), len(counts))
        # Of the items whose answers lie equally far apart, it only matters how many are swapped.
        swapped = rng.binomial(counts, 0.5, size) if counts.max() > 1 else rng.integers(0, 2, size, dtype=np.uint8)
        extreme += int(np.count_nonzero(np.abs((2.0 * swapped - counts) @ sizes) >= bar))
    return (extreme + 1) / (resamples + 1)


def _inverted(ours: list[Floats], theirs: list[Floats]) -> float:
    """The level at which the interval of `_least` would just reach 0."""
    below = [[_share(mine - yours <= 0) for yours in theirs] for mine in ours]
    above = [[_share(mine - yours >= 0) for yours in theirs] for mine in ours]
    return min(1.0, 2 * max(map(min, below)), 2 * min(map(max, above)))


def _share(found: NDArray[np.bool_]) -> float:
    return (int(np.count_nonzero(found)) + 1) / (len(found) + 1)


def _scaled(quantity: Quantity, labels: NDArray[np.object_] | None, n: int) -> Floats:
    """What to multiply items with so that their plain mean is the measure."""
    if quantity.weigh is None or labels is None:
        return np.ones(n)
    return n * quantity.weigh(labels)


def _resampled(both: Floats, labels: NDArray[np.object_] | None, resamples: int) -> Floats:
    """The means in each resample of the items; with labels, items are drawn from among those of the same label."""
    if labels is None:
        return resample_means(both, resamples)
    codes, names = pd.factorize(labels, sort=True)
    total = np.zeros((len(both), resamples))
    for code, name in enumerate(names):
        some = both[:, codes == code]
        total += some @ draws(some.shape[1], resamples, "contrasts", str(name)).astype(float)
    means: Floats = total / both.shape[1]
    return means


def _differences(ours: list[Floats], theirs: list[Floats]) -> list[list[Interval]]:
    """The interval of each piece of ours minus each piece of theirs."""
    return [percentile(np.stack([mine - yours for yours in theirs])) for mine in ours]


def _least(table: list[list[Interval]]) -> Interval:
    """The interval of min(ours) - min(theirs), which is the least over ours of the greatest over theirs.

    Either end is made of the same ends of the pieces. The percentiles of the difference itself would not do: where a
    minimum is at its bend, no resample is above it (see `association.intervals`).
    """
    low, high = (min(max(pair[end] for pair in row) for row in table) for end in (0, 1))
    return low, high


def _widened(quantity: Quantity, value: float, interval: Interval, n: int) -> Interval:
    if quantity.ends is None:
        return interval
    reach = quantity.ends[1] - quantity.ends[0]
    return widen(value, interval, n, -reach, reach)


def _farther(
    quantity: Quantity, values: tuple[float, float], difference: Interval, drawn: Floats
) -> tuple[float, float, float]:
    """How much farther from the ideal the first is, with its interval."""
    value, other = values
    low, high = difference
    if quantity.towards_an_end:
        # The ideal is an end of the scale, so farther from it is simply lower.
        return other - value, -high, -low
    # |a| - |b| is the greatest over the signs of a of the least over the signs of b, of a piece that is a sum or a
    # difference of a and b; as with ICAT, its ends are made of theirs.
    away, beside = drawn[0] - quantity.ideal, drawn[1] - quantity.ideal
    ((sum_low, sum_high),) = percentile((away + beside)[np.newaxis])
    farther_low = max(min(low, sum_low), min(-sum_high, -high))
    farther_high = max(min(high, sum_high), min(-sum_low, -low))
    return abs(value - quantity.ideal) - abs(other - quantity.ideal), farther_low, farther_high
