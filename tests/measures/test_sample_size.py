"""The number of items for an effect, and the effect that a number of items shows."""

import numpy as np
import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.measures.estimates import Share, compute_detectable_effect
from tiltmeter.measures.sample_size import SampleDesign


def test_the_effect_is_the_minimum_detectable_effect_of_reports() -> None:
    share = Share.from_values(np.array([100.0, 0.0] * 150))
    assert SampleDesign().find_effect(300) == pytest.approx(compute_detectable_effect(share, 0.05), abs=1e-3)


def test_power_is_the_share_of_significant_results() -> None:
    """A simulation with clusters of 10 items, half of which have the same answer as their cluster."""
    rng, clusters, size, trials = np.random.default_rng(3), 60, 10, 4_000
    design = SampleDesign(per_cluster=size, correlation=0.25)
    effect = design.find_effect(clusters * size)
    assert effect is not None
    share = 0.5 + effect / 100
    shared = rng.random((trials, clusters, 1)) < share
    own = rng.random((trials, clusters, size)) < share
    answers = np.where(rng.random((trials, clusters, size)) < 0.5, shared, own)  # correlation 0.5² = 0.25
    means = answers.mean(axis=2)
    error = means.std(axis=1, ddof=1) / np.sqrt(clusters)
    significant = np.abs(means.mean(axis=1) - 0.5) / error > 2.0010  # Student's t with 59 degrees of freedom
    assert significant.mean() == pytest.approx(0.8, abs=0.035)


def test_items_effect_and_power_agree() -> None:
    design = SampleDesign(per_cluster=5, correlation=0.1, tests=3)
    items = design.find_items(8.0, 0.9)
    assert design.compute_power(items, 8.0) >= 0.9 > design.compute_power(items - 1, 8.0)
    assert design.find_effect(items, 0.9) == pytest.approx(8.0, abs=0.02)


def test_too_few_items_and_impossible_wishes() -> None:
    assert SampleDesign().find_effect(2) is None
    assert SampleDesign(per_cluster=20, correlation=0.5).find_effect(20) is None
    with raises_mentioning(UsageError, "0.001 points"):
        SampleDesign().find_items(0.001)
    with raises_mentioning(UsageError, "--correlation"):
        SampleDesign(2, 1.5)
