"""Combinations of the means of several members (models, or languages) that answered the same items.

A combination is a weighted sum over members. For the difference of two groups of k and m members the weights are +1/k
and -1/m; for a slope they are the coefficients of the regression. There are two types of inference, with different
uncertainty:

    these members    The members are fixed and only the items are a sample. Each item has its own value of the
                     combination.
    members like     Members and items are both samples (crossed random effects). The variance between members and the
    these            variance between items are added. Both contain the noise of single answers, so this noise is
                     subtracted once.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tiltmeter.measures.estimates import Mean, compute_two_sided_p
from tiltmeter.measures.factors import Labels
from tiltmeter.measures.standard_errors import Floats, StandardError
from tiltmeter.measures.verdict_rule import ALPHA


@dataclass(frozen=True, slots=True)
class MemberVariance:
    """The variance of a weighted sum over members (models or languages) that is due to differences between members."""

    variance: float
    df: float


@dataclass(frozen=True, slots=True)
class MemberInference:
    """The interval and test of a weighted sum over members (models or languages), for other such members and items.

    The members and the items are both treated as random samples.
    """

    low: float
    high: float
    p_value: float
    p_holm: float = 1.0

    @property
    def significant(self) -> bool:
        """Whether the test is significant after the correction for multiple tests."""
        return self.p_holm < ALPHA


def compute_group_variance(left: Floats, right: Floats) -> MemberVariance:
    """Return the variance of the difference of two group means, from one value for each member (model or language).

    The degrees of freedom are Welch-Satterthwaite's.

    >>> between = compute_group_variance(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    >>> round(between.variance, 3), round(between.df, 2)
    (1.667, 2.94)
    """
    variances = [float(np.var(group, ddof=1)) / len(group) for group in (left, right)]
    total = sum(variances)
    if total <= 0:
        return MemberVariance(0.0, float(len(left) + len(right) - 2))
    terms = (variance**2 / (len(group) - 1) for variance, group in zip(variances, (left, right), strict=True))
    return MemberVariance(total, total**2 / sum(terms))


def compute_slope_variance(values: Floats, design: Floats, coefficients: Floats) -> MemberVariance:
    """Return the variance of a least-squares slope over members (models), from the residuals of the members' values."""
    fitted, *_ = np.linalg.lstsq(design, values, rcond=None)
    df = len(values) - int(np.linalg.matrix_rank(design))
    if df < 1:
        return MemberVariance(0.0, 0.0)
    residual = float(np.sum((values - design @ fitted) ** 2)) / df
    return MemberVariance(residual * float(np.sum(coefficients**2)), float(df))


def compute_answer_noise(
    answers: Floats,
    coefficients: Floats,
    groups: Labels,
    weights: Floats,
    strata: Labels | None = None,
    sizes: Floats | None = None,
) -> float:
    """Return the variance of a combination (weighted sum over members) that is due to the noise of single answers.

    `answers` has a row for each member and a column for each item. `coefficients` are the weights of the members in the
    combination, and `weights` are the weights of the items in the measure. The noise is estimated from residuals within
    each group of members and stratum of items, after the effects of members and of items are removed. If the `sizes` of
    members (models) are given, a slope by size is removed for each item too. Groups without residuals add no variance.
    """
    codes = np.zeros(answers.shape[1], dtype=int) if strata is None else pd.factorize(strata)[0]
    counts = np.bincount(codes).astype(float)
    if counts.min() < 2:
        return 0.0
    total = 0.0
    for group in dict.fromkeys(groups.tolist()):
        members = np.asarray(groups == group)
        design = np.ones((int(members.sum()), 1))
        if sizes is not None:
            design = np.column_stack([design, sizes[members]])
        freedom = len(design) - int(np.linalg.matrix_rank(design))
        if freedom < 1:
            continue
        residuals = answers[members] - design @ (np.linalg.pinv(design) @ answers[members])
        for code in range(len(counts)):
            inside = codes == code
            residuals[:, inside] -= residuals[:, inside].mean(axis=1, keepdims=True)
        noise = (residuals**2).sum(axis=0) / freedom / ((counts - 1) / counts)[codes]
        total += float(np.sum(coefficients[members] ** 2)) * float(np.sum(weights**2 * noise))
    return total


def combine_variances(between: MemberVariance, items: StandardError, noise: float) -> StandardError:
    """Return the standard error of a combination (weighted sum over members) if members and items are both samples.

    `noise` is the variance of single answers; it is in the variance between members and in that between items, so it is
    subtracted once. The result is not smaller than one of these two variances. The degrees of freedom are
    Satterthwaite's.
    """
    item_variance = items.value**2
    variance = max(between.variance + item_variance - noise, between.variance, item_variance)
    if variance <= 0:
        return StandardError(0.0, max(1.0, between.df), items.clusters, factor=items.factor)
    spread = between.variance**2 / max(between.df, 1e-9) + item_variance**2 / max(items.df, 1.0)
    df = variance**2 / spread if spread > 0 else items.df
    return StandardError(float(np.sqrt(variance)), float(max(1.0, df)), items.clusters, factor=items.factor)


def infer_over_members(value: float, error: StandardError) -> MemberInference:
    """Compute the interval and test of a combination (weighted sum over members) with this standard error."""
    mean = Mean(value, error)
    return MemberInference(*mean.interval(), compute_two_sided_p(mean, 0.0) if error.value else 1.0)
