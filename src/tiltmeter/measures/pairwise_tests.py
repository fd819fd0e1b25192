"""The paired tests of `contrasts` for all pairs of many models at once, on the items that all models answered.

Ranks need a test for every pair of models: 19,900 tests for 200 models. The influence of an item is a linear function
of its value, so one matrix product gives the variances of all differences. The p-values are equal to those of
`compute_contrast`.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import betainc, stdtr, stdtrit

from tiltmeter.measures.estimates import LEVEL
from tiltmeter.measures.factors import Codes, Factors, Labels
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.standard_errors import (
    Floats,
    compute_cluster_df,
    get_cluster_strata,
)

_PERCENT = 100.0
# Variances below this number are rounding errors and count as zero, as in `standard_errors`.
_ROUNDING = 1e-24


@dataclass(frozen=True, slots=True)
class SharedItems:
    """The strata, sides of strata and factors of the items that all models answered (see `compute_contrast`)."""

    labels: Labels | None = None
    sides: Labels | None = None
    factors: Factors | None = None


def compute_distance_p_values(quantity: Quantity, values: Floats, items: SharedItems) -> Floats:
    """Return a matrix with the uncorrected p-value of each pair of models for equal distances from the ideal.

    `values` has a row for each model and a column for each item: the contributions to a measure that is one mean. Two
    means are equally far from the ideal if they are equal, or if they are on opposite sides of the ideal at the same
    distance. Both hypotheses must be rejected, so p is the larger of the two p-values (intersection-union test).
    """
    equal = compute_difference_p_values(quantity, values, values, items)
    if quantity.measure.ideal_at_bound:
        return equal
    return np.maximum(equal, compute_difference_p_values(quantity, values, 2 * quantity.ideal - values, items))


def compute_difference_p_values(quantity: Quantity, left: Floats, right: Floats, items: SharedItems) -> Floats:
    """Return a matrix of two-sided p-values; element (i, j) compares the means of `left[i]` and `right[j]`."""
    count = left.shape[1]
    strata = items.labels if quantity.values.weigh is not None else None
    weights = np.full(count, 1 / count)
    if strata is not None:
        weights = quantity.values.compute_weights(strata, items.sides)
        if min(np.bincount(pd.factorize(strata)[0])) < 2:
            return np.ones((len(left), len(right)))  # no test is possible if a stratum has no variance
    factors = items.factors if items.factors is not None and items.factors.are_shared() else None
    influences = [_compute_influences(values, weights, strata) for values in (left, right)]
    gaps = (left @ weights)[:, None] - (right @ weights)[None, :]
    variance, df, effect = _compute_variances(influences[0], influences[1], factors, strata)
    error = np.sqrt(variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(error > 0, gaps / error, 0.0)
    tails = [stdtr(df, -t), stdtr(df, t)]
    if quantity.values.preference:
        tails = _apply_mcnemar(tails, left, right, gaps, df, effect, clustered=factors is not None)
    elif strata is None and factors is None:
        tails = _correct_skewness(tails, left, right, t, df)
    p_values = np.minimum(1.0, 2 * np.minimum(tails[0], tails[1]))
    # Differences without variance, such as those of equal rows, are not significant.
    return np.where(error > 0, p_values, 1.0)


def _compute_influences(values: Floats, weights: Floats, strata: Labels | None) -> Floats:
    """Compute the influence of each item (column) on the weighted mean of each model (row)."""
    if strata is None:
        return np.asarray((values - values.mean(axis=1, keepdims=True)) * weights)
    codes = pd.factorize(strata)[0]
    centred = values.astype(float, copy=True)
    for code in range(codes.max() + 1):
        inside = codes == code
        centred[:, inside] -= values[:, inside].mean(axis=1, keepdims=True)
    return centred * weights


def _compute_variances(
    left: Floats, right: Floats, factors: Factors | None, strata: Labels | None
) -> tuple[Floats, Floats, Floats]:
    """Return three matrices with a value for each difference: variance, degrees of freedom, and design effect.

    The rules are those of `compute_standard_error`.
    """
    independent, df = _compute_strata_variances(left, right, strata)
    if factors is None:
        return independent, df, np.ones_like(independent)
    total, spread = np.ones_like(independent), np.zeros_like(independent)
    for codes in factors.codes.values():
        if int(codes.max(initial=-1)) + 1 < left.shape[1]:
            effect, own_df = _compute_design_effects(left, right, codes, strata, independent)
            total += effect - 1
            spread += effect**2 / own_df
    return independent * total, np.clip(total**2 / spread, 1.0, df), total


def _compute_design_effects(
    left: Floats, right: Floats, codes: Codes, strata: Labels | None, independent: Floats
) -> tuple[Floats, Floats]:
    """Return the design effect (at least 1) and degrees of freedom of each difference, for one factor (`codes`)."""
    sizes = np.bincount(codes)
    if len(sizes) < 2:
        return np.ones_like(independent), np.ones_like(independent)
    indicator = np.zeros((len(codes), len(sizes)))
    indicator[np.arange(len(codes)), codes] = 1.0
    clustered, df = _compute_strata_variances(
        left @ indicator, right @ indicator, None if strata is None else get_cluster_strata(codes, strata)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.where(independent > 0, np.maximum(1.0, clustered / independent), 1.0)
    own_df = compute_cluster_df(sizes.astype(np.float64), effect)
    return effect, np.maximum(1.0, np.minimum(df, own_df))


def _compute_strata_variances(left: Floats, right: Floats, strata: Labels | None) -> tuple[Floats, Floats]:
    codes = np.zeros(left.shape[1], dtype=int) if strata is None else pd.factorize(strata)[0]
    total = np.zeros((len(left), len(right)))
    weighted = np.zeros_like(total)
    sizes = np.bincount(codes)
    for code, size in enumerate(sizes):
        if size < 2:
            continue
        inside = codes == code
        ours, theirs = (rows[:, inside] - rows[:, inside].mean(axis=1, keepdims=True) for rows in (left, right))
        squares = (ours**2).sum(axis=1)[:, None] + (theirs**2).sum(axis=1)[None, :] - 2 * ours @ theirs.T
        variance = size / (size - 1) * np.maximum(squares, 0.0)
        total += variance
        weighted += variance**2 / (size - 1)
    none = total <= max(_ROUNDING, 1e-13 * float(total.max(initial=0.0)))
    total[none] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        df = np.where(none, max(1.0, float(sizes.sum() - len(sizes))), total**2 / weighted)
    return total, df


def _apply_mcnemar(
    tails: list[Floats], left: Floats, right: Floats, gaps: Floats, df: Floats, effect: Floats, *, clustered: bool
) -> list[Floats]:
    """Return the larger of each p-value of the t-test (`tails`) and of McNemar's mid-P test, as in `PairedMean`."""
    count = left.shape[1]
    differing = _sum_differences(left, right) / _PERCENT
    signed = gaps * count / _PERCENT
    squares = ((left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None, :] - 2 * left @ right.T) / _PERCENT**2
    with np.errstate(divide="ignore", invalid="ignore"):
        size = differing**2 / squares
        if clustered:
            z = float(stdtrit(1e12, (1 + LEVEL) / 2))
            size = size / effect * (z / stdtrit(df, (1 + LEVEL) / 2)) ** 2
        share = np.clip((1 + signed / differing) / 2, 0.0, 1.0)
        differ = differing > 1e-9
        above, below = (np.where(differ, _compute_mid_p(part * size, size), 0.5) for part in (share, 1 - share))
    return [np.maximum(tails[0], above), np.maximum(tails[1], below)]


def _sum_differences(left: Floats, right: Floats) -> Floats:
    """Return the sum of absolute differences between each row of `left` and each row of `right`.

    The sum is computed for each step between adjacent values, which is fast because items have few different values.
    """
    levels = np.unique(np.concatenate([np.unique(left), np.unique(right)]))
    total = np.zeros((len(left), len(right)))
    for low, high in itertools.pairwise(levels):
        ours, theirs = (left > low).astype(float), (right > low).astype(float)
        apart = ours.sum(axis=1)[:, None] + theirs.sum(axis=1)[None, :] - 2 * ours @ theirs.T
        total += apart * (high - low)
    return total


def _compute_mid_p(count: Floats, size: Floats) -> Floats:
    """Return the mid-P values of binomial counts if the true share is 0.5 (`estimates.compute_mid_p` for arrays)."""
    at_least = np.where(count <= 0, 1.0, betainc(np.maximum(count, 1e-300), size - count + 1, 0.5))
    more = np.where(count >= size, 0.0, betainc(count + 1, np.maximum(size - count, 1e-300), 0.5))
    return np.asarray((at_least + more) / 2)


def _correct_skewness(tails: list[Floats], left: Floats, right: Floats, t: Floats, df: Floats) -> list[Floats]:
    """Return the larger of each t-test p-value without (`tails`) and with Hall's correction, as in `Mean`."""
    count = left.shape[1]
    ours, theirs = (rows - rows.mean(axis=1, keepdims=True) for rows in (left, right))
    squares = ((ours**2).sum(axis=1)[:, None] + (theirs**2).sum(axis=1)[None, :] - 2 * ours @ theirs.T) / count
    cubes = (ours**3).sum(axis=1)[:, None] - (theirs**3).sum(axis=1)[None, :]
    cubes = (cubes - 3 * ours**2 @ theirs.T + 3 * ours @ (theirs**2).T) / count
    with np.errstate(divide="ignore", invalid="ignore"):
        a = np.where(squares > 0, cubes / squares**1.5 / np.sqrt(count), 0.0)
    corrected = t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6
    return [np.maximum(tails[0], stdtr(df, -corrected)), np.maximum(tails[1], stdtr(df, corrected))]
