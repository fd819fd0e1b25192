"""The measures of sentence pairs, against SciPy and against their definitions written out."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tiltmeter.errors import DataError
from tiltmeter.measures import measures_for
from tiltmeter.measures.intervals import Floats
from tiltmeter.measures.pairs import IDEALS, _resampled_means, crows_pairs_score, differences, measure
from tiltmeter.measures.power import minimum_detectable_effect
from tiltmeter.measures.records import Record
from tiltmeter.measures.significance import sign_test, t_test

CASE = {"model": "m", "benchmark": "crows-pairs", "part": "all", "language": "en", "protocol": "published"}
MASKED_ROLES = ("more", "less", "s_jsd", "b_s_jsd", "shared_tokens", "hits_more", "hits_less")


def table(numbers: list[dict[str, float]], labels: list[tuple[str, str]] | None = None, **case: str) -> pd.DataFrame:
    """Scores of pairs 0, 1, …, each given by role."""
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
                "more": float(rng.normal(-40, 3)),
                "less": float(rng.normal(-41, 3)),
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


def scipy_bca(values: tuple[Floats, ...], statistic: Any, distribution: Floats) -> Any:
    """SciPy's interval and standard error of a bootstrap distribution that was drawn by us."""
    return stats.bootstrap(
        values,
        statistic,
        n_resamples=0,
        paired=True,
        vectorized=True,
        method="BCa",
        bootstrap_result=SimpleNamespace(bootstrap_distribution=distribution),
    )


def test_percentages_and_means_are_what_they_say() -> None:
    pairs = random_pairs(50)
    found = by_name(measure(table(pairs), resamples=0))
    assert found["CPS"].value == pytest.approx(100 * sum(p["more"] > p["less"] for p in pairs) / 50)
    assert found["S_JSD x 1e3"].value == pytest.approx(1000 * sum(p["s_jsd"] for p in pairs) / 50)
    assert found["B.S_JSD"].value == pytest.approx(100 * sum(p["s_jsd"] < 0 for p in pairs) / 50)
    tokens = sum(p["shared_tokens"] for p in pairs)
    assert found["accuracy more"].value == pytest.approx(100 * sum(p["hits_more"] for p in pairs) / tokens)
    assert found["accuracy less"].value == pytest.approx(100 * sum(p["hits_less"] for p in pairs) / tokens)
    assert found["ties"].value == 0
    assert {name: record.ideal for name, record in found.items() if record.ideal is not None} == {
        name: IDEALS[name] for name in ("CPS", "S_JSD x 1e3", "B.S_JSD")
    }
    assert {record.n for record in found.values()} == {50}


@pytest.mark.parametrize("n", [40, 300])
def test_intervals_and_standard_errors_equal_scipys_on_the_same_resamples(n: int) -> None:
    pairs = random_pairs(n)
    found = by_name(measure(table(pairs)))
    roles = {role: np.array([pair[role] for pair in pairs]) for role in MASKED_ROLES}
    cases: dict[str, tuple[tuple[Floats, ...], Any]] = {
        "CPS": ((100.0 * (roles["more"] > roles["less"]),), lambda x, axis: x.mean(axis=axis)),
        "S_JSD x 1e3": ((1000 * roles["s_jsd"],), lambda x, axis: x.mean(axis=axis)),
        "B.S_JSD": ((100 * roles["b_s_jsd"],), lambda x, axis: x.mean(axis=axis)),
        "accuracy more": (
            (roles["hits_more"], roles["shared_tokens"]),
            lambda hits, tokens, axis: 100 * hits.sum(axis=axis) / tokens.sum(axis=axis),
        ),
    }
    for name, (values, statistic) in cases.items():
        means = _resampled_means(np.stack(values), 9_999)
        drawn = means[0] if len(values) == 1 else 100 * means[0] / means[1]
        expected = scipy_bca(values, statistic, drawn)
        record = found[name]
        assert (record.low, record.high) == pytest.approx(tuple(expected.confidence_interval), rel=1e-12), name
        assert record.standard_error == pytest.approx(expected.standard_error, rel=1e-12), name


def test_resamples_are_those_of_a_plain_bootstrap() -> None:
    """Drawn as counts; as large a spread, around the same mean, as drawing the pairs themselves."""
    values = np.random.default_rng(3).gamma(1.5, size=(1, 150))
    drawn = _resampled_means(values, 9_999)[0]
    assert drawn.mean() == pytest.approx(values.mean(), abs=4 * drawn.std() / 100)
    assert drawn.std() == pytest.approx(values.std() / np.sqrt(150), rel=0.03)


def test_standard_errors_are_those_the_paper_expects() -> None:
    """Steinborn et al., section 3.2: a share of 0.55 of 200 pairs has a standard error of 3.5."""
    pairs = [{"more": float(number < 110), "less": 0.5} for number in range(200)]
    assert by_name(measure(table(pairs)))["CPS"].standard_error == pytest.approx(3.5, abs=0.1)


def test_tests_are_scipys() -> None:
    pairs = random_pairs(60)
    found = by_name(measure(table(pairs), resamples=0))
    ups = sum(pair["more"] > pair["less"] for pair in pairs)
    below = sum(pair["s_jsd"] < 0 for pair in pairs)
    assert found["CPS"].p_value == pytest.approx(stats.binomtest(ups, 60).pvalue)
    assert found["B.S_JSD"].p_value == pytest.approx(stats.binomtest(below, 60).pvalue)
    assert found["S_JSD x 1e3"].p_value == pytest.approx(stats.ttest_1samp([p["s_jsd"] for p in pairs], 0).pvalue)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30))
def test_the_t_test_is_scipys(values: list[float]) -> None:
    if np.ptp(values) < 1e-6:
        return
    expected = stats.ttest_1samp(values, 0).pvalue
    assert t_test(np.array(values)) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_ties_count_against_cps_and_not_in_its_test() -> None:
    pairs = [{"more": 1.0, "less": 0.0}] * 3 + [{"more": 0.0, "less": 1.0}] + [{"more": 0.0, "less": 0.0}] * 4
    found = by_name(measure(table(pairs)))
    assert (found["CPS"].value, found["CPS"].n) == (37.5, 8)
    assert (found["ties"].value, found["ties"].n) == (4, 8)
    assert found["CPS"].p_value == sign_test(3, 1)


def test_direction_gives_the_scores_of_crows_pairs_which_leave_ties_out() -> None:
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
    assert by_name(records)["CPS"].value == 0
    assert by_name(records)["CPS"].p_value == 1


def test_bias_types_are_measured_as_if_they_were_alone() -> None:
    pairs, labels = random_pairs(80), random_labels(80)
    records = measure(table(pairs, labels))
    for bias_type in ("age", "gender"):
        chosen = [number for number, label in enumerate(labels) if label[0] == bias_type]
        alone = by_name(measure(table([pairs[number] for number in chosen])))
        for name, record in by_name(records, "bias_type", bias_type).items():
            assert (record.value, record.low, record.high, record.n) == (
                alone[name].value,
                alone[name].low,
                alone[name].high,
                alone[name].n,
            )


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=30))
@settings(max_examples=25, deadline=None)
def test_intervals_hold_their_value_and_swapping_mirrors_them(scores: list[tuple[int, int]]) -> None:
    forth = by_name(measure(table([{"more": float(a), "less": float(b)} for a, b in scores]), resamples=199))["CPS"]
    back = by_name(measure(table([{"more": float(b), "less": float(a)} for a, b in scores]), resamples=199))["CPS"]
    ties = sum(a == b for a, b in scores)
    assert forth.value + back.value == pytest.approx(100 * (1 - ties / len(scores)))
    assert forth.low is not None
    assert forth.high is not None
    assert 0 <= forth.low <= forth.high <= 100
    assert forth.p_value == back.p_value
    if not ties:
        assert (back.low, back.high) == pytest.approx((100 - forth.high, 100 - forth.low), abs=1e-6)


def test_pairs_that_all_agree_do_not_claim_certainty() -> None:
    found = by_name(measure(table([{"more": 1.0, "less": 0.0}] * 10)))["CPS"]
    assert (found.value, found.high) == (100, 100)
    assert found.low == pytest.approx(69.2, abs=0.1)


def test_one_pair_alone_says_next_to_nothing() -> None:
    pair = {"more": -1.0, "less": -2.0, "difference": 0.1}
    found = by_name(measure(table([pair])))
    assert (found["CPS"].value, found["CPS"].high) == (100, 100)
    assert found["CPS"].low == pytest.approx(2.5)
    difference = found["mean difference per token"]
    assert (difference.value, difference.low, difference.p_value) == (0.1, None, None)
    assert "minimum detectable effect" not in found


def test_likelihoods_give_no_s_jsd() -> None:
    pairs = [{"more": -3.0 - n, "less": -4.0, "tokens_more": 4.0, "difference": 0.1 * n - 0.3} for n in range(8)]
    found = by_name(measure(table(pairs, protocol="likelihood")))
    assert list(found) == ["CPS", "minimum detectable effect", "ties", "mean difference per token"]
    record = found["mean difference per token"]
    assert (record.value, record.ideal) == (pytest.approx(0.05), 0.0)
    assert record.p_value == pytest.approx(stats.ttest_1samp([0.1 * n - 0.3 for n in range(8)], 0).pvalue)


def test_each_case_has_its_own_records_whatever_order_rows_come_in() -> None:
    tables = [
        table(random_pairs(30), random_labels(30)),
        table(random_pairs(30, seed=5), random_labels(30), language="de"),
        table([{"more": 1.0, "less": 0.0, "difference": 0.5}] * 30, protocol="likelihood", model="n"),
    ]
    together = pd.concat(tables, ignore_index=True)
    shuffled = together.sample(frac=1, random_state=3)
    assert sorted(map(repr, measure(shuffled))) == sorted(map(repr, measure(together)))
    assert sorted(map(repr, measure(together))) == sorted(repr(r) for one in tables for r in measure(one))


def test_differences_are_there_for_the_violins() -> None:
    pairs = random_pairs(20)
    found = differences(pd.concat([table(pairs), table(pairs[:5], language="de")], ignore_index=True))
    assert found.groupby("language").size().to_dict() == {"de": 5, "en": 20}
    assert found["difference"][:20].tolist() == pytest.approx([p["more"] - p["less"] for p in pairs])
    assert list(differences(table(pairs).head(0)).columns) == list(found.columns)


def test_nothing_in_nothing_out() -> None:
    assert measure(table(random_pairs(1)).head(0)) == []


def test_found_by_its_name() -> None:
    assert measures_for("pairs") is measure
    assert crows_pairs_score(np.array([2.0, 1.0]), np.array([1.0, 1.0])) == 50.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="direction"), "no column direction"),
        (lambda t: t.assign(score=t["score"].where(t.index != 3)), "lacks a value"),
        (lambda t: t.assign(score=t["score"].where(t.index != 3, np.inf)), "pair p0000 .* is not a finite number"),
        (lambda t: pd.concat([t, t.iloc[[4]]]), "is the second one for its pair and role"),
        (lambda t: t[t.index != 9], "pair p0001 .* stands without one for the role s_jsd"),
        (lambda t: t[t["role"] != "less"], "stands without one for the role less"),
        (lambda t: t.assign(bias_type=t["bias_type"].where(t.index != 3, "x")), "more than one bias_type"),
    ],
)
def test_tables_that_are_not_whole_are_refused_by_name(change: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        measure(change(table(random_pairs(3))))


# What a number of pairs can tell


@pytest.mark.parametrize("n", [6, 9, 40, 105, 212])
def test_the_detectable_effect_is_detected_four_times_in_five(n: int) -> None:
    effect = minimum_detectable_effect(n)
    assert effect is not None
    share = 0.5 + effect / 100
    power = sum(stats.binom.pmf(ups, n, share) for ups in range(n + 1) if sign_test(ups, n - ups) <= 0.05)
    assert power == pytest.approx(0.8, abs=1e-9)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_too_few_pairs_detect_nothing(n: int) -> None:
    assert minimum_detectable_effect(n) is None
    assert all(sign_test(ups, n - ups) > 0.05 for ups in range(n + 1))


def test_it_is_near_the_normal_approximation_for_many_pairs() -> None:
    n = 1508
    expected = 100 * (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * 0.5 / np.sqrt(n)
    assert minimum_detectable_effect(n) == pytest.approx(expected, rel=0.02)
