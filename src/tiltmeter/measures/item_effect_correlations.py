"""Correlations of item effects between languages, corrected for unreliability.

An item effect is the part of an answer that the models of a language share. Its variance is the mean product of the
answers of two different models of the language, and its covariance between languages is that of two different models of
two languages. Noise of single answers and preferences of single models therefore do not enter the correlation.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import stdtrit

from tiltmeter.measures.answer_variance import AnswerMoments
from tiltmeter.measures.crossed_answers import CrossedAnswers
from tiltmeter.measures.estimates import LEVEL
from tiltmeter.measures.standard_errors import Floats

# Variances of item effects below this multiple of their standard error are too uncertain for a correlation.
_LEAST_Z = 2.0


@dataclass(frozen=True, slots=True)
class EffectCorrelation:
    """The correlation of the item effects of two languages, with its interval, clipped to -1 and 1.

    The three numbers are None if the item effects of a language have no reliable variance. `pairs` is the number of
    pairs of different models.
    """

    first: str
    second: str
    correlation: float | None
    low: float | None
    high: float | None
    pairs: int


def correlate_item_effects(crossed: CrossedAnswers, moments: AnswerMoments) -> list[EffectCorrelation]:
    """Return the correlation of item effects for each pair of languages; each language needs two models."""
    found = []
    for one, two in combinations(crossed.language_names, 2):
        parts = [moments.between.get(key) for key in ((one, two), (one, one), (two, two))]
        pairs = moments.pairs.get((one, two), 0)
        known = [part for part in parts if part is not None]
        numbers = _estimate_correlation(crossed, *known) if len(known) == len(parts) else None
        correlation, low, high = numbers or (None, None, None)
        found.append(EffectCorrelation(one, two, correlation, low, high, pairs))
    return found


def _estimate_correlation(
    crossed: CrossedAnswers, product: Floats, first: Floats, second: Floats
) -> tuple[float, float, float] | None:
    """Return the ratio of moments and its interval by the delta method; None if item effects are not reliable."""
    covariance, *variances = (float(values.mean()) for values in (product, first, second))
    for values, variance in zip((first, second), variances, strict=True):
        if variance < _LEAST_Z * crossed.estimate_item_mean(values).standard_error.value:
            return None
    scale = float(np.sqrt(variances[0] * variances[1]))
    correlation = covariance / scale
    influence = product / scale - correlation / 2 * (first / variances[0] + second / variances[1])
    error = crossed.estimate_item_mean(influence).standard_error
    reach = float(stdtrit(error.df, (1 + LEVEL) / 2)) * error.value
    low, high = (float(np.clip(correlation + side * reach, -1.0, 1.0)) for side in (-1, 1))
    return float(np.clip(correlation, -1.0, 1.0)), low, high
