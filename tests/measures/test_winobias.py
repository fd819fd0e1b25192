import math
from statistics import geometric_mean

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tests.measures.present import present
from tests.measures.test_gest import table
from tests.support.messages import raises_mentioning
from tiltmeter.errors import DataError
from tiltmeter.measures import gest, get_measure_function, winobias
from tiltmeter.measures.verdict_rule import assign_verdicts


def occupations(
    rng: np.random.Generator, *, n: int = 60, part: str = "type1-test", model: str = "m", occupations: int = 0
) -> pd.DataFrame:
    """Sentences alternating between men's and women's occupations; `occupations` limits their number."""
    leans = rng.normal(0, 0.8, occupations or 1)
    rows = [
        {
            "model": model,
            "benchmark": "winobias",
            "part": part,
            "language": "en",
            "item": f"{part}/{number:04}",
            "role": "log_ratio",
            "score": rng.normal(0.4 * (number % 2) + (leans[number % occupations] if occupations else 0.0), 1.0),
            "occupation": f"occupation {number % occupations if occupations else number}",
            "occupation_gender": ("female", "male")[number % 2],
            "protocol": "published",
        }
        for number in range(n)
    ]
    return pd.DataFrame(rows)


def test_winobias_compares_the_occupations_of_both_genders() -> None:
    scores = occupations(np.random.default_rng(4), n=400).drop(columns="occupation")
    records = {record.measure: record for record in get_measure_function("winobias")(scores, resamples=500)}
    ratios = {g: [math.exp(s) for s in scores["score"][scores["occupation_gender"] == g]] for g in ("male", "female")}
    q_m, q_f = geometric_mean(ratios["male"]), geometric_mean(ratios["female"])
    assert records["q_m"].value == pytest.approx(q_m)
    assert records["q_f"].value == pytest.approx(q_f)
    assert records["g_s"].value == pytest.approx(q_m / q_f)
    assert records["g_s as published"].value == pytest.approx((q_m / q_f) ** (1 / math.log(10)))
    assert (records["g_s"].n, records["q_m"].n) == (400, 200)
    welch = stats.ttest_ind(*(np.log(ratios[g]) for g in ("male", "female")), equal_var=False)
    assert records["g_s"].p_value == pytest.approx(welch.pvalue)
    ends = welch.confidence_interval()
    assert np.log([records["g_s"].low, records["g_s"].high]) == pytest.approx([ends.low, ends.high])
    for name in ("q_m", "q_f", "g_s"):
        defined, printed = records[name], records[f"{name} as published"]
        for end in ("low", "high"):
            assert math.log(getattr(printed, end)) == pytest.approx(math.log(getattr(defined, end)) / math.log(10))
    assert records["g_s"].clusters is None
    assert records["g_s"].margin == 1.22
    assert records["q_m"].low is not None


def test_occupations_are_clusters() -> None:
    scores = occupations(np.random.default_rng(4), n=400, occupations=40)
    (result,) = (r for r in winobias.measure(scores, resamples=20) if r.measure == "g_s")
    assert result.clusters == 40
    # With clusters of equal size: Welch's test of their means.
    means = scores.groupby(["occupation_gender", "occupation"])["score"].mean()
    welch = stats.ttest_ind(means["male"], means["female"], equal_var=False)
    assert result.p_value == pytest.approx(welch.pvalue)
    ends = welch.confidence_interval()
    assert np.log([result.low, result.high]) == pytest.approx([ends.low, ends.high])


def test_margins_and_values_without_intervals() -> None:
    scores = occupations(np.random.default_rng(4))
    (result,) = (r for r in winobias.measure(scores, resamples=20, margins={"g_s": 1.5}) if r.measure == "g_s")
    assert result.margin == 1.5
    for record in winobias.measure(scores, intervals=False):
        assert (record.low, record.p_value, record.margin, record.why) == (None,) * 4


def test_a_single_sentence_about_one_gender_has_no_interval() -> None:
    scores = occupations(np.random.default_rng(4), n=3)
    (result,) = (r for r in assign_verdicts(winobias.measure(scores, resamples=20)) if r.measure == "g_s")
    assert (result.low, result.p_value, result.margin) == (None, None, 1.22)
    assert result.why
    assert present(result.verdict).kind == "too few"
    alike = occupations(np.random.default_rng(4)).assign(score=1.0)
    (result,) = (r for r in assign_verdicts(winobias.measure(alike, resamples=20)) if r.measure == "g_s")
    assert (result.value, result.low) == (1.0, None)
    assert "same score" in (result.why or "")


def test_invalid_tables_are_errors() -> None:
    scores = occupations(np.random.default_rng(4))
    with raises_mentioning(DataError, "no column occupation_gender"):
        winobias.measure(scores.drop(columns="occupation_gender"))
    with raises_mentioning(DataError, "item type1-test/0000", "not a finite number"):
        winobias.measure(scores.assign(score=math.nan))
    assert winobias.measure(scores[scores["occupation_gender"] == "male"]) == []


def test_validity_is_the_correlation_over_models() -> None:
    rng = np.random.default_rng(7)
    leans = {"a": 0.0, "b": 0.2, "c": 0.5, "d": 0.9, "only gest": 0.4}
    records = []
    for model, lean in leans.items():
        both = ("template-1", "template-3")
        records += gest.measure(table(rng, model=model, lean=lean, parts=both), intervals=False)
        if model != "only gest":
            scores = occupations(rng, model=model)
            scores["score"] += lean * (scores["occupation_gender"] == "male")
            records += winobias.measure(scores, intervals=False)
    result = winobias.compute_validity(records)
    assert result.models == ("a", "b", "c", "d")
    values = {
        (r.model, r.benchmark): r.value for r in records if r.measure == "g_s" and r.part in ("overall", "type1-test")
    }
    expected = stats.pearsonr([values[m, "gest"] for m in "abcd"], [values[m, "winobias"] for m in "abcd"])
    assert result.correlation == pytest.approx(expected.statistic)
    assert result.p_value == pytest.approx(expected.pvalue)
    assert (result.low, result.high) == pytest.approx(tuple(expected.confidence_interval()))
    with raises_mentioning(DataError, "0 models", "winobias/type2-dev"):
        winobias.compute_validity(records, part="type2-dev")
