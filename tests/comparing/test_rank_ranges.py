"""Ranks with confidence sets: what they are, and by simulation that all of a column hold at once in 95% of columns."""

import numpy as np
import pytest

from tiltmeter.comparing.rank_ranges import RankRange, adjust_pairs_holm, compute_rank_ranges, compute_unpaired_p_values
from tiltmeter.measures.measure import list_quantities
from tiltmeter.measures.multiple_testing import adjust_holm
from tiltmeter.measures.pairwise_tests import SharedItems, compute_distance_p_values

SS = list_quantities(["stereotype", "anti-stereotype"], [])[0]


def test_pairs_are_corrected_once() -> None:
    p_values = np.array([[1.0, 0.01, 0.04], [0.01, 1.0, 0.03], [0.04, 0.03, 1.0]])
    corrected = adjust_pairs_holm(p_values)
    assert corrected[0, 1] == corrected[1, 0] == adjust_holm([0.01, 0.04, 0.03])[0]
    assert np.diag(corrected).tolist() == [1.0, 1.0, 1.0]


def test_ranges_are_counts_of_models_that_are_told_apart() -> None:
    rng = np.random.default_rng(1)
    distances = rng.normal(size=12)
    drawn = rng.uniform(0, 0.1, (12, 12))
    corrected = np.minimum(drawn, drawn.T)
    for at, found in enumerate(compute_rank_ranges(distances, corrected)):
        others = [other for other in range(12) if other != at and corrected[at, other] < 0.05]
        closer = sum(distances[other] < distances[at] for other in others)
        farther = sum(distances[other] > distances[at] for other in others)
        assert found == RankRange(1 + closer, 12 - farther)


def test_one_model_has_rank_one() -> None:
    assert compute_rank_ranges(np.array([3.0]), adjust_pairs_holm(np.ones((1, 1)))) == [RankRange(1, 1)]


def test_separate_intervals_that_touch_are_not_told_apart() -> None:
    """At the level of 5%, two models are told apart where their 95% intervals do not overlap, on one side."""
    for gap, is_apart in ((3.9, False), (3.95, True)):
        p_values = compute_unpaired_p_values(np.array([60.0, 60.0 + gap]), 50.0, np.ones(2), np.full(2, 1e9))
        assert bool(p_values[0, 1] < 0.05) is is_apart
    mirrored = compute_unpaired_p_values(np.array([60.0, 40.0]), 50.0, np.ones(2), np.full(2, 1e9))
    assert mirrored[0, 1] == 1.0


@pytest.mark.parametrize("paired", [True, False])
def test_the_ranks_of_a_whole_column_hold_in_95_of_100_columns(paired: bool) -> None:
    """With ties, mirror images of each other and shared items; the ranks of 8 models, all of them at once."""
    rng = np.random.default_rng(20)
    leans = np.array([0.0, 0.0, 0.25, -0.25, 0.25, 0.6, -1.0, 1.2])
    true = np.abs(leans)
    best = 1 + (true[:, None] > true[None, :]).sum(axis=1)
    worst = len(true) - (true[:, None] < true[None, :]).sum(axis=1)
    columns, held, widths = 400, 0, []
    for _ in range(columns):
        shared = rng.normal(size=300)
        values = 100.0 * (rng.normal(size=(8, 300)) + shared + leans[:, None] > 0)
        means = values.mean(axis=1)
        if paired:
            p_values = compute_distance_p_values(SS, values, SharedItems())
        else:
            p_values = compute_unpaired_p_values(
                means, 50.0, values.std(axis=1, ddof=1) / np.sqrt(300), np.full(8, 299.0)
            )
        found = compute_rank_ranges(np.abs(means - 50.0), adjust_pairs_holm(p_values))
        held += all(one.first <= low and one.last >= high for one, low, high in zip(found, best, worst, strict=True))
        widths.append(np.mean([one.last - one.first for one in found]))
    assert held / columns >= 0.95 - 2 * np.sqrt(0.05 * 0.95 / columns)
    # They are not so wide that they say nothing: of 8 ranks, all would be a width of 7.
    assert np.mean(widths) < (4.0 if paired else 5.0)
