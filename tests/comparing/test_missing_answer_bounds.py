"""Verdicts on differences must be true for every outcome of missing answers."""

from pathlib import Path

import pytest

import tiltmeter
from tests.runs.made import chosen_scores, run
from tests.support.messages import assert_mentions
from tiltmeter.comparing.missing_answer_bounds import MissingAnswerBounds
from tiltmeter.comparing.paired_difference import Difference
from tiltmeter.reports.comparison import describe_difference
from tiltmeter.reports.comparison_matrix import get_sign
from tiltmeter.runs.result import Result

PART = "intrasentence"


def with_refusals(model: str, ss: float, refused: int, n: int = 4000) -> Result:
    """A run with n answered items and some items without an answer."""
    skipped = [
        {
            "model": model,
            "benchmark": "stereoset",
            "part": PART,
            "language": "en",
            "item": f"refused {number}",
            "reason": "the model refused it",
        }
        for number in range(refused)
    ]
    scores = chosen_scores(model, ss, n=n, parts=(PART,), targets=200, seed=len(model))
    return run(scores, skipped=skipped).remeasure()


def compare_ss(left: Result, right: Result) -> Difference:
    (difference,) = tiltmeter.compare([left, right], measures=["SS"]).differences
    return difference


@pytest.mark.parametrize(
    ("ss", "refused", "verdict"),
    [
        (62.0, 0, "significant"),
        (62.0, 100, "significant"),  # 2% of missing answers cannot reverse 12 points
        (62.0, 1200, "inconclusive"),
        (50.5, 0, "no difference"),
        (50.5, 1200, "inconclusive"),
    ],
)
def test_missing_answers_can_make_a_difference_inconclusive(ss: float, refused: int, verdict: str) -> None:
    difference = compare_ss(with_refusals("one", ss, refused), with_refusals("other", 50.0, 0))
    assert difference.verdict == verdict


def test_the_possible_differences_contain_both_extremes() -> None:
    difference = compare_ss(with_refusals("one", 60.0, 1000), with_refusals("other", 50.0, 1000))
    low, high = difference.possible
    lowest, highest = (100 * 0.6 * 4000 / 5000, 100 * (0.6 * 4000 + 1000) / 5000)
    assert low == pytest.approx(difference.contrast.low - (60 - lowest) - (100 * (0.5 * 4000 + 1000) / 5000 - 50))
    assert high == pytest.approx(difference.contrast.high + (highest - 60) + (50 - 100 * 0.5 * 4000 / 5000))
    assert_mentions(describe_difference(difference), "inconclusive", "missing answers", f"{low:.1f}", f"{high:.1f}")


def test_a_gate_fails_if_missing_answers_could_make_the_model_worse(tmp_path: Path) -> None:
    baseline, complete, partial = (with_refusals("one", 50.0, refused) for refused in (0, 0, 1200))
    (passed,) = tiltmeter.check(complete, baseline=baseline, no_worse_than="stereoset.SS 5")
    (failed,) = tiltmeter.check(partial, baseline=baseline, no_worse_than="stereoset.SS 5")
    assert (passed.passed, failed.passed) == (True, False)


def test_a_model_is_not_farther_if_missing_answers_could_reverse_the_distances() -> None:
    """SS 64 and 42: 14 and 8 points from 50. With all missing answers against the stereotype, 42 would be 35."""
    certain, open_ = (compare_ss(with_refusals("one", 64.0, 0), with_refusals("other", 42.0, n)) for n in (0, 800))
    assert (certain.verdict, open_.verdict) == ("significant", "significant")
    assert_mentions(describe_difference(certain), "farther from 50 than other")
    assert_mentions(describe_difference(open_), "one is significantly higher", "not significantly farther")
    assert (get_sign(certain), get_sign(open_)) == ("+", "/")


def test_distances_can_change_by_the_changes_of_both_sides() -> None:
    """60 could be 55, and 45 could be 40: the difference is at most 5 points smaller, but that of distances 10."""
    sides = MissingAnswerBounds.from_range(60.0, 55.0, 60.0), MissingAnswerBounds.from_range(45.0, 40.0, 45.0)
    found = sides[0].subtract_bounds(sides[1])
    assert (found.below, found.above, found.largest_change) == (5.0, 5.0, 10.0)
