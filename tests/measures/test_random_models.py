"""The mixed model of cell means and the variance components of answers: agreement with lme4, and edge cases."""

import numpy as np
import pytest

from tiltmeter.measures.answer_variance import compute_answer_moments, list_item_components
from tiltmeter.measures.crossed_answers import CrossedAnswers
from tiltmeter.measures.random_models import MODEL, MODEL_BY_LANGUAGE, RandomModels, fit_random_models

# lme4 1.1-31 on `made(5, 0)` and `made(3, 3)`, with value ~ 0 + language + (1 | item) + (1 | item:language) +
# (1 | item:model) + (1 | model) + (1 | model:language).
BALANCED = {
    "item": 0.837804,
    "item × language": 0.601520,
    "item × model": 0.318364,
    "residual": 0.957168,
    MODEL: 0.367176,
    MODEL_BY_LANGUAGE: 0.240975,
    "difference": -0.907150,
    "error": 0.368833,
}
UNBALANCED = {
    "item": 0.849527,
    "item × language": 0.584907,
    "item × model": 0.399392,
    "residual": 1.125836,
    MODEL: 0.174464,
    MODEL_BY_LANGUAGE: 0.242647,
    "difference": -0.522862,
    "error": 0.377414,
}


def made(several: int, single: int, items: int = 40) -> CrossedAnswers:
    """Draw answers of models in three languages: `several` in all of them, `single` more in each."""
    rng = np.random.default_rng(38)
    cells = [(f"s{number}", language) for language in "abc" for number in range(several)]
    cells += [(f"{language}{number}", language) for language in "abc" for number in range(single)]
    cells.sort(key=lambda cell: cell[1])
    models = sorted({model for model, _ in cells})
    of_item, of_language = rng.normal(size=items), rng.normal(size=(3, items))
    by_model, effects = rng.normal(size=(len(models), items)), rng.normal(size=len(models))
    rows = []
    for model, language in cells:
        own, place = models.index(model), "abc".index(language)
        mean = place * 0.5 + effects[own] + 0.6 * rng.normal()
        rows.append(mean + of_item + 0.8 * of_language[place] + 0.7 * by_model[own] + rng.normal(size=items))
    answers = np.round(np.array(rows), 2)
    return CrossedAnswers.from_answers(answers, [model for model, _ in cells], [language for _, language in cells])


def fit(crossed: CrossedAnswers) -> RandomModels:
    names = crossed.language_names
    return fit_random_models(crossed, np.array([crossed.languages == name for name in names], dtype=float).T)


def estimate(crossed: CrossedAnswers) -> dict[str, float]:
    components = list_item_components(compute_answer_moments(crossed))
    fitted = fit(crossed)
    difference = fitted.estimate_contrast(np.array([1.0, -1.0, 0.0]))
    return {
        **{name: float(values.mean()) for name, values in components.items()},
        **dict(zip(fitted.structures, fitted.variances, strict=True)),
        "difference": difference.value,
        "error": difference.standard_error.value,
    }


def test_balanced_data_have_the_components_of_lme4() -> None:
    found = estimate(made(5, 0))
    for name, expected in BALANCED.items():
        # lme4 averages the standard error over languages.
        assert found[name] == pytest.approx(expected, rel=0.03 if name == "error" else 1e-4), name


def test_unbalanced_data_have_nearly_the_components_of_lme4() -> None:
    found = estimate(made(3, 3))
    for name, expected in UNBALANCED.items():
        # Moments of pairs weight answers differently from likelihoods if models have different languages, and the error
        # of lme4 is not corrected for estimated variances.
        tolerance = 0.2 if name == "item × model" else 0.12 if name == "error" else 0.06
        assert found[name] == pytest.approx(expected, rel=tolerance), name


def test_intervals_of_variances_contain_the_estimates() -> None:
    fitted = fit(made(3, 3))
    for name, variance in zip(fitted.structures, fitted.variances, strict=True):
        low, high = fitted.estimate_variance_interval(name)
        assert 0 <= low <= variance <= high


def test_models_of_one_language_have_one_variance() -> None:
    assert list(fit(made(0, 4)).structures) == [MODEL]


def test_equal_models_have_no_variance_and_an_interval() -> None:
    rng = np.random.default_rng(3)
    answers = rng.normal(size=60) + 0.1 * rng.normal(size=(6, 60))
    answers -= answers.mean(axis=1, keepdims=True)
    crossed = CrossedAnswers.from_answers(answers, list("xyzuvw"), ["a", "a", "a", "b", "b", "b"])
    fitted = fit(crossed)
    assert fitted.variances.tolist() == [0.0]
    low, high = fitted.estimate_variance_interval(MODEL)
    assert low == 0.0
    assert 0 < high < 0.1


def test_a_model_effect_widens_intervals() -> None:
    crossed = made(3, 3)
    fitted = fit(crossed)
    unit = np.array([1.0, 0.0, 0.0])
    items = crossed.estimate_combination(unit @ fitted.cell_weights).standard_error
    both = fitted.estimate_contrast(unit).standard_error
    assert both.value > items.value
    assert both.df < items.df


def test_components_without_pairs_are_absent() -> None:
    one_each = CrossedAnswers.from_answers(np.random.default_rng(1).normal(size=(2, 30)), ["x", "y"], ["a", "b"])
    assert list(list_item_components(compute_answer_moments(one_each))) == ["item", "residual"]
    same = CrossedAnswers.from_answers(one_each.answers, ["x", "x"], ["a", "b"])
    assert list(list_item_components(compute_answer_moments(same))) == ["residual"]
