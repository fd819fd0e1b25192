"""Groups of models and slopes by size on simulated data with known truth; perf/simulations has more data sets."""

import math

import numpy as np
import pytest

from perf.simulations.groups import TABLES, groups, settings, sizes
from perf.simulations.runner import Simulate
from tiltmeter.measures.crossed import BetweenMembers, members_and_items, of_regression
from tiltmeter.measures.slopes import slope_coefficients, slope_design
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
    found = rates(groups((5, 8), 200, None, (0.2, 0.2), 0.4), times)
    assert found[THESE] <= most(times)
    assert 0.02 < found[LIKE] <= most(times)
    assert found[TAKEN] > 0.2
    clustered = rates(groups((6, 6), 200, 20, (0.1, 0.1), 0.4), times)
    assert clustered[THESE] <= most(times)
    assert clustered[LIKE] <= most(times)


def test_type_i_error_of_slopes() -> None:
    times = 300
    found = rates(sizes(5, 200, 0.2, 0.2), times)
    assert found[THESE] <= most(times)
    assert 0.01 < found[LIKE] <= most(times)
    assert found[TAKEN] > 0.2


def test_there_are_settings_for_both_tables() -> None:
    assert {setting.table for setting in settings()} == {table.name for table in TABLES}


def test_the_variance_is_never_less_than_that_of_members_or_items() -> None:
    both = members_and_items(BetweenMembers(4.0, 5.0), StandardError(1.0, 30), 4.5)
    assert both.value == 2.0
    assert members_and_items(BetweenMembers(4.0, 5.0), StandardError(1.0, 30), 0.5).value == pytest.approx(4.5**0.5)
    assert members_and_items(BetweenMembers(0.0, 5.0), StandardError(0.0, 30), 0.0).value == 0.0


def test_a_regression_without_residuals_has_no_variance() -> None:
    sizes_of, families = np.array([1.0, 2.0]), np.array(["a", "a"], dtype=object)
    coefficients = slope_coefficients(sizes_of, families)
    assert of_regression(np.array([1.0, 5.0]), slope_design(sizes_of, families), coefficients).df == 0.0
