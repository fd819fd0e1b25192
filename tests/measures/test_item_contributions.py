"""Contributions of single items: strengths with direction, leave-one-out influence, and bounds of intervals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.measures.present import present
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.measures.contrasts import compute_contrast
from tiltmeter.measures.estimates import Mean
from tiltmeter.measures.item_contributions import (
    MOST_LEFT_OUT,
    Roles,
    Strength,
    build_joint_values,
    compute_influence,
)
from tiltmeter.measures.measure import Measure, Quantity, find_item_scale, get_measure, name_clusters
from tiltmeter.measures.records import RecordKey, build_estimate_record, build_record
from tiltmeter.measures.standard_errors import StandardError
from tiltmeter.measures.verdict_rule import decide_verdict

KEY = RecordKey("m", "made", "all", "en", "published")


def correlate(inputs: Roles) -> float:
    return float(spearmanr(inputs["score"], inputs["share"]).statistic)


RANKS = Measure(
    "rank correlation",
    "",
    ideal=0.0,
    bias_direction=1,
    bounds=(-1.0, 1.0),
    margin=0.1,
    items=(build_joint_values(("score",), ("share",), correlate, factors=("occupation",)),),
)


def inputs(n: int = 40, seed: int = 3) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    share = rng.uniform(0, 100, n)
    return {"score": share / 40 + rng.normal(size=n), "share": share}


def test_the_mean_of_the_pseudo_values_is_the_measure_and_their_error_that_of_the_jackknife() -> None:
    table = inputs()
    values = RANKS.items[0].contributions(table)[0]
    n = len(values)
    assert values.mean() == pytest.approx(correlate(table))
    without = np.array([correlate({name: np.delete(own, i) for name, own in table.items()}) for i in range(n)])
    jackknife = np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2))
    assert np.std(values, ddof=1) / np.sqrt(n) == pytest.approx(jackknife)


def test_the_influence_of_an_item_is_how_much_the_measure_falls_without_it() -> None:
    table = inputs(12)
    for item, influence in enumerate(compute_influence(correlate, table)):
        rest = {name: np.delete(values, item) for name, values in table.items()}
        assert influence == pytest.approx(correlate(table) - correlate(rest))


def test_the_number_of_items_that_are_left_out_is_limited() -> None:
    many = {"score": np.zeros(MOST_LEFT_OUT + 1)}
    with raises_mentioning(UsageError, f"{MOST_LEFT_OUT:,} items", "--limit"):
        compute_influence(lambda _: 0.0, many)


def test_two_rank_correlations_are_compared_on_the_same_items() -> None:
    quantity = Quantity(RANKS, RANKS.items[0])
    tables = inputs(), inputs() | {"score": inputs(seed=4)["score"]}
    left, right = (RANKS.items[0].contributions(table) for table in tables)
    contrast = compute_contrast(quantity, left, right)
    assert contrast.difference == pytest.approx(correlate(tables[0]) - correlate(tables[1]))
    assert -2 <= contrast.low < contrast.difference < contrast.high <= 2


@pytest.mark.parametrize(
    ("unit", "roles", "expected"),
    [
        ("ratio", {"a": [0.4, 0.1], "b": [0.1, 0.4]}, np.log([4.0, 0.25])),
        ("ratio", {"a": [-1.0, -3.0], "b": [-2.0, -1.0]}, [1.0, -2.0]),  # logarithms are subtracted
        ("difference", {"a": [3.0, 1.0], "b": [1.0, 3.0]}, [2.0, -2.0]),
        ("choices", {"a": [0.75, 0.0], "b": [0.25, 1.0]}, [0.5, -1.0]),
        ("signed", {"a": [0.5, -0.5]}, [0.5, -0.5]),
        ("gender", {"a": [1.0, 0.0, np.nan]}, [1.0, -1.0, 0.0]),
    ],
)
def test_units_of_strength(unit: str, roles: dict[str, list[float]], expected: list[float]) -> None:
    scores = {name: np.array(values) for name, values in roles.items()}
    assert Strength(tuple(roles), unit).compute(scores).tolist() == pytest.approx(list(expected))  # type: ignore[arg-type]


def test_items_that_a_measure_counts_negatively_have_the_opposite_direction() -> None:
    """A masculine sentence is towards stereotypes if the stereotype is about men (8), against them if not (1)."""
    scale = find_item_scale(["log_ratio"], ["stereotype"])
    columns = {"stereotype": np.array([8, 1], dtype=object)}
    assert present(scale).compute({"log_ratio": np.array([2.0, 2.0])}, columns).tolist() == [2.0, -2.0]


def test_a_negative_bias_direction_reverses_the_direction_of_items() -> None:
    quantity = Quantity(replace(RANKS, bias_direction=-1), RANKS.items[0])
    assert quantity.compute_directions({}, 2).tolist() == [-1.0, -1.0]


def test_intervals_end_at_the_bounds_of_the_measure() -> None:
    wide = Mean(0.9, StandardError(0.2, 30))
    assert wide.interval()[1] > 1
    assert build_estimate_record(KEY, "all", "all", "all", RANKS, wide, 31).high == 1.0
    assert build_record(KEY, "all", "all", "all", get_measure("LMS"), 1.0, 9, ends=(-3.0, 5.0)).interval == (0.0, 5.0)
    opposite = [RANKS.items[0].contributions(inputs(6) | {"score": sign * inputs(6)["share"]}) for sign in (1, -1)]
    noise = np.array([[-9.0, 9.0, -9.0, 9.0, -9.0, 9.0]])
    contrast = compute_contrast(Quantity(RANKS, RANKS.items[0]), opposite[0] + noise, opposite[1] - noise)
    assert (contrast.low, contrast.high) == (-2.0, 2.0)


@pytest.mark.parametrize(
    ("measure", "factor", "clusters"),
    [
        ("SS", "target", "4 targets"),
        ("CPS", "more_terms", "4 terms of the more stereotypical sentences,"),
        ("delta_S", "entity", "4 entities"),
        ("g_s", "occupation", "4 occupations"),
        ("SS", None, "4 clusters"),
    ],
)
def test_too_few_clusters_have_the_noun_of_the_factor(measure: str, factor: str | None, clusters: str) -> None:
    mean = Mean(1.0, StandardError(0.1, 3, 4))
    record = build_record(KEY, "all", "all", "all", measure, 1.0, 40, ends=mean.interval())
    record = replace(record, clusters=4, factor=factor, margin=5.0)
    assert_mentions(decide_verdict(record, {measure: record}).reason, clusters)


def test_one_cluster_is_singular() -> None:
    assert name_clusters(["target", "template"], 1) == "target or template"
