"""Slopes of a measure by model size (logarithm of the number of parameters), within model families."""

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
from tiltmeter.measures.factors import Factors, Labels
from tiltmeter.measures.standard_errors import Floats

# An interval for models like these needs a regression over models with at least this number of degrees of freedom.
FEWEST_DF = 3


@dataclass(frozen=True, slots=True)
class Slope:
    """The slope of a measure: its change if the size of the model is ten times larger.

    `low` and `high` are the ends of the interval for these models. `over_members` is the inference for models like
    these (the models are a sample too); it is None if there are too few models.
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
    factors: Factors | None = None,
    *,
    preference: bool = False,
) -> Slope | None:
    """Estimate the slope of a measure by model size (log10) within families; None if the slopes of items do not vary.

    `answers` has a row for each model and a column for each item. `weights` are the weights of the items in the
    measure. The slope of the measure is the weighted mean of the slopes of the items. If `preference` is true, answers
    are preferences from 0 to 100, and the slope of two models is tested like the difference of two models.
    """
    coefficients = compute_slope_coefficients(sizes, families)
    slopes = coefficients @ answers
    mean: Mean | PairedMean = estimate_item_mean(slopes, weights, factors, strata)
    if preference:
        mean = PairedMean.from_differences(slopes, factors, maximum=100.0 * float(coefficients.clip(0).sum()))
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
    """Return the coefficient of each model's value in the least-squares slope that all model families share.

    Each family has its own intercept (fixed effects), so only differences of size within a family count. With one
    family, the slope is that of a simple regression.

    >>> one_family = np.array(["a", "a", "a"], dtype=object)
    >>> float(compute_slope_coefficients(np.array([1.0, 2.0, 3.0]), one_family) @ np.array([5.0, 7.0, 9.0]))
    2.0
    """
    codes = pd.factorize(families)[0]
    centred = sizes - (np.bincount(codes, sizes) / np.bincount(codes))[codes]
    return np.asarray(centred / np.sum(centred**2))


def build_slope_design(sizes: Floats, families: Labels) -> Floats:
    """Return the design matrix of the regression by size: an indicator column for each family, and the sizes."""
    codes = pd.factorize(families)[0]
    return np.column_stack([np.eye(int(codes.max()) + 1)[codes], sizes])
