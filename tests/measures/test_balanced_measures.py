"""Percentages with equal weight for every bias type: against a direct computation, and by simulation."""

from statistics import fmean

import numpy as np
import pandas as pd
import pytest

from tests.measures.present import present
from tests.measures.simulated import target_factor
from tests.measures.test_pairs import table
from tiltmeter.measures.balanced_measures import estimate_type_balanced_mean
from tiltmeter.measures.pairs import measure


def test_the_mean_of_the_bias_types() -> None:
    sizes = {"age": 3, "gender": 40, "religion": 11}
    labels = [(name, "stereo") for name, size in sizes.items() for _ in range(size)]
    rng = np.random.default_rng(3)
    numbers = [{"more": float(rng.integers(4)), "less": float(rng.integers(4))} for _ in labels]
    records = {(r.view, r.group, r.measure): r for r in measure(table(numbers, labels))}
    of_types = []
    for name in sizes:
        pairs = [pair for pair, label in zip(numbers, labels, strict=True) if label[0] == name]
        of_types.append(fmean(50 * ((p["more"] > p["less"]) + (p["more"] >= p["less"])) for p in pairs))
    balanced = records["all", "all", "CPS balanced by bias type"]
    assert balanced.value == pytest.approx(fmean(of_types))
    assert balanced.value != pytest.approx(records["all", "all", "CPS"].value)
    assert (balanced.n, balanced.p_value, balanced.verdict) == (54, None, None)
    assert 0 <= present(balanced.low) < balanced.value < present(balanced.high) <= 100
    assert [key for key in records if "balanced" in key[2]] == [("all", "all", "CPS balanced by bias type")]


def test_one_bias_type_has_nothing_to_balance() -> None:
    assert estimate_type_balanced_mean(np.array([0.0, 100.0]), np.array(["age", "age"], dtype=object)) is None
    records = measure(table([{"more": 1.0, "less": 0.0}] * 5))
    assert not [r for r in records if "balanced" in r.measure]


def test_bias_types_of_equal_size_have_the_total() -> None:
    values = 100.0 * np.array([1, 0, 0, 1, 1, 1])
    balanced = estimate_type_balanced_mean(values, np.repeat(["age", "gender"], 3).astype(object))
    assert present(balanced).value == pytest.approx(float(values.mean()))


def test_clusters_widen_the_interval() -> None:
    types = np.repeat(["age", "gender"], 40).astype(object)
    clusters = target_factor(20, 4)
    values = 100.0 * np.repeat(np.arange(20) % 3 == 0, 4)
    alone, together = (estimate_type_balanced_mean(values, types, of) for of in (None, clusters))
    assert alone is not None
    assert together is not None
    assert alone.value == together.value
    assert together.interval()[0] < alone.interval()[0]
    assert together.interval()[1] > alone.interval()[1]


@pytest.mark.parametrize(
    ("sizes", "shares"),
    [
        # As in CrowS-Pairs; one small bias type on one side; few of each.
        ([516, 262, 172, 159, 105, 87, 84, 63, 60], [0.6, 0.55, 0.6, 0.7, 0.7, 0.55, 0.7, 0.65, 0.7]),
        ([500, 250, 9], [0.6, 0.55, 0.95]),
        ([10, 10, 10, 10], [0.6, 0.7, 0.8, 0.9]),
    ],
)
def test_coverage(sizes: list[int], shares: list[float]) -> None:
    rng = np.random.default_rng(7)
    types = np.repeat([str(number) for number in range(len(sizes))], sizes).astype(object)
    expected = np.repeat(shares, sizes)
    truth, covered, times = 100 * fmean(shares), 0, 400
    for _ in range(times):
        balanced = estimate_type_balanced_mean(100.0 * (rng.random(len(types)) < expected), types)
        low, high = present(balanced).interval()
        covered += low <= truth <= high
    assert covered / times > 0.93


def test_missing_labels_are_in_no_group() -> None:
    scores = table([{"more": 1.0, "less": 0.0}] * 6, templates=["a", "b"] * 3)
    scores["direction"] = scores["direction"].where(scores["item"] != "p0002")
    scores["subtype"] = np.where(scores["item"] < "p0003", "x", None)
    records = measure(scores)
    sizes = {(r.view, r.group): r.n for r in records if r.measure in ("CPS", "stereotype score")}
    assert sizes == {("all", "all"): 6, ("bias_type", "gender"): 6, ("subtype", "x"): 3, ("direction", "stereo"): 5}
    without = measure(scores.drop(columns=["direction", "subtype"]))
    assert {r.view for r in without} == {"all", "bias_type"}
    assert isinstance(scores, pd.DataFrame)
