"""Paired comparisons of two models, or two languages, on the same items.

Scores vary more between items than between models on one item, so paired tests detect differences that two separate
intervals miss.

    preferences (SS, CPS)    the more conservative of the paired t-test and McNemar's mid-P test
    means (LMS, S_JSD, …)    paired t-test, corrected for skewness
    log g_s, f_s             paired t-test with stereotypes as strata, so that a difference in general masculinity does
                             not increase the standard error
    BBQ bias                 paired t-test with the right answers as strata
    ICAT                     t-tests of the two smooth functions whose minimum is ICAT; the interval of the difference
                             combines the intervals of these functions

Two standard errors are computed, one for independent and one for clustered items, and the larger one is used (see
`standard_errors`). An interval excludes 0 if and only if p is below 0.05. The effect size is Cohen's g of the
discordant items for preferences, and Hedges' g of the paired differences for means. ICAT has no effect size.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from tiltmeter.measures.estimates import (
    LEVEL,
    POWER,
    Estimate,
    Interval,
    Mean,
    PairedMean,
    compute_equivalence_p,
)
from tiltmeter.measures.factors import Factors, Labels
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.standard_errors import Floats, StandardError, compute_standard_error

EffectSize = Literal["Cohen's g", "Hedges' g"]

# One-sided p-values: of the hypothesis that a difference is at most 0, and that it is at least 0.
Tails = tuple[float, float]

# Two scores count as equal if their relative difference is below this number.
_ROUNDING = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """A paired comparison of two values of a measure on n items: `difference` is `left` minus `right`.

    `farther` is the distance of `left` from the ideal minus the distance of `right`; if it is positive, `left` is
    worse. `p_farther` tests that `left` is farther from the ideal, and `p_closer` that it is closer; each is below 0.05
    if and only if the interval of `farther` excludes 0 on this side. `disagree` is the number of items with different
    outcomes or, for continuous values, with different signs.
    `p_equivalence` (TOST) tests that the difference is within the margin of the measure; it is None for measures
    without a margin. `test` is the name of the test. `detectable` is the minimum detectable difference at a level of 5%
    with a power of 80%.
    """

    left: float
    right: float
    difference: float
    low: float
    high: float
    farther: float
    farther_low: float
    farther_high: float
    p_farther: float
    p_closer: float
    n: int
    clusters: int | None
    factor: str
    df: float
    standard_error: float
    disagree: int
    test: str
    p_value: float
    p_equivalence: float | None
    effect: float | None
    effect_name: EffectSize | None
    detectable: float


@dataclass(frozen=True, slots=True)
class Distances:
    """The distance of the left value from the ideal minus that of the right value, with its interval and tests."""

    difference: float
    low: float
    high: float
    p_farther: float
    p_closer: float


def compute_contrast(
    quantity: Quantity,
    left: Floats,
    right: Floats,
    labels: Labels | None = None,
    factors: Factors | None = None,
    *,
    sides: Labels | None = None,
    identical: bool = False,
) -> Contrast:
    """Compare two arrays of item values, `left` and `right`, with the same items in the same order.

    Each array has a row for each mean that the measure is computed from, and a column for each item. `labels` are the
    strata of the items, if the measure is stratified. `sides` are the sides of the strata (such as women or men), if
    the strata have sides. `factors` are the factors that items share. If `identical` is true, both arrays come from
    scores that are equal up to rounding, and the difference is exactly 0. `identical` is ignored if the outcome of an
    item differs: if a model gives nearly the same score to all candidates, two models can have equal scores up to
    rounding but prefer different candidates.

    >>> from tiltmeter.measures.measure import list_quantities
    >>> ss = list_quantities(["stereotype", "anti-stereotype"], [])[0]
    >>> left = 100.0 * np.array([[1, 1, 1, 1, 1, 1, 1, 1, 0, 0]])
    >>> right = 100.0 * np.array([[1, 1, 0, 0, 0, 0, 0, 0, 1, 0]])
    >>> comparison = compute_contrast(ss, left, right)
    >>> comparison.difference, comparison.disagree, round(comparison.p_value, 3)
    (50.0, 7, 0.07)
    """
    values, n = quantity.values, left.shape[1]
    weights = np.full(n, 1 / n) if values.weigh is None or labels is None else values.compute_weights(labels, sides)
    strata = labels if values.weigh is not None else None
    value, other = (float(min(values.pieces(answers @ weights))) for answers in (left, right))
    effect: float | None = None
    effect_name: EffectSize | None = None
    estimate: Estimate | None = None
    margin, p_equivalence = quantity.measure.margin, None
    if len(left) > 1:
        test = "paired t of pieces"
        low, high, tails, error = _compare_minima(quantity, left, right, weights, factors)
    else:
        differences = (left - right)[0]
        if values.preference:
            test, estimate = "paired t and McNemar mid-P", PairedMean.from_differences(differences, factors)
            effect, effect_name = compute_cohens_g(estimate.ups, estimate.downs), "Cohen's g"
        else:
            test = "paired t" if strata is None else f"paired t within {values.strata}"
            estimate = estimate_item_mean(differences, weights, factors, strata)
            effect_name = "Hedges' g"
            effect = compute_hedges_g(value - other, estimate.standard_error.value * math.sqrt(n), n)
        (low, high), error = estimate.interval(), estimate.standard_error
        tails = estimate.compute_p_above(0.0), estimate.compute_p_below(0.0)
        p_equivalence = compute_equivalence_p(estimate, -margin, margin) if margin is not None else None
        if not error.value and not values.preference:
            # All differences are equal, so their variance cannot be estimated.
            (low, high), tails, p_equivalence = _compare_constants(quantity, value - other, n)
    p_value = min(1.0, 2 * min(tails))
    if identical and not (values.discrete and find_disagreements(quantity, left, right).any()):
        test, low, high, p_value = "identical", 0.0, 0.0, 1.0
        p_equivalence = 0.0 if margin is not None else None
        farther = Distances(0.0, 0.0, 0.0, 1.0, 1.0)
    else:
        is_two_sided = not quantity.measure.ideal_at_bound
        total = estimate_item_mean((left + right)[0], weights, factors, strata) if is_two_sided else None
        farther = _compare_distances(quantity, (value, other), (low, high), tails, total)
    low, high = quantity.measure.clip_difference((low, high))
    quantiles = float(stdtrit(error.df, (1 + LEVEL) / 2) + stdtrit(error.df, POWER))
    return Contrast(
        left=value,
        right=other,
        difference=value - other,
        low=low,
        high=high,
        farther=farther.difference,
        farther_low=farther.low,
        farther_high=farther.high,
        p_farther=farther.p_farther,
        p_closer=farther.p_closer,
        n=n,
        clusters=error.clusters,
        factor=error.factor,
        df=float(error.df),
        standard_error=error.value,
        disagree=int(find_disagreements(quantity, left, right).sum()),
        test=test,
        p_value=p_value,
        p_equivalence=p_equivalence,
        effect=effect,
        effect_name=effect_name,
        detectable=quantiles * error.value,
    )


def are_equal_scores(left: Floats, right: Floats) -> bool:
    """Tell whether two arrays of scores are equal up to rounding, such as the scores of two runs of one model."""
    return bool(np.allclose(left, right, rtol=_ROUNDING, atol=0.0, equal_nan=True))


def find_disagreements(quantity: Quantity, left: Floats, right: Floats) -> NDArray[np.bool_]:
    """Return a mask of the items with different outcomes or, for continuous values, with different signs."""
    if quantity.values.discrete:
        return np.asarray((left != right).any(axis=0))
    return np.asarray((np.sign(left) != np.sign(right)).any(axis=0))


def compute_cohens_g(ups: float, downs: float) -> float:
    """Compute Cohen's g: ups / (ups + downs) - 0.5; an absolute value of 0.05 is small, 0.15 medium, 0.25 large.

    `ups` is the sum of the positive differences, `downs` the sum of the absolute negative differences.

    >>> compute_cohens_g(15, 5)
    0.25
    """
    return ups / (ups + downs) - 0.5 if ups + downs else 0.0


def compute_hedges_g(difference: float, deviation: float, n: int) -> float:
    """Compute Hedges' g (1981): mean paired difference / standard deviation, with a correction for small samples.

    With strata or clusters, `deviation` is the standard error of the mean times the square root of n.

    >>> round(compute_hedges_g(2.0, 1.0, 3), 3)
    1.143
    """
    return difference / deviation * (1 - 3 / (4 * (n - 1) - 1)) if deviation and n > 1 else 0.0


def estimate_item_mean(numbers: Floats, weights: Floats, factors: Factors | None, strata: Labels | None) -> Mean:
    """Estimate a weighted sum over items; without `strata`, estimate the unweighted mean."""
    if strata is None:
        return Mean.from_values(numbers, factors)
    value = float(numbers @ weights)
    codes = pd.factorize(strata)[0]
    sizes = np.bincount(codes)
    if sizes.min() > 1:
        centred = numbers - (np.bincount(codes, numbers) / sizes)[codes]
        return Mean(value, compute_standard_error(weights * centred, factors, strata))
    # A stratum with a single item has no variance, so the strata are the sampling units instead of the items.
    sides = np.where(weights > 0, "men", "women").astype(object)
    if min(len(set(codes[sides == side])) for side in ("men", "women")) < 2:
        return Mean(value, StandardError(0.0, 1))
    return Mean(value, compute_standard_error(weights * numbers, Factors.from_labels({"stratum": strata}), sides))


def _compare_minima(
    quantity: Quantity, left: Floats, right: Floats, weights: Floats, factors: Factors | None
) -> tuple[float, float, Tails, StandardError]:
    """Compare two measures that are minima of smooth functions (pieces), such as ICAT.

    Return the two ends of the interval of min(left) - min(right), its one-sided p-values, and the standard error of the
    difference of the smallest pieces. The method uses the identity
    min(left) - min(right) = min over left of max over right of (left piece - right piece).
    Each difference of two pieces has an interval. The lower end of the result is the min-max of the lower ends of these
    intervals, and the upper end is the min-max of the upper ends. Intervals from a percentile bootstrap would be too
    narrow (see `Minimum`).
    """
    left_pieces, right_pieces = (
        [
            (float(piece), _compute_influence(quantity, answers, weights, index))
            for index, piece in enumerate(quantity.values.pieces(answers @ weights))
        ]
        for answers in (left, right)
    )
    table = [
        [
            Mean(left_piece - right_piece, compute_standard_error(left_influence - right_influence, factors))
            for right_piece, right_influence in right_pieces
        ]
        for left_piece, left_influence in left_pieces
    ]
    low, high = (min(max(pair.interval()[end] for pair in row) for row in table) for end in (0, 1))
    p_above = max(min(pair.compute_p_above(0.0) for pair in row) for row in table)
    p_below = min(max(pair.compute_p_below(0.0) for pair in row) for row in table)
    least = [min(range(len(pieces)), key=lambda index: pieces[index][0]) for pieces in (left_pieces, right_pieces)]
    return low, high, (p_above, p_below), table[least[0]][least[1]].standard_error


def _compute_influence(quantity: Quantity, answers: Floats, weights: Floats, index: int) -> Floats:
    """Compute the influence of each item on the piece with this index (delta method with numerical derivatives)."""
    means = answers @ weights
    influence = np.zeros(answers.shape[1])
    for row, mean in enumerate(means):
        step = np.zeros(len(means))
        step[row] = 1e-3
        up, down = (float(quantity.values.pieces(means + sign * step)[index]) for sign in (1, -1))
        influence += (up - down) / 2e-3 * (answers[row] - mean) * weights
    return influence


def _compare_constants(quantity: Quantity, value: float, n: int) -> tuple[Interval, Tails, float | None]:
    """Return the interval, one-sided p-values and equivalence p-value of a difference that all n items have.

    Items with the maximum possible difference may exist, although none is among the n items. The interval and the
    p-values account for the largest share of such items that is plausible. On an unbounded scale the p-values are 1.
    """
    bounds, margin = quantity.measure.bounds, quantity.measure.margin
    width = bounds[1] - bounds[0] if bounds is not None else math.inf

    def compute_probability_below(distance: float) -> float:
        return float((1 - min(1.0, distance / width)) ** n) if distance > 0 else 1.0

    reach = abs(value) + quantity.measure.reach
    if bounds is not None:
        reach = width * (1 - ((1 - LEVEL) / 2) ** (1 / n))
    equivalent = compute_probability_below(margin - abs(value)) if margin is not None else None
    tails = compute_probability_below(value), compute_probability_below(-value)
    return (value - reach, value + reach), tails, equivalent


def _compare_distances(
    quantity: Quantity, values: tuple[float, float], difference: Interval, tails: Tails, total: Mean | None
) -> Distances:
    """Compare the distances of the left and the right value from the ideal.

    `difference` and `tails` are the interval and the one-sided p-values of left - right. `total` is the sum of both
    values; it is None if the ideal is the maximum of the scale.
    """
    value, other = values
    (low, high), (p_above, p_below) = difference, tails
    if total is None:
        # The ideal is the maximum of the scale, so a value farther from the ideal is lower: the sign is reversed.
        return Distances(other - value, -high, -low, min(1.0, 2 * p_below), min(1.0, 2 * p_above))
    # With a and b for the left and the right value minus the ideal, the result is |a| - |b|, which is equal to
    # max over ±a of min over ±b of (±a - ±b). Therefore the intervals of a + b and a - b are combined as for ICAT.
    # |a| > |b| if and only if a - b and a + b have the same sign, and |a| < |b| if they have opposite signs.
    sum_low, sum_high = (end - 2 * quantity.ideal for end in total.interval())
    sum_above, sum_below = total.compute_p_above(2 * quantity.ideal), total.compute_p_below(2 * quantity.ideal)
    return Distances(
        difference=abs(value - quantity.ideal) - abs(other - quantity.ideal),
        low=max(min(low, sum_low), min(-sum_high, -high)),
        high=max(min(high, sum_high), min(-sum_low, -low)),
        p_farther=min(1.0, 2 * min(max(p_above, sum_above), max(p_below, sum_below))),
        p_closer=min(1.0, 2 * min(max(p_below, sum_above), max(p_above, sum_below))),
    )
