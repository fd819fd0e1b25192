"""Association d on simulated words with known truth: coverage, errors of type I, and bounds of missing answers."""

import numpy as np
import pytest

from perf.simulations.word_lists import Lists, word_lists
from tests.runs.word_lists import word_scores
from tiltmeter.measures.word_association import D_LIKE, D, measure

TIMES = 100


@pytest.mark.parametrize("truth", [(0.0, 0.0, 0.2, 0.1, 0.0), (0.4, 0.2, 0.2, 0.1, 0.1)])
def test_intervals_contain_the_true_value(truth: tuple[float, float, float, float, float]) -> None:
    counts = word_lists(Lists(8, 4, 8), *truth)(np.random.default_rng(1), TIMES)
    for column in ("these tests", "stereotypes like these"):
        total, number = counts[column]
        # Two standard errors below 95%.
        assert total / number >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / TIMES)
    if not truth[0]:
        total, number = counts["type I"]
        assert total / number <= 0.05 + 2 * np.sqrt(0.95 * 0.05 / TIMES)


def test_missing_answers_widen_the_claim() -> None:
    given, lost = (
        next(
            record
            for record in measure(word_scores(share=0.6, lost=share))
            if (record.measure, record.view) == (D.name, "all")
        )
        for share in (0.0, 0.4)
    )
    assert given.missing is None
    assert lost.missing == pytest.approx(0.4, abs=0.05)
    assert (lost.lowest_possible or 0) < 0 < (lost.highest_possible or 0)
    assert (given.p_value or 0) < 0.05 < (lost.p_value or 0)


@pytest.mark.parametrize("share", [0.5, 0.7])
def test_the_interval_for_other_stereotypes_is_never_the_narrower_one(share: float) -> None:
    found = {record.measure: record for record in measure(word_scores(share=share)) if record.view == "all"}
    these, like = (found[name].interval or (0.0, 0.0) for name in (D.name, D_LIKE.name))
    assert like[0] <= these[0] + 1e-12
    assert like[1] >= these[1] - 1e-12
