"""Groups of models and slopes by size on simulated data with known truth; perf/simulations has more data sets."""

import math

import numpy as np
import pytest
from scipy import stats

from perf.simulations.groups import TABLES, groups, settings, sizes
from perf.simulations.runner import Simulate
from tests.measures.present import present
from tiltmeter.measures.contrasts import estimate_item_mean
from tiltmeter.measures.crossed_effects import (
    MemberVariance,
    combine_variances,
    compute_answer_noise,
    compute_slope_variance,
)
from tiltmeter.measures.size_regression import build_slope_design, compute_slope_coefficients, estimate_slope
from tiltmeter.measures.standard_errors import StandardError

THESE, LIKE, TAKEN = TABLES[0].columns


def rates(simulate: Simulate, times: int) -> dict[str, float]:
    counts = simulate(np.random.default_rng(5), times)
    return {name: total / number for name, (total, number) in counts.items()}


def most(times: int, level: float = 0.06) -> float:
    """The level, with two standard errors of a rate over `times` data sets."""
    return level + 2 * math.sqrt(level * (1 - level) / times)


def test_type_i_error_of_groups() -> None:
    """Of models that differ, a test over items finds a difference of these models, which others need not have."""
    times = 400
    rejected = rates(groups((5, 8), 200, None, (0.2, 0.2), 0.4), times)
    assert rejected[THESE] <= most(times)
    assert 0.02 < rejected[LIKE] <= most(times)
    assert rejected[TAKEN] > 0.2
    clustered = rates(groups((6, 6), 200, 20, (0.1, 0.1), 0.4), times)
    assert clustered[THESE] <= most(times)
    assert clustered[LIKE] <= most(times)


def test_type_i_error_of_slopes() -> None:
    times = 300
    rejected = rates(sizes(5, 200, 0.2, 0.2), times)
    assert rejected[THESE] <= most(times)
    assert 0.01 < rejected[LIKE] <= most(times)
    assert rejected[TAKEN] > 0.2


def test_there_are_settings_for_both_tables() -> None:
    assert {setting.table for setting in settings()} == {table.name for table in TABLES}


def test_the_variance_is_never_less_than_that_of_members_or_items() -> None:
    both = combine_variances(MemberVariance(4.0, 5.0), StandardError(1.0, 30), 4.5)
    assert both.value == 2.0
    assert combine_variances(MemberVariance(4.0, 5.0), StandardError(1.0, 30), 0.5).value == pytest.approx(4.5**0.5)
    assert combine_variances(MemberVariance(0.0, 5.0), StandardError(0.0, 30), 0.0).value == 0.0


def test_slopes_of_items_by_size_are_no_noise_of_answers() -> None:
    """Noise with variance 1 in items whose slopes vary much more; strata and weights of two kinds of items."""
    rng = np.random.default_rng(2)
    sizes_of, count, n = np.linspace(7, 10, 6), 6, 3_000
    families = np.array(["a"] * count, dtype=object)
    answers = np.outer(sizes_of, rng.normal(0, 5, n)) + rng.normal(size=(count, n))
    strata = np.array([0, 1] * (n // 2), dtype=object)
    answers += np.outer(rng.normal(0, 0.2, count), np.where(strata == 0, 1, -1))
    weights = np.where(strata == 0, 0.5, -0.5) / (n / 2)
    coefficients = compute_slope_coefficients(sizes_of, families)
    expected = np.sum(coefficients**2) * np.sum(weights**2)
    assert compute_answer_noise(answers, coefficients, families, weights, strata, sizes_of) == pytest.approx(
        expected, rel=0.05
    )
    assert compute_answer_noise(answers, coefficients, families, weights, strata) > 10 * expected
    estimate = estimate_slope(answers, sizes_of, families, weights, strata)
    mean = estimate_item_mean(coefficients @ answers, weights, None, strata)
    between = compute_slope_variance(answers @ weights, build_slope_design(sizes_of, families), coefficients)
    noise = compute_answer_noise(answers, coefficients, families, weights, strata, sizes_of)
    error = np.sqrt(between.variance + mean.standard_error.value**2 - noise)
    assert between.variance > noise  # so that neither part alone is the larger
    reach = stats.t.ppf(0.975, combine_variances(between, mean.standard_error, noise).df) * error
    assert present(present(estimate).over_members).high == pytest.approx(present(estimate).value + reach)


def test_a_regression_without_residuals_has_no_variance() -> None:
    sizes_of, families = np.array([1.0, 2.0]), np.array(["a", "a"], dtype=object)
    coefficients = compute_slope_coefficients(sizes_of, families)
    assert compute_slope_variance(np.array([1.0, 5.0]), build_slope_design(sizes_of, families), coefficients).df == 0.0
