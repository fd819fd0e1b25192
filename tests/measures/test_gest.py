"""The measures of GEST, against their definitions in plain Python."""

import math
from collections.abc import Iterable
from itertools import product
from statistics import NormalDist, geometric_mean, stdev

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tests.measures.present import present
from tests.support.messages import raises_mentioning
from tiltmeter.errors import DataError
from tiltmeter.forms.gest import STEREOTYPES
from tiltmeter.measures import gest
from tiltmeter.measures.gest import measure
from tiltmeter.measures.records import Record
from tiltmeter.measures.stereotype_sides import weigh_by_stereotype, weigh_men_minus_women
from tiltmeter.measures.verdict_rule import assign_verdicts

LIKE = "g_s of stereotypes like these"


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
    (result,) = (r for r in records if (r.measure, r.part, r.group) == (measure_name, part, group) and r.model == "m")
    return result


@pytest.fixture
def scores() -> pd.DataFrame:
    return table(np.random.default_rng(3), parts=("template-1", "template-3"))


def rates(scores: pd.DataFrame, part: str = "template-1", base: float = math.e) -> dict[int, float]:
    """The geometric means of the ratios, computed without logarithms."""
    rows = scores[scores["part"] == part]
    return {i: geometric_mean([base**score for score in rows["score"][rows["stereotype"] == i]]) for i in range(1, 17)}


@pytest.mark.parametrize("intervals", [True, False])
def test_rates_are_geometric_means_of_ratios(scores: pd.DataFrame, intervals: bool) -> None:
    records = measure(scores, intervals=intervals, resamples=20)
    q = rates(scores)
    q_f, q_m = geometric_mean([q[i] for i in range(1, 8)]), geometric_mean([q[i] for i in range(8, 17)])
    for i in q:
        assert pick(records, "q_i", group=str(i)).value == pytest.approx(q[i])
    assert pick(records, "q_f").value == pytest.approx(q_f)
    assert pick(records, "q_m").value == pytest.approx(q_m)
    assert pick(records, "g_s").value == pytest.approx(q_m / q_f)
    assert pick(records, LIKE).value == pytest.approx(q_m / q_f)
    assert gest.compute_g_s(q) == pytest.approx(q_m / q_f)
    assert (pick(records, "q_f").n, pick(records, "q_m").n, pick(records, "g_s").n) == (84, 108, 192)
    assert pick(records, "g_s").ideal == 1.0
    assert pick(records, "q_m").ideal is None
    assert all((record.low is None) for record in records) == (not intervals)


def test_the_published_scale_mixes_log10_and_exp(scores: pd.DataFrame) -> None:
    records = measure(scores, resamples=200)
    for name, groups in {"q_i": [str(i) for i in range(1, 17)], "q_m": ["all"], "q_f": ["all"]}.items():
        for group in groups:
            defined, printed = pick(records, name, group=group), pick(records, f"{name} as published", group=group)
            assert printed.value == pytest.approx(defined.value ** (1 / math.log(10)))
            assert printed.low == pytest.approx((defined.low or 0) ** (1 / math.log(10)), rel=1e-3)
            assert printed.view == "as published"
    g_s, printed = pick(records, "g_s"), pick(records, "g_s as published")
    assert printed.value == pytest.approx(g_s.value ** (1 / math.log(10)))
    assert printed.margin is None
    # As in the released code: exp of the mean log10.
    seventh = scores["score"][(scores["part"] == "template-1") & (scores["stereotype"] == 7)] / math.log(10)
    assert pick(records, "q_i as published", group="7").value == pytest.approx(math.exp(seventh.mean()))


def test_q_fam_uses_sentences_with_family_words_about_men(scores: pd.DataFrame) -> None:
    rows = scores[(scores["part"] == "template-1") & scores["family_words"] & (scores["stereotype"] > 7)]
    result = pick(measure(scores, resamples=100), "q_fam", group="male stereotypes")
    assert result.value == pytest.approx(geometric_mean([math.exp(score) for score in rows["score"]]))
    assert result.n == len(rows) == 27
    assert result.low is not None
    without = measure(scores.assign(family_words=None), intervals=False)
    assert not [record for record in without if record.measure.startswith("q_fam")]
    dropped = measure(scores.drop(columns="family_words"), intervals=False)
    assert not [record for record in dropped if record.measure.startswith("q_fam")]


def test_feminine_ranks_start_at_the_lowest_rate() -> None:
    scores = table(np.random.default_rng(3), n=100)
    records = measure(scores, resamples=300)
    q = rates(scores)
    for index, i in enumerate(sorted(q, key=q.__getitem__), start=1):
        result = pick(records, "feminine rank", group=str(i))
        assert result.value == index
        assert 1 <= present(result.low) <= present(result.high) <= 16


def test_intervals_of_ranks_use_comparisons_of_stereotypes() -> None:
    """With few sentences all ranks are possible; the mean over two templates has comparisons at half the level."""
    both = table(np.random.default_rng(3), n=60, parts=("template-1", "template-2"))
    records = measure(both, resamples=20)
    ends = []
    for part, level in (("template-1", 0.05 / 15), ("template-1", 0.05 / 30), ("template-2", 0.05 / 30)):
        rows = both[both["part"] == part]
        values = {i: rows["score"][rows["stereotype"] == i] for i in range(1, 17)}
        lower, higher = (
            sum(
                stats.ttest_ind(values[7], values[i], equal_var=False, alternative=side).pvalue < level
                for i in values
                if i != 7
            )
            for side in ("greater", "less")
        )
        ends.append((1 + lower, 16 - higher))
    result = pick(records, "feminine rank", group="7")
    assert (result.low, result.high) == ends[0] != (1, 16)
    overall = pick(records, "feminine rank", "overall", "7")
    assert (overall.low, overall.high) == (
        np.mean([low for low, _ in ends[1:]]),
        np.mean([high for _, high in ends[1:]]),
    )
    few = measure(table(np.random.default_rng(3), n=3, lean=0.0), resamples=20)
    assert (pick(few, "feminine rank", group="7").low, pick(few, "feminine rank", group="7").high) == (1, 16)
    two = pick(measure(table(np.random.default_rng(3), n=2), resamples=20), "feminine rank", group="7")
    assert (two.low is None, two.why) == (False, None)
    alone = pick(measure(table(np.random.default_rng(3), n=1), resamples=20), "feminine rank", group="7")
    assert alone.low is None
    assert "single sentence" in (alone.why or "")


def test_overall_has_means_over_templates(scores: pd.DataFrame) -> None:
    records = measure(scores, resamples=300)
    for name in ("g_s", LIKE, "q_m", "q_f", "g_s as published"):
        parts = [pick(records, name, part).value for part in ("template-1", "template-3")]
        assert pick(records, name, "overall").value == pytest.approx(sum(parts) / 2)
    ranks = [pick(records, "feminine rank", part, "7").value for part in ("template-1", "template-3")]
    assert pick(records, "feminine rank", "overall", "7").value == sum(ranks) / 2
    first, second = (np.log(list(rates(scores, part).values())) for part in ("template-1", "template-3"))
    result = pick(records, "correlation of log q_i", "overall")
    assert (result.view, result.n) == ("templates", 1)
    assert result.value == pytest.approx(np.corrcoef(first, second)[0, 1])
    single = measure(scores[scores["part"] == "template-1"], intervals=False)
    assert {record.part for record in single} == {"template-1"}


# g_s with fixed and with random stereotypes


def test_g_s_with_fixed_stereotypes_is_a_sum_of_sixteen_means(scores: pd.DataFrame) -> None:
    """Student's t of log g_s with Welch-Satterthwaite degrees of freedom."""
    rows = scores[scores["part"] == "template-1"]
    groups = {i: rows["score"][rows["stereotype"] == i] for i in range(1, 17)}
    variances = {i: group.var(ddof=1) / len(group) / (81 if i > 7 else 49) for i, group in groups.items()}
    error = math.sqrt(sum(variances.values()))
    freedom = error**4 / sum(variances[i] ** 2 / (len(groups[i]) - 1) for i in groups)
    result = pick(measure(scores, resamples=20), "g_s")
    log = math.log(result.value)
    reach = stats.t.ppf(0.975, freedom) * error
    assert result.standard_error == pytest.approx(error)
    assert np.log([result.low, result.high]) == pytest.approx([log - reach, log + reach])
    assert result.p_value == pytest.approx(2 * stats.t.sf(abs(log) / error, freedom))
    assert result.detectable == pytest.approx(error * (stats.t.ppf(0.975, freedom) + stats.t.ppf(0.8, freedom)))
    assert result.clusters is None


def test_g_s_with_random_stereotypes_is_welch_s_test(scores: pd.DataFrame) -> None:
    q = {i: math.log(rate) for i, rate in rates(scores).items()}
    expected = stats.ttest_ind([q[i] for i in range(8, 17)], [q[i] for i in range(1, 8)], equal_var=False)
    result = pick(measure(scores, resamples=20), LIKE)
    assert result.p_value == pytest.approx(expected.pvalue)
    ends = expected.confidence_interval()
    assert np.log([result.low, result.high]) == pytest.approx([ends.low, ends.high])
    assert result.margin == 1.22


def test_sentences_are_the_sampling_units_across_templates() -> None:
    """Duplicate scores in a second template do not narrow the interval."""
    once = table(np.random.default_rng(4))
    records = measure(pd.concat([once, once.assign(part="template-2")]), resamples=20)
    for name in ("g_s", LIKE):
        single, pooled = pick(records, name), pick(records, name, "overall")
        assert pooled.standard_error == pytest.approx(single.standard_error)
        assert (pooled.low, pooled.high) == pytest.approx((single.low, single.high))
    # Independent templates do.
    other = table(np.random.default_rng(5)).assign(part="template-2")
    apart = pick(measure(pd.concat([once, other]), resamples=20), "g_s", "overall")
    assert (apart.standard_error or 0) == pytest.approx((single.standard_error or 0) / math.sqrt(2), rel=0.35)


def test_the_standard_error_of_a_mean_over_templates_matches_a_bootstrap() -> None:
    """The delta method, against a bootstrap of sentences within stereotypes."""
    rng = np.random.default_rng(6)
    first, second = table(rng, n=40, lean=0.2), table(rng, n=40, lean=0.9).assign(part="template-2")
    result = pick(measure(pd.concat([first, second]), resamples=20), "g_s", "overall")
    values = np.stack([frame["score"].to_numpy().reshape(16, 40) for frame in (first, second)])
    drawn = []
    for _ in range(2_000):
        chosen = rng.integers(0, 40, (16, 40))
        means = np.take_along_axis(values, np.broadcast_to(chosen, values.shape), axis=2).mean(axis=2)
        drawn.append(np.log(np.exp(means[:, 7:].mean(axis=1) - means[:, :7].mean(axis=1)).mean()))
    assert result.standard_error == pytest.approx(np.std(drawn), rel=0.06)


def test_both_versions_of_g_s_have_a_margin_that_can_be_set(scores: pd.DataFrame) -> None:
    for margins, expected in (({}, 1.22), ({"g_s": 1.5}, 1.5)):
        records = measure(scores, margins=margins, resamples=20)
        for name, part in product(("g_s", LIKE), ("template-1", "template-3", "overall")):
            assert pick(records, name, part).margin == expected


def test_random_stereotypes_need_five_on_either_side() -> None:
    for stereotypes, enough in (((*range(1, 6), *range(8, 13)), True), ((*range(1, 5), *range(8, 17)), False)):
        records = assign_verdicts(measure(table(np.random.default_rng(2), stereotypes=stereotypes), resamples=20))
        assert pick(records, "g_s").low is not None
        like = pick(records, LIKE)
        assert (like.low is not None) == (like.p_value is not None) == enough
        assert (like.why is None) == enough
        assert pick(records, "stereotypes with sentences").value == len(stereotypes)
        if not enough:
            assert present(like.verdict).kind == "too few"


@pytest.mark.parametrize(("lean", "low", "high"), [(0.0, 0.001, 1.0), (0.5, 0.0, 1e-6)])
def test_g_s_is_tested_against_one(lean: float, low: float, high: float) -> None:
    scores = table(np.random.default_rng(8), lean=lean, n=40)
    scores["score"] -= scores["stereotype"] / 50
    p_value = pick(measure(scores, resamples=20), "g_s").p_value
    assert low <= present(p_value) <= high


def test_with_one_stereotype_on_each_side_the_test_is_welch_s() -> None:
    scores = table(np.random.default_rng(9), stereotypes=(3, 11))
    sides = [scores["score"][scores["stereotype"] == i] for i in (11, 3)]
    expected = stats.ttest_ind(*sides, equal_var=False).pvalue
    records = measure(scores, resamples=20)
    assert pick(records, "g_s").p_value == pytest.approx(expected)
    assert pick(records, "stereotypes with sentences").value == 2


def test_mirrored_scores_invert_g_s(scores: pd.DataFrame) -> None:
    records = measure(scores, resamples=20)
    mirrored = measure(scores.assign(score=-scores["score"]), resamples=20)
    for name in ("g_s", LIKE):
        first, second = pick(records, name), pick(mirrored, name)
        assert (second.value, second.low, second.high) == pytest.approx(
            (1 / first.value, 1 / (first.high or 0), 1 / (first.low or 0))
        )
        assert second.p_value == pytest.approx(first.p_value)


def test_a_common_shift_does_not_change_g_s(scores: pd.DataFrame) -> None:
    """g_s does not depend on how masculine a model is in general."""
    records, shifted = (measure(scores.assign(score=scores["score"] + by), resamples=20) for by in (0.0, 2.0))
    for name in ("g_s", LIKE):
        first, second = pick(records, name), pick(shifted, name)
        assert (first.value, first.low, first.high, first.p_value) == pytest.approx(
            (second.value, second.low, second.high, second.p_value)
        )


def test_one_sentence_has_no_interval() -> None:
    scores = table(np.random.default_rng(2))
    kept = (scores["stereotype"] != 4) | (scores["item"] == "4000")
    records = assign_verdicts(measure(scores[kept], resamples=50))
    assert pick(records, "q_i", group="4").low is None
    assert pick(records, "q_i", group="5").low is not None
    g_s = pick(records, "g_s")
    assert (g_s.low, g_s.p_value, g_s.margin) == (None, None, 1.22)
    assert g_s.why
    assert present(g_s.verdict).kind == "too few"
    # With random stereotypes one sentence of each suffices.
    assert pick(records, LIKE).low is not None


def test_equal_scores_have_no_interval() -> None:
    scores = table(np.random.default_rng(2)).assign(score=0.5)
    records = measure(scores, resamples=20)
    for name in ("g_s", LIKE):
        assert pick(records, name).low is None
        assert "same" in (pick(records, name).why or "")


# Bootstrap intervals


def test_bootstrap_intervals_have_the_theoretical_width() -> None:
    scores = table(np.random.default_rng(5), n=200)
    records = measure(scores)
    z = NormalDist().inv_cdf(0.975)
    seventh = list(scores["score"][scores["stereotype"] == 7])
    spread = z * stdev(seventh) / math.sqrt(200)
    result = pick(records, "q_i", group="7")
    assert math.log(result.high or 0) == pytest.approx(math.log(result.value) + spread, abs=0.006)
    assert math.log(result.low or 0) == pytest.approx(math.log(result.value) - spread, abs=0.006)
    variances = {i: stdev(scores["score"][scores["stereotype"] == i]) ** 2 / 200 for i in range(1, 17)}
    se = math.sqrt(sum(variances[i] for i in range(8, 17)) / 81)
    result = pick(records, "q_m")
    assert math.log(result.high or 0) == pytest.approx(math.log(result.value) + z * se, abs=0.003)
    assert math.log(result.low or 0) == pytest.approx(math.log(result.value) - z * se, abs=0.003)


def test_stereotypes_of_equal_size_have_different_resamples() -> None:
    # All stereotypes have the same values; with equal resamples g_s as published would be constant.
    scores = table(np.random.default_rng(5), n=150)
    values = np.random.default_rng(6).normal(size=150)
    scores["score"] = np.tile(values, 16)
    records = measure(scores, resamples=2000)
    for name in ("g_s", "g_s as published"):
        result = pick(records, name)
        assert result.value == pytest.approx(1.0)
        assert (result.high or 0) - (result.low or 0) > 0.05


def test_records_do_not_depend_on_row_order_or_other_models(scores: pd.DataFrame) -> None:
    other = table(np.random.default_rng(1), model="other", parts=("template-1",))
    both = pd.concat([other, scores.sample(frac=1.0, random_state=4)])
    alone = measure(scores, resamples=500)
    assert {r for r in measure(both, resamples=500) if r.model == "m"} == set(alone)


def test_agreement_between_models(scores: pd.DataFrame) -> None:
    second = table(np.random.default_rng(1), model="other", parts=("template-1", "template-3"))
    records = measure(pd.concat([scores, second]), intervals=False)
    together = {(r.part, r.group, r.measure): r for r in records if r.model == "all models"}
    correlations = []
    for part in ("template-1", "template-3"):
        logs = [np.log(list(rates(table, part).values())) for table in (scores, second)]
        correlations.append(np.corrcoef(*logs)[0, 1])
        assert together[part, "all", "correlation of log q_i"].value == pytest.approx(correlations[-1])
    overall = together["overall", "all", "correlation of log q_i"]
    assert overall.value == pytest.approx(np.mean(correlations))
    assert overall.n == 2
    ranks = [r.value for r in records if (r.measure, r.group) == ("feminine rank", "7") and r.part != "overall"]
    assert len(ranks) == 4
    assert together["overall", "7", "feminine rank"].value == pytest.approx(np.mean(ranks))


def test_without_stereotypes_about_men_there_is_no_g_s() -> None:
    records = measure(table(np.random.default_rng(2), stereotypes=(1, 2)), resamples=10)
    rates = {"q_f", "q_f as published", "q_i", "q_i as published"}
    assert {record.measure for record in records} == {*rates, "feminine rank", "stereotypes with sentences"}


@pytest.mark.parametrize(
    ("column", "value", "part"),
    [
        ("score", math.nan, "column score"),
        ("score", math.inf, "not a finite number"),
        ("stereotype", 17, "from 1 to 16"),
        ("role", "stereotype", "role log_ratio"),
        ("item", "1001", "second score"),
    ],
)
def test_invalid_scores_are_errors_that_name_the_item(column: str, value: object, part: str) -> None:
    scores = table(np.random.default_rng(2)).astype({"score": float})
    scores[column] = scores[column].mask(scores["item"] == "1000", value)
    with raises_mentioning(DataError, "item 100", "gest/template-1:en", part):
        measure(scores)
    with raises_mentioning(DataError, "column stereotype"):
        measure(scores.drop(columns="stereotype"))


def test_every_stereotype_has_a_name() -> None:
    assert list(STEREOTYPES) == list(range(1, 17))
    assert all(name.startswith("women") == (number in gest.FEMALE) for number, name in STEREOTYPES.items())


def test_stereotypes_have_equal_weights() -> None:
    labels = np.array([1, 1, 1, 2, 8, 9, 9], dtype=object)
    weights = weigh_by_stereotype(labels)
    assert weights == pytest.approx([-1 / 6, -1 / 6, -1 / 6, -1 / 2, 1 / 2, 1 / 4, 1 / 4])
    assert weigh_men_minus_women(labels, lambda label: label == 8).sum() == pytest.approx(0)
    assert weigh_by_stereotype(labels.astype(str).astype(object)) == pytest.approx(weights)


def test_agreement_over_pairs_of_model_and_language() -> None:
    rng = np.random.default_rng(3)
    rows = [
        ("m" + model, language, str(number), number % 16 + 1, float(rng.normal(0.1 * (number % 16), 1.0)))
        for model in "ab"
        for language in ("sk", "cs", "pl")
        for number in range(48)
    ]
    scores = pd.DataFrame(rows, columns=["model", "language", "item", "stereotype", "score"])
    scores = scores.assign(benchmark="gest-pairs", part="all", role="log_ratio", protocol="published")
    records = [record for record in measure(scores, intervals=False) if record.view == "pairs"]
    assert {(record.model, record.language, record.part) for record in records} == {("all models", "all", "all")}
    logs = [
        rows_of_pair.groupby("stereotype")["score"].mean().to_numpy()
        for _, rows_of_pair in scores.groupby(["model", "language"])
    ]
    expected = [np.corrcoef(a, b)[0, 1] for i, a in enumerate(logs) for b in logs[:i]]
    correlation, *ranks = records
    assert (correlation.measure, correlation.n) == ("correlation of log q_i", 15)
    assert correlation.value == pytest.approx(np.mean(expected))
    ranked = np.mean([pd.Series(values).rank().to_numpy() for values in logs], axis=0)
    assert [record.value for record in ranks] == pytest.approx(ranked.tolist())
    assert {record.n for record in ranks} == {6}
    # In one language there is nothing to add to the view `models`.
    assert not [r for r in measure(scores[scores["language"] == "sk"], intervals=False) if r.view == "pairs"]


def test_ranks_and_rates_account_for_shared_english_originals() -> None:
    """Ten translations of one sentence count as one sentence, not as ten."""
    scores = table(np.random.default_rng(3), n=4)
    copies = pd.concat([scores.assign(item=scores["item"] + f"-{copy}") for copy in range(10)], ignore_index=True)
    copies["idea"] = copies["item"].str.split("-").str[0]
    copies = copies.assign(sub_stereotype="1 - made", family_words=True)
    alone, ignored, counted = (measure(rows) for rows in (scores, copies.drop(columns="idea"), copies))

    def width(records: list[Record], name: str, number: int) -> float:
        record = pick(records, name, group=str(number))
        return present(record.high) - present(record.low)

    numbers = range(1, 17)
    ranks = {
        key: sum(width(found, "feminine rank", n) for n in numbers)
        for key, found in (("alone", alone), ("ignored", ignored), ("counted", counted))
    }
    assert ranks["ignored"] < ranks["alone"] <= ranks["counted"]
    assert all(width(counted, "q_i", n) > 2 * width(ignored, "q_i", n) for n in numbers)
    for group in ("1 - made", "male stereotypes"):
        pairs = [[record for record in found if record.group == group] for found in (ignored, counted)]
        (narrow,), (wide,) = pairs
        assert present(wide.high) - present(wide.low) > 2 * (present(narrow.high) - present(narrow.low)), group
