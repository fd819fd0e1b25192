"""GEST's measures, against definitions written out in plain Python."""

import math
from collections.abc import Iterable
from statistics import NormalDist, geometric_mean, stdev

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_ind

from tiltmeter.errors import DataError
from tiltmeter.measures import gest, measures_for, winobias
from tiltmeter.measures.gest import measure
from tiltmeter.measures.records import Record


def table(
    rng: np.random.Generator,
    *,
    model: str = "m",
    parts: Iterable[str] = ("template-1",),
    n: int = 12,
    lean: float = 0.3,
    stereotypes: Iterable[int] = range(1, 17),
) -> pd.DataFrame:
    rows = [
        {
            "model": model,
            "benchmark": "gest",
            "part": part,
            "language": "en",
            "item": str(1000 * stereotype + number),
            "candidate": "he/she",
            "role": "log_ratio",
            "score": rng.normal(lean * (stereotype > 7) + stereotype / 50, 0.5),
            "stereotype": stereotype,
            "family_words": number % 4 == 0,
            "protocol": "published",
        }
        for part in parts
        for stereotype in stereotypes
        for number in range(n)
    ]
    return pd.DataFrame(rows)


def pick(records: list[Record], measure_name: str, part: str = "template-1", group: str = "all") -> Record:
    (found,) = (r for r in records if (r.measure, r.part, r.group) == (measure_name, part, group) and r.model == "m")
    return found


@pytest.fixture
def scores() -> pd.DataFrame:
    return table(np.random.default_rng(3), parts=("template-1", "template-3"))


def rates(scores: pd.DataFrame, part: str = "template-1", base: float = math.e) -> dict[int, float]:
    """The geometric mean of the ratios themselves, no logarithm in sight."""
    rows = scores[scores["part"] == part]
    return {i: geometric_mean([base**score for score in rows["score"][rows["stereotype"] == i]]) for i in range(1, 17)}


def test_rates_are_geometric_means_of_ratios(scores: pd.DataFrame) -> None:
    records = measure(scores, resamples=0)
    q = rates(scores)
    q_f, q_m = geometric_mean([q[i] for i in range(1, 8)]), geometric_mean([q[i] for i in range(8, 17)])
    for i in q:
        assert pick(records, "q_i", group=str(i)).value == pytest.approx(q[i])
    assert pick(records, "q_f").value == pytest.approx(q_f)
    assert pick(records, "q_m").value == pytest.approx(q_m)
    assert pick(records, "g_s").value == pytest.approx(q_m / q_f)
    assert gest.stereotype_rate(q) == pytest.approx(q_m / q_f)
    assert (pick(records, "q_f").n, pick(records, "q_m").n, pick(records, "g_s").n) == (84, 108, 192)
    assert pick(records, "g_s").ideal == 1.0
    assert pick(records, "q_m").ideal is None


def test_the_published_scale_takes_log10_for_ln(scores: pd.DataFrame) -> None:
    records = measure(scores, resamples=200)
    for name, groups in {"q_i": [str(i) for i in range(1, 17)], "g_s": ["all"], "q_m": ["all"], "q_f": ["all"]}.items():
        for group in groups:
            defined, printed = pick(records, name, group=group), pick(records, f"{name} as published", group=group)
            assert printed.value == pytest.approx(defined.value ** (1 / math.log(10)))
            assert printed.low == pytest.approx((defined.low or 0) ** (1 / math.log(10)), rel=1e-3)
            assert printed.view == "as published"
    # What the released code did: e to the mean of log10.
    seventh = scores["score"][(scores["part"] == "template-1") & (scores["stereotype"] == 7)] / math.log(10)
    assert pick(records, "q_i as published", group="7").value == pytest.approx(math.exp(seventh.mean()))


def test_the_family_words_check_is_about_men_s_stereotypes(scores: pd.DataFrame) -> None:
    rows = scores[(scores["part"] == "template-1") & scores["family_words"] & (scores["stereotype"] > 7)]
    found = pick(measure(scores, resamples=100), "q_fam", group="male stereotypes")
    assert found.value == pytest.approx(geometric_mean([math.exp(score) for score in rows["score"]]))
    assert found.n == len(rows) == 27
    assert found.low is not None
    without = measure(scores.assign(family_words=None), resamples=0)
    assert not [record for record in without if record.measure.startswith("q_fam")]
    assert not [r for r in measure(scores.drop(columns="family_words"), resamples=0) if r.measure.startswith("q_fam")]


def test_feminine_ranks_count_from_the_lowest_rate(scores: pd.DataFrame) -> None:
    records = measure(scores, resamples=300)
    q = rates(scores)
    for place, i in enumerate(sorted(q, key=q.__getitem__), start=1):
        found = pick(records, "feminine rank", group=str(i))
        assert found.value == place
        assert found.low is not None
        assert found.high is not None
        assert 1 <= found.low <= found.high <= 16


def test_overall_are_the_means_over_the_templates(scores: pd.DataFrame) -> None:
    records = measure(scores, resamples=300)
    for name in ("g_s", "q_m", "q_f", "g_s as published"):
        parts = [pick(records, name, part).value for part in ("template-1", "template-3")]
        assert pick(records, name, "overall").value == pytest.approx(sum(parts) / 2)
    ranks = [pick(records, "feminine rank", part, "7").value for part in ("template-1", "template-3")]
    assert pick(records, "feminine rank", "overall", "7").value == sum(ranks) / 2
    one, other = (np.log(list(rates(scores, part).values())) for part in ("template-1", "template-3"))
    found = pick(records, "correlation of log q_i", "overall")
    assert (found.view, found.n) == ("templates", 1)
    assert found.value == pytest.approx(np.corrcoef(one, other)[0, 1])
    single = measure(scores[scores["part"] == "template-1"], resamples=0)
    assert {record.part for record in single} == {"template-1"}


def test_intervals_are_as_wide_as_theory_has_it() -> None:
    scores = table(np.random.default_rng(5), n=200)
    records = measure(scores)
    z = NormalDist().inv_cdf(0.975)
    seventh = list(scores["score"][scores["stereotype"] == 7])
    spread = z * stdev(seventh) / math.sqrt(200)
    found = pick(records, "q_i", group="7")
    assert math.log(found.high or 0) == pytest.approx(math.log(found.value) + spread, abs=0.006)
    assert math.log(found.low or 0) == pytest.approx(math.log(found.value) - spread, abs=0.006)
    # g_s is a difference of means of sixteen independent means.
    variances = {i: stdev(scores["score"][scores["stereotype"] == i]) ** 2 / 200 for i in range(1, 17)}
    se = math.sqrt(sum(variances[i] for i in range(8, 17)) / 81 + sum(variances[i] for i in range(1, 8)) / 49)
    found = pick(records, "g_s")
    assert math.log(found.high or 0) == pytest.approx(math.log(found.value) + z * se, abs=0.003)
    assert math.log(found.low or 0) == pytest.approx(math.log(found.value) - z * se, abs=0.003)


def test_stereotypes_of_the_same_size_are_not_resampled_alike() -> None:
    # All stereotypes have the very same values: resampled alike, g_s would not move at all.
    scores = table(np.random.default_rng(5), n=150)
    values = np.random.default_rng(6).normal(size=150)
    scores["score"] = np.tile(values, 16)
    found = pick(measure(scores, resamples=2000), "g_s")
    assert found.value == pytest.approx(1.0)
    assert (found.high or 0) - (found.low or 0) > 0.05


@pytest.mark.parametrize(("lean", "low", "high"), [(0.0, 0.001, 1.0), (0.5, 0.0, 1e-6)])
def test_g_s_is_tested_against_one(lean: float, low: float, high: float) -> None:
    scores = table(np.random.default_rng(8), lean=lean, n=40)
    scores["score"] -= scores["stereotype"] / 50
    p_value = pick(measure(scores, resamples=0), "g_s").p_value
    assert p_value is not None
    assert low <= p_value <= high


def test_with_one_stereotype_on_each_side_the_test_is_welch_s() -> None:
    scores = table(np.random.default_rng(9), stereotypes=(3, 11))
    sides = [scores["score"][scores["stereotype"] == i] for i in (11, 3)]
    expected = ttest_ind(*sides, equal_var=False).pvalue
    records = measure(scores, resamples=0)
    assert pick(records, "g_s").p_value == pytest.approx(expected)
    assert pick(records, "stereotypes with sentences").value == 2


def test_the_order_and_the_company_do_not_matter(scores: pd.DataFrame) -> None:
    other = table(np.random.default_rng(1), model="other", parts=("template-1",))
    both = pd.concat([other, scores.sample(frac=1.0, random_state=4)])
    alone = measure(scores, resamples=500)
    assert {r for r in measure(both, resamples=500) if r.model == "m"} == set(alone)


def test_how_models_agree(scores: pd.DataFrame) -> None:
    other = table(np.random.default_rng(1), model="other", parts=("template-1", "template-3"))
    records = measure(pd.concat([scores, other]), resamples=0)
    together = {(r.part, r.group, r.measure): r for r in records if r.model == "all models"}
    correlations = []
    for part in ("template-1", "template-3"):
        one, two = (np.log(list(rates(some, part).values())) for some in (scores, other))
        correlations.append(np.corrcoef(one, two)[0, 1])
        assert together[part, "all", "correlation of log q_i"].value == pytest.approx(correlations[-1])
    overall = together["overall", "all", "correlation of log q_i"]
    assert overall.value == pytest.approx(np.mean(correlations))
    assert overall.n == 2
    ranks = [r.value for r in records if (r.measure, r.group) == ("feminine rank", "7") and r.part != "overall"]
    assert len(ranks) == 4
    assert together["overall", "7", "feminine rank"].value == pytest.approx(np.mean(ranks))


def test_a_side_that_is_missing_has_no_stereotype_rate() -> None:
    records = measure(table(np.random.default_rng(2), stereotypes=(1, 2)), resamples=10)
    assert {record.measure for record in records} == {"q_i", "q_i as published", "feminine rank"}


def test_one_sentence_has_no_interval() -> None:
    scores = table(np.random.default_rng(2))
    kept = (scores["stereotype"] != 4) | (scores["item"] == "4000")
    records = measure(scores[kept], resamples=50)
    assert pick(records, "q_i", group="4").low is None
    assert pick(records, "q_i", group="5").low is not None
    assert pick(records, "g_s").low is None
    assert pick(records, "g_s").p_value is None


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("score", math.nan, "lacks a value"),
        ("score", math.inf, "not a finite number"),
        ("stereotype", 17, "for no stereotype from 1 to 16"),
        ("role", "stereotype", "not for the role log_ratio"),
        ("item", "1001", "the second one for its item"),
    ],
)
def test_what_cannot_be_measured_names_the_item(column: str, value: object, message: str) -> None:
    scores = table(np.random.default_rng(2)).astype({"score": float})
    scores[column] = scores[column].mask(scores["item"] == "1000", value)
    with pytest.raises(DataError, match=message):
        measure(scores)
    with pytest.raises(DataError, match="has no column stereotype"):
        measure(scores.drop(columns="stereotype"))


def test_there_is_a_name_for_every_stereotype() -> None:
    assert list(gest.STEREOTYPES) == list(range(1, 17))
    assert all(name.startswith("women") == (i in gest.FEMALE) for i, name in gest.STEREOTYPES.items())


def occupations(rng: np.random.Generator, *, n: int = 60, part: str = "type1-test", model: str = "m") -> pd.DataFrame:
    rows = [
        {
            "model": model,
            "benchmark": "winobias",
            "part": part,
            "language": "en",
            "item": f"{part}/{number}",
            "role": "log_ratio",
            "score": rng.normal(0.4 * (number % 2), 1.0),
            "occupation": "gardener",
            "occupation_gender": ("female", "male")[number % 2],
            "protocol": "published",
        }
        for number in range(n)
    ]
    return pd.DataFrame(rows)


def test_winobias_compares_the_occupations_of_both_genders() -> None:
    scores = occupations(np.random.default_rng(4), n=400)
    records = {record.measure: record for record in measures_for("winobias")(scores)}
    ratios = {g: [math.exp(s) for s in scores["score"][scores["occupation_gender"] == g]] for g in ("male", "female")}
    q_m, q_f = geometric_mean(ratios["male"]), geometric_mean(ratios["female"])
    assert records["q_m"].value == pytest.approx(q_m)
    assert records["q_f"].value == pytest.approx(q_f)
    assert records["g_s"].value == pytest.approx(q_m / q_f)
    assert records["g_s as published"].value == pytest.approx((q_m / q_f) ** (1 / math.log(10)))
    assert (records["g_s"].n, records["q_m"].n) == (400, 200)
    sides = [np.log(ratios[g]) for g in ("male", "female")]
    assert records["g_s"].p_value == pytest.approx(ttest_ind(*sides, equal_var=False).pvalue)
    se = math.sqrt(sum(np.var(side, ddof=1) / 200 for side in sides))
    assert math.log(records["g_s"].high or 0) == pytest.approx(math.log(q_m / q_f) + 1.96 * se, abs=0.02)


def test_winobias_refuses_what_it_cannot_read() -> None:
    scores = occupations(np.random.default_rng(4))
    with pytest.raises(DataError, match="no column occupation_gender"):
        winobias.measure(scores.drop(columns="occupation_gender"))
    with pytest.raises(DataError, match="item type1-test/0 is not a finite number"):
        winobias.measure(scores.assign(score=math.nan))
    assert winobias.measure(scores[scores["occupation_gender"] == "male"]) == []


def test_validity_is_the_correlation_over_models() -> None:
    rng = np.random.default_rng(7)
    leans = {"a": 0.0, "b": 0.2, "c": 0.5, "d": 0.9, "only gest": 0.4}
    records = []
    for model, lean in leans.items():
        both = ("template-1", "template-3")
        records += measure(table(rng, model=model, lean=lean, parts=both), resamples=0)
        if model != "only gest":
            scores = occupations(rng, model=model)
            scores["score"] += lean * (scores["occupation_gender"] == "male")
            records += winobias.measure(scores, resamples=0)
    found = winobias.validity(records)
    assert found.models == ("a", "b", "c", "d")
    values = {
        (r.model, r.benchmark): r.value for r in records if r.measure == "g_s" and r.part in ("overall", "type1-test")
    }
    expected = np.corrcoef([values[m, "gest"] for m in "abcd"], [values[m, "winobias"] for m in "abcd"])[0, 1]
    assert found.correlation == pytest.approx(expected)
    assert found.low < found.correlation < found.high
    with pytest.raises(DataError, match="0 models have both g_s on gest and on winobias/type2-dev"):
        winobias.validity(records, part="type2-dev")
