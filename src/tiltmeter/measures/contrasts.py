"""Contrasts: how far two answers to the same items lie apart, and how sure that is.

Everything here is paired: the same item answered twice, by two models or in two languages. Items differ far more from
each other than models do on one item, so a paired comparison sees differences that two separate intervals hide.

    preferences (SS, CPS)    the more cautious of Student's t of the paired differences and of McNemar's mid-P test of
                             the items that differ
    means (LMS, S_JSD, …)    Student's t of the paired differences, corrected for skewness
    log g_s, f_s             Student's t of the paired differences, each less the mean of its stereotype: models may
                             differ in how often they are masculine without being more or less stereotypical
    ICAT                     Student's t of its two smooth pieces; each end of the interval is made of theirs

Standard errors are the larger of those for independent and for clustered items (see `standard_errors`). Interval and
p-value come from the same tails, so that an interval leaves out 0 exactly where p is below 0.05. The effect is Cohen's
g of the items that differ for preferences, Hedges' g of the paired differences for means, none for ICAT.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from tiltmeter.measures.estimates import LEVEL, POWER, Estimate, Interval, Mean, Paired, equivalence, two_sided
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.standard_errors import Floats, Labels, Spread, spread

Test = Literal[
    "paired t and McNemar mid-P", "paired t", "paired t within stereotypes", "paired t of pieces", "identical"
]
Effect = Literal["Cohen's g", "Hedges' g"]

# Answers that differ by less than this, relative to their size, are the same but for rounding.
_ROUNDING = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """The difference between two answers to the same n items: `difference` is `left` minus `right`.

    `farther` is how much farther `left` is from the ideal than `right`: what "worse" means. `disagree` counts the items
    that say different things, or where items say numbers, numbers of different signs. `p_equivalence` is that of two
    one-sided tests: small where the difference is shown to be within the margin of the measure; None where it has none.
    `detectable` is the difference that n such items show, at 5%, four times in five.
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
    clusters: int | None
    standard_error: float
    disagree: int
    test: Test
    p_value: float
    p_equivalence: float | None
    effect: float | None
    effect_name: Effect | None
    detectable: float


def contrast(
    quantity: Quantity,
    left: Floats,
    right: Floats,
    labels: Labels | None = None,
    clusters: Labels | None = None,
    *,
    identical: bool = False,
) -> Contrast:
    """Compare what two answers to the same items say: a row for each mean, a column for each item, in the same order.

    `labels` are the strata of the items, where the measure has any, `clusters` which items belong together.
    `identical`: the two gave the very same scores, so that the difference is known to be nothing.

    >>> from tiltmeter.measures.measure import quantities_for
    >>> ss = quantities_for(["stereotype", "anti-stereotype"], [])[0]
    >>> left = 100.0 * np.array([[1, 1, 1, 1, 1, 1, 1, 1, 0, 0]])
    >>> right = 100.0 * np.array([[1, 1, 0, 0, 0, 0, 0, 0, 1, 0]])
    >>> found = contrast(ss, left, right)
    >>> found.difference, found.disagree, round(found.p_value, 3)
    (50.0, 7, 0.07)
    """
    values, n = quantity.values, left.shape[1]
    weights = np.full(n, 1 / n) if values.weigh is None or labels is None else values.weigh(labels)
    strata = labels if values.weigh is not None else None
    ours, theirs = left @ weights, right @ weights
    value, other = (float(min(values.pieces(means))) for means in (ours, theirs))
    effect: float | None = None
    effect_name: Effect | None = None
    estimate: Estimate | None = None
    margin, p_equivalence = quantity.measure.margin, None
    if len(left) > 1:
        test: Test = "paired t of pieces"
        low, high, p_value, error = _of_pieces(quantity, left, right, weights, clusters)
    else:
        differences = (left - right)[0]
        if values.preference:
            test, estimate = "paired t and McNemar mid-P", Paired.of(differences, clusters)
            effect, effect_name = cohens_g(estimate.ups, estimate.downs), "Cohen's g"
        else:
            test = "paired t" if strata is None else "paired t within stereotypes"
            estimate = _mean(differences, weights, clusters, strata)
            effect_name = "Hedges' g"
            effect = hedges_g(value - other, estimate.spread.error * math.sqrt(n), n)
        (low, high), p_value, error = estimate.interval(), two_sided(estimate, 0.0), estimate.spread
        p_equivalence = equivalence(estimate, -margin, margin) if margin is not None else None
        if not error.error and not values.preference:
            # All items differ by the same, or by nothing, which does not tell how far others may differ.
            (low, high), p_value, p_equivalence = _unseen(quantity, value - other, n)
    if identical:
        test, low, high, p_value = "identical", 0.0, 0.0, 1.0
        p_equivalence = 0.0 if margin is not None else None
        farther = (0.0, 0.0, 0.0)
    else:
        farther = _farther(quantity, left, right, weights, clusters, strata, (value, other), (low, high))
    reach = float(stdtrit(error.freedom, (1 + LEVEL) / 2) + stdtrit(error.freedom, POWER))
    return Contrast(
        left=value,
        right=other,
        difference=value - other,
        low=low,
        high=high,
        farther=farther[0],
        farther_low=farther[1],
        farther_high=farther[2],
        n=n,
        clusters=error.clusters,
        standard_error=error.error,
        disagree=int(disagreements(quantity, left, right).sum()),
        test=test,
        p_value=p_value,
        p_equivalence=p_equivalence,
        effect=effect,
        effect_name=effect_name,
        detectable=reach * error.error,
    )


def same_but_for_rounding(left: Floats, right: Floats) -> bool:
    """Whether two tables of scores are the same but for rounding: the same model, asked again."""
    return bool(np.allclose(left, right, rtol=_ROUNDING, atol=0.0, equal_nan=True))


def disagreements(quantity: Quantity, left: Floats, right: Floats) -> NDArray[np.bool_]:
    """The items on which two answers disagree: they say different things, or numbers of different signs."""
    if quantity.values.discrete:
        return np.asarray((left != right).any(axis=0))
    return np.asarray((np.sign(left) != np.sign(right)).any(axis=0))


def cohens_g(ups: float, downs: float) -> float:
    """How far the share of ups among the items that differ is from a half: 0.05 is small, 0.15 medium, 0.25 large.

    >>> cohens_g(15, 5)
    0.25
    """
    return ups / (ups + downs) - 0.5 if ups + downs else 0.0


def hedges_g(difference: float, deviation: float, n: int) -> float:
    """A mean paired difference in units of its standard deviation, corrected for few items (Hedges 1981).

    With strata or clusters the deviation is that of one item in n that would give the mean the same standard error.

    >>> round(hedges_g(2.0, 1.0, 3), 3)
    1.143
    """
    return difference / deviation * (1 - 3 / (4 * (n - 1) - 1)) if deviation and n > 1 else 0.0


def _mean(numbers: Floats, weights: Floats, clusters: Labels | None, strata: Labels | None) -> Mean:
    """The estimate of a weighted sum; within strata each item counts by its distance from the mean of its stratum."""
    if strata is None:
        return Mean.of(numbers, clusters)
    value = float(numbers @ weights)
    codes = pd.factorize(strata)[0]
    sizes = np.bincount(codes)
    if sizes.min() > 1:
        centred = numbers - (np.bincount(codes, numbers) / sizes)[codes]
        return Mean(value, spread(weights * centred, clusters, strata))
    # A single item does not show how far others of its stratum may be from it: the strata themselves are the draws.
    sides = np.where(weights > 0, "men", "women").astype(object)
    if min(len(set(codes[sides == side])) for side in ("men", "women")) < 2:
        return Mean(value, Spread(0.0, 1))
    return Mean(value, spread(weights * numbers, strata, sides))


def _of_pieces(
    quantity: Quantity, left: Floats, right: Floats, weights: Floats, clusters: Labels | None
) -> tuple[float, float, float, Spread]:
    """The interval of min(ours) - min(theirs), its p-value, and the standard error of the pieces that are the least.

    min(ours) - min(theirs) is the least over ours of the greatest over theirs of the differences of pieces, and either
    end of its interval is made of their ends. Percentiles of the difference itself would not do (see `Least`).
    """
    ours, theirs = (
        [
            (float(piece), _gradient(quantity, answers, weights, index))
            for index, piece in enumerate(quantity.values.pieces(answers @ weights))
        ]
        for answers in (left, right)
    )
    table = [
        [Mean(mine - yours, spread(by_mine - by_yours, clusters)) for yours, by_yours in theirs]
        for mine, by_mine in ours
    ]
    low, high = (min(max(cell.interval()[end] for cell in row) for row in table) for end in (0, 1))
    below = max(min(cell.above(0.0) for cell in row) for row in table)
    above = min(max(cell.below(0.0) for cell in row) for row in table)
    least = [min(range(len(pieces)), key=lambda index: pieces[index][0]) for pieces in (ours, theirs)]
    return low, high, min(1.0, 2 * below, 2 * above), table[least[0]][least[1]].spread


def _gradient(quantity: Quantity, answers: Floats, weights: Floats, index: int) -> Floats:
    """What each item adds to the deviation of a piece: the change of the piece with each mean, times the item's own."""
    means = answers @ weights
    total = np.zeros(answers.shape[1])
    for row, mean in enumerate(means):
        step = np.zeros(len(means))
        step[row] = 1e-3
        up, down = (float(quantity.values.pieces(means + sign * step)[index]) for sign in (1, -1))
        total += (up - down) / 2e-3 * (answers[row] - mean) * weights
    return total


def _unseen(quantity: Quantity, value: float, n: int) -> tuple[Interval, float, float | None]:
    """The interval, p-value and p-value of equivalence of a difference that is the same in all n items.

    They are those of a share of items that n could all have missed, at the far end of the scale. On a scale without
    ends they show nothing.
    """
    bounds, margin = quantity.measure.bounds, quantity.measure.margin
    width = bounds[1] - bounds[0] if bounds is not None else math.inf

    def tail(distance: float) -> float:
        return float((1 - min(1.0, distance / width)) ** n) if distance > 0 else 1.0

    reach = abs(value) + quantity.measure.reach
    if bounds is not None:
        reach = width * (1 - ((1 - LEVEL) / 2) ** (1 / n))
    equivalent = tail(margin - abs(value)) if margin is not None else None
    return (value - reach, value + reach), min(1.0, 2 * tail(abs(value))), equivalent


def _farther(
    quantity: Quantity,
    left: Floats,
    right: Floats,
    weights: Floats,
    clusters: Labels | None,
    strata: Labels | None,
    values: tuple[float, float],
    difference: Interval,
) -> tuple[float, float, float]:
    """How much farther from the ideal the first is, with its interval."""
    value, other = values
    low, high = difference
    if quantity.measure.best_at_an_end:
        # The ideal is an end of the scale, so farther from it is simply lower.
        return other - value, -high, -low
    # |a| - |b| is the greatest over the signs of a of the least over the signs of b, of a piece that is a sum or a
    # difference of a and b; as with ICAT, its ends are made of theirs.
    sums = _mean((left + right)[0], weights, clusters, strata).interval()
    sum_low, sum_high = (end - 2 * quantity.ideal for end in sums)
    farther_low = max(min(low, sum_low), min(-sum_high, -high))
    farther_high = max(min(high, sum_high), min(-sum_low, -low))
    return abs(value - quantity.ideal) - abs(other - quantity.ideal), farther_low, farther_high
