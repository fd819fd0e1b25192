"""Language means, differences and joint tests, for these models (fixed) and for models like these (random)."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from tiltmeter.comparing.language_results import (
    LIKE,
    SAME,
    THESE,
    ContrastEstimate,
    Interaction,
    LanguageDifference,
    LanguageInference,
    LanguageMean,
    Scope,
)
from tiltmeter.measures.crossed_answers import CrossedAnswers
from tiltmeter.measures.estimates import Mean, compute_two_sided_p
from tiltmeter.measures.joint_test import build_centring_contrasts, compute_joint_test
from tiltmeter.measures.measure import Measure
from tiltmeter.measures.multiple_testing import adjust_holm
from tiltmeter.measures.random_models import RandomModels, fit_random_models
from tiltmeter.measures.sampling_covariance import estimate_sampling_covariance
from tiltmeter.measures.standard_errors import Floats

# Minimum number of models in each language, and in total, for results on models like these (the scope LIKE). The
# reasons are in docs/evidence/languages.md.
FEWEST_OF_LANGUAGE = 2
FEWEST_IN_TOTAL = 5

Estimator = Callable[[Floats], Mean]


def infer_these_models(crossed: CrossedAnswers, measure: Measure, scope: Scope = THESE) -> LanguageInference:
    """Compare languages by the means of their models, if the models are fixed and the items are a sample."""
    averages = crossed.average_languages()

    def estimate(contrast: Floats) -> Mean:
        return crossed.estimate_combination(contrast @ averages)

    covariance = averages @ estimate_sampling_covariance(crossed) @ averages.T
    return infer_languages(crossed, measure, scope, estimate, covariance)


def infer_same_models(crossed: CrossedAnswers, measure: Measure) -> LanguageInference | None:
    """Compare languages by the models that were measured in all languages; None if these are all models."""
    complete = crossed.list_complete_models()
    if len(complete) == len(crossed.model_names):
        return None
    if not complete:
        return LanguageInference(scope=SAME, models=(), reason="No model was measured in all languages.")
    return infer_these_models(crossed.where(np.flatnonzero(np.isin(crossed.models, complete))), measure, SAME)


def fit_languages(crossed: CrossedAnswers) -> RandomModels | None:
    """Fit a mixed model of languages in which models are a random sample, too; return None if there are too few."""
    return None if explain_too_few_models(crossed) else fit_random_models(crossed, build_language_design(crossed))


def infer_models_like_these(
    crossed: CrossedAnswers, fitted: RandomModels | None, measure: Measure
) -> LanguageInference:
    """Compare languages for models like these; `fitted` is the result of `fit_languages`."""
    if fitted is None:
        reason = explain_too_few_models(crossed)
        return LanguageInference(scope=LIKE, models=tuple(crossed.model_names), reason=reason)
    return infer_from_fit(fitted, measure)


def infer_from_fit(fitted: RandomModels, measure: Measure, extra: Floats | None = None) -> LanguageInference:
    """Compare languages by a fitted mixed model whose first fixed effects are the language means.

    `extra` are the values of the other fixed effects at which the languages are compared.
    """
    crossed = fitted.crossed
    count = len(crossed.language_names)
    others = fitted.design.shape[1] - count
    rest = np.zeros(others) if extra is None else extra

    def estimate(contrast: Floats) -> Mean:
        return fitted.estimate_contrast(np.concatenate([contrast, contrast.sum() * rest]))

    weights = fitted.cell_weights
    covariance = (weights @ fitted.covariance @ weights.T)[:count, :count]
    deviations = tuple(
        (name, float(np.sqrt(variance))) for name, variance in zip(fitted.structures, fitted.variances, strict=True)
    )
    return infer_languages(crossed, measure, LIKE, estimate, covariance, deviations)


def infer_languages(
    crossed: CrossedAnswers,
    measure: Measure,
    scope: Scope,
    estimate: Estimator,
    covariance: Floats,
    deviations: tuple[tuple[str, float], ...] = (),
) -> LanguageInference:
    """Return the inference for all languages; `estimate` estimates one linear combination of language means."""
    names = crossed.language_names
    units = np.eye(len(names))
    pairs = list(combinations(range(len(names)), 2))
    differences = build_estimates([estimate(units[one] - units[two]) for one, two in pairs], measure)
    return LanguageInference(
        scope=scope,
        models=tuple(crossed.model_names),
        means=tuple(build_language_means(crossed, [estimate(unit) for unit in units], measure)),
        differences=tuple(
            LanguageDifference(left=names[one], right=names[two], estimate=difference)
            for (one, two), difference in zip(pairs, differences, strict=True)
        ),
        joint=compute_joint_test(build_centring_contrasts(len(names)), covariance, estimate),
        deviations=deviations,
    )


def compute_interaction(crossed: CrossedAnswers) -> Interaction | None:
    """Test whether the differences of languages differ between the models that were measured in all languages.

    Return None for fewer than two models.
    """
    complete = crossed.list_complete_models()
    if len(complete) < 2:
        return None
    part = crossed.where(np.flatnonzero(np.isin(crossed.models, complete)))
    of_models = np.array([part.models == name for name in complete], dtype=np.float64)
    of_languages = np.array([part.languages == name for name in part.language_names], dtype=np.float64)
    centred_models = build_centring_contrasts(len(complete)) @ of_models
    centred_languages = build_centring_contrasts(len(of_languages)) @ of_languages
    contrasts = np.array([model * language for model in centred_models for language in centred_languages])
    joint = compute_joint_test(contrasts, estimate_sampling_covariance(part), part.estimate_combination)
    return None if joint is None else Interaction(models=tuple(complete), joint=joint)


def explain_too_few_models(crossed: CrossedAnswers) -> str:
    """Return why models cannot be treated as a sample; empty if they can."""
    counts = {name: int((crossed.languages == name).sum()) for name in crossed.language_names}
    few = [name for name, count in counts.items() if count < FEWEST_OF_LANGUAGE]
    total = len(crossed.model_names)
    if total < FEWEST_IN_TOTAL:
        return f"Results on models like these need at least {FEWEST_IN_TOTAL} models; there are {total}."
    if few:
        return (
            f"Results on models like these need at least {FEWEST_OF_LANGUAGE} models in each language; fewer are in "
            f"{', '.join(few)}."
        )
    return ""


def build_language_design(crossed: CrossedAnswers) -> Floats:
    """Return a design matrix with an indicator column for each language."""
    return np.array([crossed.languages == name for name in crossed.language_names], dtype=np.float64).T


def build_language_means(crossed: CrossedAnswers, estimates: Sequence[Mean], measure: Measure) -> list[LanguageMean]:
    """Return the means of the languages with intervals within the bounds of the measure."""
    means = []
    for name, mean in zip(crossed.language_names, estimates, strict=True):
        low, high = measure.clip(mean.interval())
        error = mean.standard_error
        count = int((crossed.languages == name).sum())
        means.append(
            LanguageMean(
                language=name,
                value=mean.value,
                low=low,
                high=high,
                standard_error=error.value,
                df=float(error.df),
                models=count,
            )
        )
    return means


def build_estimates(means: Sequence[Mean], measure: Measure | None) -> list[ContrastEstimate]:
    """Return the estimates of contrasts, corrected together by Holm's method; `measure` clips their intervals."""
    p_values = [compute_two_sided_p(mean, 0.0) if mean.standard_error.value else 1.0 for mean in means]
    estimates = []
    for mean, p_value, p_holm in zip(means, p_values, adjust_holm(p_values), strict=True):
        low, high = mean.interval() if measure is None else measure.clip_difference(mean.interval())
        error = mean.standard_error
        estimates.append(
            ContrastEstimate(
                value=mean.value,
                low=low,
                high=high,
                standard_error=error.value,
                df=float(error.df),
                p_value=p_value,
                p_holm=p_holm,
                tests=len(means),
            )
        )
    return estimates
