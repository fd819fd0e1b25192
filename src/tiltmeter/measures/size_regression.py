"""Slopes of a measure by the size of models, within families of models."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tiltmeter.measures.contrasts import estimate_item_mean
from tiltmeter.measures.crossed_effects import (
    MemberInference,
    combine_variances,
    compute_answer_noise,
    compute_slope_variance,
    infer_over_members,
)
from tiltmeter.measures.estimates import Mean, PairedMean, compute_two_sided_p
from tiltmeter.measures.standard_errors import Floats, Labels

# Degrees of freedom of the regression over models, below which there is no interval over models.
FEWEST_DF = 3


@dataclass(frozen=True, slots=True)
class Slope:
    """The slope of a measure per tenfold size: `low` to `high` is over items, for these models.

    `over_members` is over models and items; None with too few models.
    """

    value: float
    low: float
    high: float
    p_value: float
    n: int
    clusters: int | None
    over_members: MemberInference | None


def estimate_slope(
    answers: Floats,
    sizes: Floats,
    families: Labels,
    weights: Floats,
    strata: Labels | None = None,
    clusters: Labels | None = None,
    *,
    preference: bool = False,
) -> Slope | None:
    """The slope within families of models of these sizes (logarithms to base 10); None if all items have the same.

    `answers` has a row for each model and a column for each item; `weights` are those of the items in the measure.
    Each item has a slope of its own, and that of the measure is their mean. `preference`: answers are from 0 to 100, so
    that the slope of two models has the test of their difference.
    """
    coefficients = compute_slope_coefficients(sizes, families)
    slopes = coefficients @ answers
    mean: Mean | PairedMean = estimate_item_mean(slopes, weights, clusters, strata)
    if preference:
        mean = PairedMean.from_differences(slopes, clusters, maximum=100.0 * float(coefficients.clip(0).sum()))
    if not mean.standard_error.value:
        return None
    between = compute_slope_variance(answers @ weights, build_slope_design(sizes, families), coefficients)
    over = None
    if between.df >= FEWEST_DF:
        noise = compute_answer_noise(answers, coefficients, families, weights, strata, sizes)
        over = infer_over_members(mean.value, combine_variances(between, mean.standard_error, noise))
    low, high = mean.interval()
    return Slope(
        mean.value, low, high, compute_two_sided_p(mean, 0.0), answers.shape[1], mean.standard_error.clusters, over
    )


def compute_slope_coefficients(sizes: Floats, families: Labels) -> Floats:
    """What each model's value is multiplied by in the least-squares slope that families have in common.

    Families have intercepts of their own (fixed effects), so that only sizes within a family count. With one family it
    is the slope of simple regression.

    >>> one_family = np.array(["a", "a", "a"], dtype=object)
    >>> float(compute_slope_coefficients(np.array([1.0, 2.0, 3.0]), one_family) @ np.array([5.0, 7.0, 9.0]))
    2.0
    """
    codes = pd.factorize(families)[0]
    centred = sizes - (np.bincount(codes, sizes) / np.bincount(codes))[codes]
    return np.asarray(centred / np.sum(centred**2))


def build_slope_design(sizes: Floats, families: Labels) -> Floats:
    """The design matrix of that regression: an indicator for each family, and the sizes."""
    codes = pd.factorize(families)[0]
    return np.column_stack([np.eye(int(codes.max()) + 1)[codes], sizes])
