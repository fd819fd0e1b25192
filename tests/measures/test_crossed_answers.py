"""Linear combinations of cell means, their covariance, and joint tests."""

import numpy as np
import pytest
from scipy import stats

from tiltmeter.measures.crossed_answers import CrossedAnswers
from tiltmeter.measures.factors import Factors
from tiltmeter.measures.joint_test import build_centring_contrasts, compute_joint_test
from tiltmeter.measures.sampling_covariance import estimate_sampling_covariance
from tiltmeter.measures.standard_errors import compute_standard_error


def crossed(models: int = 4, items: int = 200, *, targets: int = 0, seed: int = 1) -> CrossedAnswers:
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=items)
    of_language = rng.normal(size=(2, items))
    rows = [shared + of_language[place] + rng.normal(size=items) for place in (0, 1) for _ in range(models)]
    labels = {"target": (np.arange(items) % targets).astype(object)} if targets else {}
    factors = {name: Factors.from_labels(labels) for name in "ab"} if labels else None
    names = [f"m{number}" for number in range(models)]
    return CrossedAnswers.from_answers(np.array(rows), names * 2, ["a"] * models + ["b"] * models, factors)


def test_a_difference_of_languages_is_a_paired_t_test_over_items() -> None:
    panel = crossed()
    averages = panel.average_languages()
    found = panel.estimate_combination(averages[0] - averages[1])
    left, right = (panel.answers[panel.languages == name].mean(axis=0) for name in "ab")
    expected = stats.ttest_rel(left, right)
    assert found.value == pytest.approx(float((left - right).mean()))
    assert 2 * found.compute_p_above(0.0) == pytest.approx(expected.pvalue) or 2 * found.compute_p_below(
        0.0
    ) == pytest.approx(expected.pvalue)


def test_with_equal_labels_in_all_languages_the_error_is_that_of_other_measures() -> None:
    panel = crossed(targets=10)
    coefficients = panel.average_languages()[0] - panel.average_languages()[1]
    numbers = coefficients @ panel.answers
    expected = compute_standard_error((numbers - numbers.mean()) / 200, panel.factors["a"])
    found = panel.estimate_combination(coefficients).standard_error
    assert (found.value, found.df) == pytest.approx((expected.value, expected.df))
    assert (found.factor, found.clusters) == ("target", 10)


def test_each_language_has_the_words_of_its_part() -> None:
    """Effects of words add variance in the language whose words they are, not in the other language."""
    rng = np.random.default_rng(4)
    labels = [rng.integers(12, size=600).astype(object) for _ in "ab"]
    answers = np.array([rng.normal(size=12)[labels[place].astype(int)] for place in (0, 1)])
    answers += 0.1 * rng.normal(size=answers.shape)
    own, swapped = (
        CrossedAnswers.from_answers(
            answers,
            ["m", "m"],
            ["a", "b"],
            {n: Factors.from_labels({"w": one}) for n, one in zip("ab", order, strict=True)},
        )
        for order in (labels, labels[::-1])
    )
    alone = own.estimate_combination(np.array([1.0, 0.0])).standard_error.value
    both = own.estimate_combination(np.array([1.0, -1.0])).standard_error.value
    assert both > alone > 3 * swapped.estimate_combination(np.array([1.0, 0.0])).standard_error.value


def test_the_sampling_covariance_has_the_shared_items() -> None:
    panel = crossed(models=6, items=4_000)
    covariance = 4_000 * estimate_sampling_covariance(panel)
    # Variances of 1 for item, item and language, and noise.
    assert np.diag(covariance) == pytest.approx(np.full(12, 3.0), abs=0.2)
    assert covariance[0, 1:6] == pytest.approx(np.full(5, 2.0), abs=0.2)
    assert covariance[0, 7:] == pytest.approx(np.full(5, 1.0), abs=0.2)


def test_a_sampling_covariance_has_no_negative_eigenvalues() -> None:
    covariance = estimate_sampling_covariance(crossed(models=3, items=30, targets=6))
    assert np.linalg.eigvalsh(covariance).min() > 0


def test_strata_are_centred() -> None:
    panel = crossed()
    strata = np.where(np.arange(200) < 80, "x", "y").astype(object)
    stratified = CrossedAnswers(panel.answers, panel.models, panel.languages, panel.weights, strata, {})
    centred = stratified.centre_answers()
    assert centred[:, strata == "x"].mean(axis=1) == pytest.approx(np.zeros(8))
    assert (centred[0, strata == "x"] ** 2).mean() == pytest.approx(panel.answers[0, strata == "x"].var(ddof=1))


def test_a_joint_test_of_two_means_is_their_t_test() -> None:
    panel = crossed()
    averages = panel.average_languages()
    covariance = averages @ estimate_sampling_covariance(panel) @ averages.T
    test = compute_joint_test(
        build_centring_contrasts(2), covariance, lambda row: panel.estimate_combination(row @ averages)
    )
    single = panel.estimate_combination(averages[0] - averages[1])
    assert test is not None
    assert test.df == pytest.approx(1.0)
    assert test.statistic == pytest.approx((single.value / single.standard_error.value) ** 2)
    assert test.p_value == pytest.approx(2 * min(single.compute_p_above(0.0), single.compute_p_below(0.0)))


def test_equal_answers_have_no_joint_test() -> None:
    panel = CrossedAnswers.from_answers(np.ones((2, 10)), ["m", "m"], ["a", "b"])
    covariance = np.zeros((2, 2))
    assert compute_joint_test(build_centring_contrasts(2), covariance, panel.estimate_combination) is None
