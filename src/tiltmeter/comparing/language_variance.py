"""Shares of the variance of single answers that are due to items, languages, models and their combinations."""

from collections.abc import Iterator

import numpy as np
from scipy.special import stdtrit

from tiltmeter.comparing.language_validity import VarianceComponent
from tiltmeter.measures.answer_variance import AnswerMoments, list_item_components
from tiltmeter.measures.crossed_answers import CrossedAnswers
from tiltmeter.measures.estimates import LEVEL
from tiltmeter.measures.random_models import RandomModels
from tiltmeter.measures.standard_errors import Floats

LANGUAGE = "language"


def estimate_components(
    crossed: CrossedAnswers, moments: AnswerMoments, fitted: RandomModels | None
) -> Iterator[VarianceComponent]:
    """Yield the variance components; those of languages and models need the mixed model of cell means (`fitted`)."""
    of_items = list_item_components(moments)
    of_means = dict(_list_mean_components(fitted)) if fitted is not None else {}
    total = float(moments.squares.mean()) + sum(max(0.0, variance) for variance in of_means.values())
    if total <= 0:
        return
    residual = list(of_items)[-1]
    for name in [*list(of_items)[:-1], *of_means, residual]:
        if name in of_items:
            yield _build_item_component(crossed, name, of_items[name], moments.squares, total)
        else:
            assert fitted is not None
            yield _build_mean_component(fitted, name, of_means[name], total)


def _list_mean_components(fitted: RandomModels) -> Iterator[tuple[str, float]]:
    """Yield the variance of the language means without sampling error, and the variances of the random effects."""
    count = len(fitted.crossed.language_names)
    estimates = fitted.estimates[:count]
    covariance = np.linalg.inv(fitted.design.T @ np.linalg.solve(fitted.covariance, fitted.design))[:count, :count]
    error = (float(np.trace(covariance)) - float(covariance.sum()) / count) / (count - 1)
    yield LANGUAGE, float(np.var(estimates, ddof=1)) - error
    yield from zip(fitted.structures, map(float, fitted.variances), strict=True)


def _build_item_component(
    crossed: CrossedAnswers, name: str, values: Floats, squares: Floats, total: float
) -> VarianceComponent:
    """Return a component with the interval of its share by the delta method; the other variances count as known."""
    variance = float(values.mean())
    share = variance / total
    error = crossed.estimate_item_mean((values - share * squares) / total).standard_error
    reach = float(stdtrit(error.df, (1 + LEVEL) / 2)) * error.value
    low, high = (min(1.0, max(0.0, share + side * reach)) for side in (-1, 1))
    return _clip(name, variance, total, low, high)


def _build_mean_component(fitted: RandomModels, name: str, variance: float, total: float) -> VarianceComponent:
    if name == LANGUAGE:  # the languages are fixed, so their variance has no interval
        return _clip(name, variance, total, None, None)
    low, high = fitted.estimate_variance_interval(name)
    return _clip(name, variance, total, *(min(1.0, end / (total + end - variance)) for end in (low, high)))


def _clip(name: str, variance: float, total: float, low: float | None, high: float | None) -> VarianceComponent:
    kept = max(0.0, variance)
    return VarianceComponent(name=name, variance=kept, share=kept / total, low=low, high=high, truncated=variance < 0)
