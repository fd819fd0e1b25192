"""A short form of the simulations of changes: false verdicts are rare, and a loss is not called non-inferior."""

import math

import numpy as np
import pytest

from perf.simulations.changes import HARMED, HELPED, KEPT, WORSE, Truth, non_inferiority, verdicts
from perf.simulations.runner import Simulate

TIMES = 60


def simulate(simulation: Simulate, times: int = TIMES) -> dict[str, float]:
    """Return the share of data sets, by column."""
    counts = simulation(np.random.default_rng(2), times)
    return {name: total / number for name, (total, number) in counts.items()}


def most(level: float, times: int = TIMES) -> float:
    """Return the level plus two standard errors."""
    return level + 2 * math.sqrt(level * (1 - level) / times)


@pytest.mark.parametrize("effects", [{}, {"target": 0.4}, {"stereotype_word": 0.4}], ids=["items", "targets", "words"])
def test_a_change_without_effect_is_rarely_called_help_or_harm(effects: dict[str, float]) -> None:
    rates = simulate(verdicts(200, Truth(effects=effects)))
    assert max(rates[name] for name in (HELPED, WORSE, HARMED)) <= most(0.05)


def test_true_effects_are_found() -> None:
    better = simulate(verdicts(1_000, Truth(target=(0.65, 0.5))), 15)
    assert better[HELPED] >= 0.8
    worse = simulate(verdicts(1_000, Truth(target=(0.5, 0.65))), 15)
    assert worse[WORSE] >= 0.8
    elsewhere = simulate(verdicts(1_000, Truth(target=(0.65, 0.5), elsewhere=(0.52, 0.68))), 15)
    assert elsewhere[HARMED] >= 0.8


def test_a_loss_of_the_margin_is_rarely_called_non_inferior() -> None:
    assert simulate(non_inferiority(200, Truth(loss=0.03, margin=3.0)), 200)[KEPT] <= most(0.025, 200)
    assert simulate(non_inferiority(1_000, Truth(loss=0.0, margin=3.0)), 50)[KEPT] >= 0.7
