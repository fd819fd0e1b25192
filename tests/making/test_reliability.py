"""Kappa and alpha against naive definitions, statsmodels, and values worked by hand."""

import itertools
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa, to_table

from tests.support.messages import raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.making.reliability import ALL_ALIKE, TOO_FEW, Level, compute_cohen_kappa, compute_krippendorff_alpha

QUICK = 200


def naive_alpha(rows: list[list[Any]], level: Level) -> float | None:
    """Alpha by its definition: every pair of ratings within items, and every pair over all items."""
    rows = [[value for value in row if value is not None] for row in rows]
    rows = [row for row in rows if len(row) > 1]
    everything = [value for row in rows for value in row]

    def distance(a: Any, b: Any) -> float:
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return float((a - b) ** 2)
        low, high = min(a, b), max(a, b)
        between = sum(low <= value <= high for value in everything)
        return float((between - (everything.count(a) + everything.count(b)) / 2) ** 2) if a != b else 0.0

    observed = sum(distance(a, b) / (len(row) - 1) for row in rows for a, b in itertools.permutations(row, 2)) / len(
        everything
    )
    expected = sum(distance(a, b) for a, b in itertools.permutations(everything, 2))
    expected /= len(everything) * (len(everything) - 1)
    return None if expected == 0 else 1 - observed / expected


RATINGS = st.lists(st.lists(st.one_of(st.none(), st.integers(1, 5)), min_size=2, max_size=5), min_size=2, max_size=12)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@settings(max_examples=60, deadline=None)
@given(rows=RATINGS)
def test_alpha_is_that_of_the_definition(level: Level, rows: list[list[Any]]) -> None:
    found = compute_krippendorff_alpha(rows, level, resamples=10)
    if sum(sum(value is not None for value in row) > 1 for row in rows) < 2:
        assert (found.value, found.reason) == (None, TOO_FEW)
        return
    expected = naive_alpha(rows, level)
    assert found.value == (None if expected is None else pytest.approx(expected))


def test_alpha_of_an_example_with_missing_ratings() -> None:
    """The four observers of Krippendorff (2011), "Computing Krippendorff's alpha-reliability", section C."""
    observers = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    rows = [list(row) for row in zip(*observers, strict=True)]
    levels: dict[Level, float] = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849}
    for level, value in levels.items():
        found = compute_krippendorff_alpha(rows, level, resamples=QUICK)
        assert found.value == pytest.approx(value, abs=5e-4)
        assert found.items == 11


@settings(max_examples=60, deadline=None)
@given(pairs=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=40))
def test_kappa_is_that_of_statsmodels(pairs: list[tuple[int, int]]) -> None:
    found = compute_cohen_kappa(pairs, resamples=10)
    one, other = zip(*pairs, strict=True)
    chance = sum(one.count(value) * other.count(value) for value in set(one)) / len(pairs) ** 2
    if chance == 1:
        assert (found.value, found.reason) == (None, ALL_ALIKE)
        return
    table = to_table(np.array(pairs), 4)[0]
    assert found.value == pytest.approx(cohens_kappa(table).kappa)


def test_the_bootstrap_is_that_of_resampled_items() -> None:
    """Against a bootstrap that draws items one by one."""
    random_ = random.Random(5)
    pairs = [(a := random_.randrange(3), a if random_.random() < 0.6 else random_.randrange(3)) for _ in range(60)]
    rows = [list(pair) for pair in pairs]
    for found, statistic in (
        (compute_cohen_kappa(pairs), lambda drawn: compute_cohen_kappa(map(tuple, drawn), resamples=1).value),
        (
            compute_krippendorff_alpha(rows, "interval"),
            lambda drawn: compute_krippendorff_alpha(drawn, "interval", resamples=1).value,
        ),
    ):
        drawn = [statistic(random_.choices(rows, k=len(rows))) for _ in range(800)]
        assert found.interval == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.04)


def test_the_order_of_items_and_raters_does_not_matter() -> None:
    rows = [["keep", "drop", None], ["keep", "keep", "keep"], ["drop", "drop", "keep"], [None, "drop", "drop"]] * 3
    turned = [row[::-1] for row in reversed(rows)]
    assert compute_krippendorff_alpha(rows, resamples=QUICK) == compute_krippendorff_alpha(turned, resamples=QUICK)


def test_no_agreement_without_variation_or_pairs() -> None:
    alike = compute_krippendorff_alpha([["keep", "keep"]] * 5)
    assert (alike.value, alike.observed, alike.reason) == (None, 1.0, ALL_ALIKE)
    assert "undefined" in str(alike)
    assert compute_cohen_kappa([("keep", "keep")] * 5).reason == ALL_ALIKE
    assert compute_krippendorff_alpha([["keep", None], [None, "drop"], ["keep", "keep"]]).reason == TOO_FEW
    assert compute_cohen_kappa([]).items == 0


def test_no_interval_where_most_resamples_are_undefined() -> None:
    found = compute_cohen_kappa([("a", "a"), ("b", "b")])
    assert found.value == 1.0
    assert found.interval is None
    assert "undefined in 50%" in str(found) or "undefined in 51%" in str(found) or "undefined in 49%" in str(found)


def test_an_unknown_level() -> None:
    with raises_mentioning(UsageError, "'ratio'", "nominal, ordinal, interval"):
        compute_krippendorff_alpha([[1, 2]], "ratio")  # type: ignore[arg-type]
