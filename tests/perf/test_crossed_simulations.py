"""A short form of the simulations of crossed factors, on made items whose words have very different frequencies."""

import math

import numpy as np
import pytest

from perf.simulations.crossed import (
    COVERAGE,
    FORMER,
    TYPE_I,
    differences_with_effects,
    list_nulls,
    power_with_effects,
    share_with_effects,
)
from perf.simulations.runner import Counts, Simulate
from perf.simulations.structures import flip, make_words

TIMES = 200
ITEMS = make_words(500)
NULLS = list_nulls(ITEMS.names)


def simulate(simulation: Simulate, times: int = TIMES) -> dict[str, float]:
    """Return the mean of each column."""
    counts: Counts = simulation(np.random.default_rng(1), times)
    return {name: total / number for name, (total, number) in counts.items() if number}


def noise(level: float) -> float:
    """Two standard errors of a rate over all data sets."""
    return 2 * math.sqrt(level * (1 - level) / TIMES)


@pytest.mark.parametrize("null", ["target", "stereotype_word", "all factors"])
def test_verdicts_keep_their_level_wherever_bias_is_attached(null: str) -> None:
    rates = simulate(share_with_effects(lambda: ITEMS, NULLS[null]))
    assert rates[TYPE_I] <= 0.06 + noise(0.06)
    assert rates[COVERAGE] >= 0.93 - noise(0.07)
    if null == "stereotype_word":
        assert rates[FORMER] > 0.15, "target terms alone should not be enough"


def test_differences_keep_their_level_if_models_differ_by_words() -> None:
    rates = simulate(differences_with_effects(lambda: ITEMS, NULLS["stereotype_word"]))
    assert rates[TYPE_I] <= 0.06 + noise(0.06)
    assert rates[COVERAGE] >= 0.93 - noise(0.07)
    assert rates[FORMER] > 0.1


def test_independent_items_lose_little_power() -> None:
    """The detectable effect of 500 independent items is 6.3 points; with factors it is at most a sixth larger."""
    rates = simulate(power_with_effects(lambda: ITEMS, NULLS["single items"]), 100)
    assert 6.2 < rates["effect"] < 7.4
    assert rates["power"] > 0.7


def test_mirrored_answers_keep_their_clusters_and_lose_their_bias() -> None:
    rng = np.random.default_rng(2)
    values = np.where(np.arange(ITEMS.n) % 5 > 0, 100.0, 0.0)
    mirrored = [flip(rng, ITEMS, values, ("stereotype_word",)) for _ in range(300)]
    codes = ITEMS.codes["stereotype_word"]
    changed = (mirrored[0] != values).astype(float)
    shares = np.bincount(codes, changed)[codes] / np.bincount(codes)[codes]
    assert set(shares.tolist()) == {0.0, 1.0}
    assert np.mean(mirrored) == pytest.approx(50.0, abs=4.0)
    either = flip(rng, ITEMS, values, ("target", "stereotype_word"))
    assert set(np.unique(either)) == {0.0, 100.0}
