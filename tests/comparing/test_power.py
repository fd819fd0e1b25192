"""The probability that a model without bias passes a rule: against simulated data, and edge cases."""

import math

import numpy as np
import pytest
from scipy.stats import t as student

from tiltmeter.comparing import parse_rule
from tiltmeter.comparing.gate_power import WANTED_POWER, RuleTolerance, compute_tolerance, compute_unbiased_error


@pytest.mark.parametrize("lenient", [True, False])
@pytest.mark.parametrize(("below", "above"), [(5.0, 5.0), (None, 3.0), (2.0, None), (8.0, 3.0)])
def test_as_often_as_drawn_numbers_do(below: float | None, above: float | None, lenient: bool) -> None:
    error, freedom = 1.7, 60
    rng = np.random.default_rng(1)
    values = rng.normal(0.0, error, 40_000)
    reach = student.ppf(0.975, freedom) * error
    low, high = values - reach, values + reach
    limits = (-math.inf if below is None else -below, math.inf if above is None else above)
    passed = ~((low > limits[1]) | (high < limits[0])) if lenient else (low >= limits[0]) & (high <= limits[1])
    assert RuleTolerance(below, above, error, freedom).passes(lenient) == pytest.approx(passed.mean(), abs=0.01)


@pytest.mark.parametrize("lenient", [True, False])
@pytest.mark.parametrize("limit", [1.0, 5.0, 60.0])
def test_the_items_needed_are_the_fewest_that_do(limit: float, lenient: bool) -> None:
    error, n = 1.8, 1000

    def passes(count: int) -> float:
        return RuleTolerance(limit, limit, error * math.sqrt(n / count), 400 * count / n).passes(lenient)

    needed = RuleTolerance(limit, limit, error, 400).compute_needed_items(n, lenient)
    assert needed is not None
    assert passes(needed) >= WANTED_POWER
    assert needed == 1 or passes(needed - 1) < WANTED_POWER


def test_no_number_of_items_helps_where_there_is_no_room() -> None:
    assert RuleTolerance(None, 0.0, 1.0, 100).compute_needed_items(1000, False) is None
    assert RuleTolerance(-1.0, None, 1.0, 100).compute_needed_items(1000, False) is None
    # Leniently a few items would pass, but the more there are, the less often.
    assert RuleTolerance(-1.0, None, 1.0, 100).compute_needed_items(1000, True) is None
    assert RuleTolerance(-0.1, 5.0, 1.0, 100).compute_needed_items(1000, True) is None


@pytest.mark.parametrize("room", [(None, 0.0), (0.0, None), (0.0, 0.0)])
def test_at_the_ideal_any_number_of_items_passes_leniently(room: tuple[float | None, float | None]) -> None:
    assert all(RuleTolerance(*room, 1.0, count).passes(True) >= WANTED_POWER for count in (1, 10, 1000))
    assert RuleTolerance(*room, 1.0, 100).compute_needed_items(1000, True) == 1
    assert RuleTolerance(*room, 0.0, 100).compute_needed_items(1000, False) == 1  # the two gave the same answers


def test_without_any_error_it_is_certain() -> None:
    assert RuleTolerance(None, 2.0, 0.0, 10).passes(False) == 1.0
    assert RuleTolerance(None, 0.0, 0.0, 10).passes(False) == 1.0
    assert RuleTolerance(None, -1.0, 0.0, 10).passes(False) == 0.0


def test_the_room_that_rules_leave() -> None:
    def room(kind: str, text: str, *, ideal: float = 50.0, ratio: bool = False) -> tuple[float | None, float | None]:
        room = compute_tolerance(parse_rule(kind, text), ideal, 1.0, 100, ratio=ratio)  # type: ignore[arg-type]
        return room.below, room.above

    assert room("max", "stereoset.SS distance 5") == (5.0, 5.0)
    assert room("max", "stereoset.SS 58") == (None, 8.0)
    assert room("min", "stereoset.SS 45") == (5.0, None)
    assert room("max", "gest.g_s 1.5", ideal=1.0, ratio=True) == (None, pytest.approx(math.log(1.5)))
    below, above = room("max", "gest.g_s distance 0.5", ideal=1.0, ratio=True)
    assert (below, above) == (pytest.approx(math.log(2)), pytest.approx(math.log(1.5)))
    # No ratio is below 0.
    assert room("max", "gest.g_s 0", ideal=1.0, ratio=True) == (None, -math.inf)
    assert room("min", "gest.g_s -1", ideal=1.0, ratio=True) == (math.inf, None)
    assert RuleTolerance(None, -math.inf, 0.1, 100).passes(False) == 0.0
    assert RuleTolerance(math.inf, None, 0.1, 100).passes(False) == 1.0
    # Nothing is farther below 1 than 1.
    assert room("max", "gest.g_s distance 1.5", ideal=1.0, ratio=True) == (math.inf, pytest.approx(math.log(2.5)))
    assert room("max", "gest.g_s distance 1", ideal=1.0, ratio=True) == (math.inf, pytest.approx(math.log(2)))


def test_the_error_of_an_even_model() -> None:
    assert compute_unbiased_error(90.0, 3.0, 50.0, (0.0, 100.0)) == pytest.approx(5.0)
    assert compute_unbiased_error(50.0, 3.0, 50.0, (0.0, 100.0)) == pytest.approx(3.0)
    assert compute_unbiased_error(100.0, 0.0, 50.0, (0.0, 100.0)) == 0.0  # all items alike tell nothing of others
    assert compute_unbiased_error(0.3, 0.1, 0.0, None) == 0.1
