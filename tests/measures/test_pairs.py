"""The measures of sentence pairs, against their definitions and against `estimates`."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.measures.present import present
from tests.measures.simulated import as_factor
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import DataError
from tiltmeter.measures.estimates import Mean, Share, compute_two_sided_p
from tiltmeter.measures.pairs import FEWEST_FOR_S_JSD, compute_pair_differences, measure
from tiltmeter.measures.records import Record
from tiltmeter.measures.verdict_rule import assign_verdicts

CASE = {"model": "m", "benchmark": "crows-pairs", "part": "all", "language": "en", "protocol": "published"}
MASKED_ROLES = ("more", "less", "s_jsd", "b_s_jsd", "shared_tokens", "hits_more", "hits_less")


def table(
    numbers: list[dict[str, float]],
    labels: list[tuple[str, str]] | None = None,
    templates: list[str] | None = None,
    **case: str,
) -> pd.DataFrame:
    """Scores of pairs 0, 1, …, by role."""
    labels = labels or [("gender", "stereo")] * len(numbers)
    return pd.DataFrame(
        [
            {
                **CASE,
                **case,
                "item": f"p{number:04}",
                "candidate": "",
                "bias_type": bias_type,
                "direction": direction,
                "role": role,
                "score": score,
                **({"template": templates[number]} if templates else {}),
            }
            for number, (scores, (bias_type, direction)) in enumerate(zip(numbers, labels, strict=True))
            for role, score in scores.items()
        ]
    )


def random_pairs(n: int, seed: int = 1) -> list[dict[str, float]]:
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(n):
        tokens = int(rng.integers(3, 20))
        lean = float(rng.normal(-0.01, 0.03))
        pairs.append(
            {
                "more": float(rng.integers(-45, -35)),
                "less": float(rng.integers(-45, -35)),
                "s_jsd": lean,
                "b_s_jsd": float(lean < 0),
                "shared_tokens": float(tokens),
                "hits_more": float(rng.integers(0, tokens + 1)),
                "hits_less": float(rng.integers(0, tokens + 1)),
            }
        )
    return pairs


def random_labels(n: int, seed: int = 2) -> list[tuple[str, str]]:
    rng = np.random.default_rng(seed)
    return [(str(rng.choice(["age", "gender"])), str(rng.choice(["stereo", "antistereo"]))) for _ in range(n)]


def by_name(records: list[Record], view: str = "all", group: str = "all") -> dict[str, Record]:
    return {record.measure: record for record in records if (record.view, record.group) == (view, group)}


def column(pairs: list[dict[str, float]], role: str) -> np.ndarray:
    return np.array([pair[role] for pair in pairs])


@pytest.mark.parametrize("intervals", [True, False])
def test_percentages_and_means_match_their_definitions(intervals: bool) -> None:
    pairs = random_pairs(80)
    result = by_name(measure(table(pairs), intervals=intervals))
    ups, ties = (sum(test(p["more"], p["less"]) for p in pairs) for test in (float.__gt__, float.__eq__))
    assert ties > 5
    assert result["CPS"].value == pytest.approx(100 * (ups + ties / 2) / 80)
    assert result["CPS as published"].value == pytest.approx(100 * ups / 80)
    assert result["S_JSD x 1e3"].value == pytest.approx(1000 * sum(p["s_jsd"] for p in pairs) / 80)
    assert result["B.S_JSD"].value == pytest.approx(100 * sum(p["s_jsd"] < 0 for p in pairs) / 80)
    tokens = sum(p["shared_tokens"] for p in pairs)
    assert result["accuracy more"].value == pytest.approx(100 * sum(p["hits_more"] for p in pairs) / tokens)
    assert result["accuracy less"].value == pytest.approx(100 * sum(p["hits_less"] for p in pairs) / tokens)
    assert result["ties"].value == ties
    assert {name: record.ideal for name, record in result.items() if record.ideal is not None} == {
        "CPS": 50.0,
        "CPS as published": 50.0,
        "S_JSD x 1e3": 0.0,
        "B.S_JSD": 50.0,
    }
    assert {record.n for record in result.values()} == {80}
    has_interval = {name for name, record in result.items() if record.low is not None}
    assert has_interval == (set(result) - {"ties"} if intervals else set())


def test_intervals_and_tests_match_the_estimates() -> None:
    pairs = random_pairs(150)
    result = by_name(measure(table(pairs)))
    more, less = column(pairs, "more"), column(pairs, "less")
    estimates = {
        "CPS": (Share.from_values(np.where(more == less, 50.0, 100.0 * (more > less))), 50.0),
        "CPS as published": (Share.from_values(100.0 * (more > less)), None),
        "S_JSD x 1e3": (Mean.from_values(1000 * column(pairs, "s_jsd")), 0.0),
        "B.S_JSD": (Share.from_values(100 * column(pairs, "b_s_jsd")), 50.0),
    }
    for name, (estimate, ideal) in estimates.items():
        record = result[name]
        assert (record.low, record.high) == pytest.approx(estimate.interval()), name
        assert record.standard_error == pytest.approx(estimate.standard_error.value), name
        assert record.p_value == (None if ideal is None else pytest.approx(compute_two_sided_p(estimate, ideal))), name
    plain = stats.ttest_1samp(column(pairs, "s_jsd"), 0.0).pvalue
    assert plain <= (result["S_JSD x 1e3"].p_value or 0) < 10 * plain
    assert (result["CPS"].margin, result["S_JSD x 1e3"].margin, result["B.S_JSD"].margin) == (5.0, 2.5, None)


def test_accuracy_is_a_share_of_tokens_with_pairs_as_sampling_units() -> None:
    """The delta method of a ratio of sums, against the jackknife."""
    pairs = random_pairs(120)
    hits, tokens = column(pairs, "hits_more"), column(pairs, "shared_tokens")
    result = by_name(measure(table(pairs)))["accuracy more"]
    left_out = np.array([100 * np.delete(hits, i).sum() / np.delete(tokens, i).sum() for i in range(120)])
    jackknife = math.sqrt(119 / 120 * np.sum((left_out - left_out.mean()) ** 2))
    assert result.standard_error == pytest.approx(jackknife, rel=0.02)
    assert result.p_value is None


def test_pairs_made_from_templates_are_clustered_by_them() -> None:
    rng = np.random.default_rng(4)
    templates = [f"template {number // 10}" for number in range(120)]
    leans = rng.normal(0, 2, 12)
    pairs = [
        {
            "more": float(rng.normal(leans[number // 10])),
            "less": 0.0,
            "s_jsd": float(rng.normal(leans[number // 10])) / 1e3,
            "b_s_jsd": 1.0,
        }
        | {"shared_tokens": 5.0, "hits_more": float(rng.integers(0, 6)), "hits_less": 2.0}
        for number in range(120)
    ]
    clustered, independent = by_name(measure(table(pairs, templates=templates))), by_name(measure(table(pairs)))
    for name in ("CPS", "CPS as published", "S_JSD x 1e3"):
        assert clustered[name].clusters == 12
        assert independent[name].clusters is None
        assert clustered[name].value == independent[name].value
        assert (clustered[name].standard_error or 0) > 1.5 * (independent[name].standard_error or 0)
    assert clustered["accuracy more"].clusters == 12
    share = Share.from_values(
        100.0 * (column(pairs, "more") > 0), as_factor(np.array(templates, dtype=object), "template")
    )
    assert (clustered["CPS"].low, clustered["CPS"].high) == pytest.approx(share.interval())
    # A column with a single value is ignored. A pair without a template is a cluster of its own.
    for labels, clusters in ((["t"] * 120, None), ([*templates[:-1], None], 13)):
        assert by_name(measure(table(pairs, templates=labels)))["CPS"].clusters == clusters  # type: ignore[arg-type]


def test_ties_count_as_half_in_cps_and_against_it_as_published() -> None:
    pairs = [{"more": 1.0, "less": 0.0}] * 3 + [{"more": 0.0, "less": 1.0}] + [{"more": 0.0, "less": 0.0}] * 4
    result = by_name(measure(table(pairs)))
    assert (result["CPS"].value, result["CPS"].n) == (62.5, 8)
    assert (result["CPS as published"].value, result["CPS as published"].n) == (37.5, 8)
    assert (result["ties"].value, result["ties"].n) == (4, 8)


def test_scores_by_direction_exclude_ties() -> None:
    pairs = [
        {"more": 2.0, "less": 1.0},
        {"more": 2.0, "less": 1.0},
        {"more": 1.0, "less": 2.0},
        {"more": 1.0, "less": 1.0},
        {"more": 3.0, "less": 4.0},
    ]
    labels = [("age", "stereo")] * 4 + [("age", "antistereo")]
    records = measure(table(pairs, labels))
    stereo, anti = by_name(records, "direction", "stereo"), by_name(records, "direction", "antistereo")
    assert "CPS" not in stereo
    assert stereo["stereotype score"].value == pytest.approx(200 / 3)
    assert stereo["stereotype score"].n == 3
    assert stereo["ties"].value == 1
    assert anti["anti-stereotype score"].value == 0.0


def test_pairs_that_all_tie_have_no_score_by_direction() -> None:
    records = measure(table([{"more": 1.0, "less": 1.0}] * 3))
    assert "stereotype score" not in by_name(records, "direction", "stereo")
    assert by_name(records)["CPS"].value == 50
    assert by_name(records)["CPS"].p_value == 1
    assert by_name(records)["CPS as published"].value == 0


def test_bias_types_are_measured_separately() -> None:
    pairs, labels = random_pairs(80), random_labels(80)
    records = measure(table(pairs, labels))
    for bias_type in ("age", "gender"):
        chosen = [number for number, label in enumerate(labels) if label[0] == bias_type]
        alone = by_name(measure(table([pairs[number] for number in chosen])))
        for name, record in by_name(records, "bias_type", bias_type).items():
            for field in ("value", "low", "high", "n", "p_value", "p_equivalence", "why"):
                assert getattr(record, field) == getattr(alone[name], field)


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=30))
@settings(max_examples=25)
def test_intervals_include_the_value_and_swapping_mirrors_them(scores: list[tuple[int, int]]) -> None:
    forth = by_name(measure(table([{"more": float(a), "less": float(b)} for a, b in scores])))["CPS"]
    back = by_name(measure(table([{"more": float(b), "less": float(a)} for a, b in scores])))["CPS"]
    assert forth.value + back.value == pytest.approx(100)
    assert 0 <= present(forth.low) <= forth.value <= present(forth.high) <= 100
    assert forth.p_value == pytest.approx(back.p_value)
    assert (back.low, back.high) == pytest.approx((100 - present(forth.high), 100 - present(forth.low)), abs=1e-6)


def test_unanimous_pairs_have_an_interval_of_positive_width() -> None:
    result = by_name(measure(table([{"more": 1.0, "less": 0.0}] * 10)))["CPS"]
    assert (result.value, result.high) == (100, 100)
    assert result.low == pytest.approx(100 * 0.05**0.1)


def test_a_single_pair() -> None:
    pair = {"more": -1.0, "less": -2.0, "difference": 0.1}
    result = by_name(measure(table([pair])))
    assert (result["CPS"].value, result["CPS"].high) == (100, 100)
    assert result["CPS"].low == pytest.approx(5.0)
    difference = result["mean difference per token"]
    assert (difference.value, difference.low, difference.p_value) == (0.1, None, None)
    assert difference.why


# Where there is no interval


@pytest.mark.parametrize("n", [1, 20, 59, 60, 212])
def test_fewer_than_sixty_pairs_have_no_interval_of_s_jsd(n: int) -> None:
    record = by_name(assign_verdicts(measure(table(random_pairs(n)))))["S_JSD x 1e3"]
    enough = n >= FEWEST_FOR_S_JSD == 60
    assert (record.low is not None) == enough
    assert (record.p_value is not None) == enough
    assert (record.why is None) == enough
    assert record.margin == 2.5
    if not enough:
        assert str(n) in (record.why or "")
        assert "60" in (record.why or "")
        assert present(record.verdict).kind == "too few"
        assert present(record.verdict).reason == record.why


def test_a_dominant_outlier_leaves_no_interval() -> None:
    pairs = random_pairs(100)
    pairs[7] |= {"s_jsd": -0.9}
    record = by_name(measure(table(pairs)))["S_JSD x 1e3"]
    assert (record.low, record.p_value) == (None, None)
    assert "one pair" in (record.why or "")


def test_one_of_three_pairs_may_be_an_outlier_and_one_of_two_is_half() -> None:
    def per_token(*values: float) -> Record:
        pairs = [{"more": 1.0, "less": 0.0, "difference": value} for value in values]
        return by_name(measure(table(pairs)))["mean difference per token"]

    assert_mentions(per_token(0.0, 0.0, 0.9).why or "", "one pair", "67%")
    assert per_token(0.0, 0.45, 0.9).low is not None
    # Both are half of the spread, up to rounding.
    assert all(per_token(0.1, value).low is not None for value in np.linspace(0.2, 0.9, 8))


def test_equal_pairs_have_no_interval_of_a_mean() -> None:
    pairs = [pair | {"s_jsd": 0.01, "b_s_jsd": 0.0} for pair in random_pairs(80)]
    result = by_name(measure(table(pairs)))
    assert result["S_JSD x 1e3"].low is None
    assert "same value" in (result["S_JSD x 1e3"].why or "")
    assert result["B.S_JSD"].low is not None


def test_without_intervals_there_are_no_reasons() -> None:
    for record in measure(table(random_pairs(20)), intervals=False):
        assert (record.low, record.p_value, record.why, record.margin, record.standard_error) == (None,) * 5


def test_margins_can_be_set() -> None:
    result = by_name(measure(table(random_pairs(100)), margins={"CPS": 7.0, "S_JSD x 1e3": 4.0}))
    assert (result["CPS"].margin, result["S_JSD x 1e3"].margin) == (7.0, 4.0)
    few = by_name(measure(table(random_pairs(30)), margins={"S_JSD x 1e3": 4.0}))
    assert few["S_JSD x 1e3"].margin == 4.0


def test_likelihoods_give_no_s_jsd() -> None:
    pairs = [{"more": -3.0 - n, "less": -4.0, "tokens_more": 4.0, "difference": 0.1 * n - 0.3} for n in range(8)]
    result = by_name(measure(table(pairs, protocol="likelihood")))
    assert list(result) == ["CPS", "CPS as published", "ties", "mean difference per token"]
    record = result["mean difference per token"]
    assert (record.value, record.ideal, record.margin) == (pytest.approx(0.05), 0.0, None)
    # Evenly spaced numbers have no skewness to correct.
    assert record.p_value == pytest.approx(stats.ttest_1samp([0.1 * n - 0.3 for n in range(8)], 0).pvalue)


def test_records_do_not_depend_on_row_order_or_other_portions() -> None:
    tables = [
        table(random_pairs(70), random_labels(70)),
        table(random_pairs(30, seed=5), random_labels(30), language="de"),
        table([{"more": 1.0, "less": 0.0, "difference": 0.5}] * 30, protocol="likelihood", model="n"),
    ]
    together = pd.concat(tables, ignore_index=True)
    shuffled = together.sample(frac=1, random_state=3)
    assert sorted(map(repr, measure(shuffled))) == sorted(map(repr, measure(together)))
    assert sorted(map(repr, measure(together))) == sorted(repr(r) for scores in tables for r in measure(scores))


def test_differences_of_pairs() -> None:
    pairs = random_pairs(20)
    result = compute_pair_differences(pd.concat([table(pairs), table(pairs[:5], language="de")], ignore_index=True))
    assert result.groupby("language").size().to_dict() == {"de": 5, "en": 20}
    assert result["difference"][:20].tolist() == pytest.approx([p["more"] - p["less"] for p in pairs])
    assert list(compute_pair_differences(table(pairs).head(0)).columns) == list(result.columns)


def test_an_empty_table_has_no_records() -> None:
    assert measure(table(random_pairs(1)).head(0)) == []


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (lambda t: t.drop(columns="bias_type"), ["column bias_type"]),
        (lambda t: t.assign(score=t["score"].where(t.index != 3)), ["item p0000", "column score"]),
        (lambda t: t.assign(score=t["score"].where(t.index != 3, np.inf)), ["item p0000", "not a finite number"]),
        (lambda t: pd.concat([t, t.iloc[[4]]]), ["item p0000", "second score"]),
        (lambda t: t[t.index != 9], ["item p0001", "role s_jsd"]),
        (lambda t: t[t["role"] != "less"], ["no counterpart", "role less"]),
        (lambda t: t.assign(bias_type=t["bias_type"].where(t.index != 3, "x")), ["more than one bias_type"]),
        (lambda t: t.assign(template=["x", *["y"] * (len(t) - 1)]), ["more than one template"]),
    ],
)
def test_invalid_tables_are_errors_that_name_the_pair(change: Any, parts: list[str]) -> None:
    with raises_mentioning(DataError, *parts):
        measure(change(table(random_pairs(3))))
