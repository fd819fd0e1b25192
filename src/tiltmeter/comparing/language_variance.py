"""Shares of the variance of single answers that are due to items, languages, models and their combinations."""

from collections.abc import Iterator

from scipy.special import stdtrit

from tiltmeter.comparing.language_results import LanguageInference
from tiltmeter.comparing.language_validity import VarianceComponent
from tiltmeter.measures.answer_variance import AnswerMoments, list_item_components
from tiltmeter.measures.crossed_answers import CrossedAnswers
from tiltmeter.measures.estimates import LEVEL
from tiltmeter.measures.joint_test import SpreadEstimate, estimate_spread
from tiltmeter.measures.random_models import RandomModels
from tiltmeter.measures.standard_errors import Floats

LANGUAGE = "language"


def estimate_components(
    crossed: CrossedAnswers, moments: AnswerMoments, fitted: RandomModels | None, like: LanguageInference
) -> Iterator[VarianceComponent]:
    """Yield the variance components; those of languages and models need the mixed model of cell means (`fitted`).

    `like` is the inference on languages by this model.
    """
    of_items = list_item_components(moments)
    of_means = dict(_list_mean_components(fitted, like)) if fitted is not None else {}
    total = float(moments.squares.mean()) + sum(max(0.0, spread.value) for spread in of_means.values())
    if total <= 0:
        return
    residual = list(of_items)[-1]
    for name in [*list(of_items)[:-1], *of_means, residual]:
        if name in of_items:
            yield _build_item_component(crossed, name, of_items[name], moments.squares, total)
        else:
            yield _build_mean_component(name, of_means[name], total)


def _list_mean_components(fitted: RandomModels, like: LanguageInference) -> Iterator[tuple[str, SpreadEstimate]]:
    """Yield the variance of the language means without sampling error, and the variances of the random effects."""
    languages = estimate_spread([mean.value for mean in like.means], like.joint)
    if languages is not None:
        yield LANGUAGE, languages
    for name, variance in zip(fitted.structures, map(float, fitted.variances), strict=True):
        yield name, SpreadEstimate(variance, *fitted.estimate_variance_interval(name))


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


def _build_mean_component(name: str, spread: SpreadEstimate, total: float) -> VarianceComponent:
    rest = total - max(0.0, spread.value)
    return _clip(name, spread.value, total, *(end / (rest + end) for end in (spread.low, spread.high)))


def _clip(name: str, variance: float, total: float, low: float, high: float) -> VarianceComponent:
    kept = max(0.0, variance)
    return VarianceComponent(name=name, variance=kept, share=kept / total, low=low, high=high, truncated=variance < 0)
