"""Correlations of item effects between languages, and the screening of items for differential functioning."""

import numpy as np
import pytest

from tiltmeter.measures.answer_variance import compute_answer_moments
from tiltmeter.measures.crossed_answers import CrossedAnswers
from tiltmeter.measures.differential_items import screen_items
from tiltmeter.measures.item_effect_correlations import EffectCorrelation, correlate_item_effects


def draw(own: float, *, models: int = 6, items: int = 1_000, seed: int = 2, planted: int = 0) -> CrossedAnswers:
    """Draw answers with item effects of variance 1 in all languages and `own` squared in each."""
    rng = np.random.default_rng(seed)
    shared, of_language = rng.normal(size=items), own * rng.normal(size=(2, items))
    of_language[0, :planted] += 8.0
    rows = [shared + of_language[place] + 1.5 * rng.normal(size=items) for place in (0, 1) for _ in range(models)]
    names = [f"{language}{number}" for language in "ab" for number in range(models)]
    return CrossedAnswers.from_answers(np.array(rows), names, ["a"] * models + ["b"] * models)


def correlate(crossed: CrossedAnswers) -> EffectCorrelation:
    (found,) = correlate_item_effects(crossed, compute_answer_moments(crossed))
    return found


@pytest.mark.parametrize("own", [0.0, 0.5, 1.0])
def test_correlations_are_corrected_for_noise(own: float) -> None:
    found, true = correlate(draw(own)), 1 / (1 + own**2)
    assert found.correlation is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low <= true <= found.high
    assert found.high - found.low < 0.3
    assert found.pairs == 36


def test_a_model_is_not_correlated_with_itself() -> None:
    """What a model prefers in both languages does not make the languages similar."""
    rng = np.random.default_rng(5)
    own = 3.0 * rng.normal(size=(6, 1_000))
    of_language = rng.normal(size=(2, 1_000))
    rows = np.array([own[model] + of_language[place] for place in (0, 1) for model in range(6)])
    names = [f"m{model}" for model in range(6)]
    found = correlate(CrossedAnswers.from_answers(rows, names * 2, ["a"] * 6 + ["b"] * 6))
    assert found.pairs == 30
    assert found.correlation is None or found.low is None or found.low <= 0


def test_unreliable_item_effects_have_no_correlation() -> None:
    rng = np.random.default_rng(1)
    crossed = CrossedAnswers.from_answers(rng.normal(size=(4, 50)), list("wxyz"), ["a", "a", "b", "b"])
    assert correlate(crossed).correlation is None
    single = CrossedAnswers.from_answers(rng.normal(size=(2, 50)), ["x", "y"], ["a", "b"])
    assert correlate(single).correlation is None


def test_planted_items_are_found() -> None:
    tests = screen_items(draw(0.0, planted=10))
    assert tests is not None
    flagged = np.flatnonzero(tests.p_adjusted < 0.05)
    assert set(range(10)) <= set(flagged.tolist())
    assert len(flagged) <= 13
    assert (tests.deviations[0, :10] > 2).all()


def test_without_differences_hardly_any_item_is_flagged() -> None:
    tests = screen_items(draw(0.0))
    assert tests is not None
    assert (tests.p_adjusted < 0.05).sum() <= 1
    assert (tests.p_values < 0.05).mean() < 0.08


def test_screening_needs_two_models_in_two_languages() -> None:
    crossed = CrossedAnswers.from_answers(np.zeros((3, 5)), list("xyz"), ["a", "a", "b"])
    assert screen_items(crossed) is None
