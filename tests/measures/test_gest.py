"""GEST's measures, against definitions written out in plain Python."""

import math
from collections.abc import Iterable
from itertools import product
from statistics import NormalDist, geometric_mean, stdev

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tiltmeter.errors import DataError
from tiltmeter.measures import gest
from tiltmeter.measures.gest import by_stereotype, measure, men_minus_women
from tiltmeter.measures.records import Record
from tiltmeter.measures.rule import assign_verdicts

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
    (found,) = (r for r in records if (r.measure, r.part, r.group) == (measure_name, part, group) and r.model == "m")
    return found


@pytest.fixture
def scores() -> pd.DataFrame:
    return table(np.random.default_rng(3), parts=("template-1", "template-3"))


def rates(scores: pd.DataFrame, part: str = "template-1", base: float = math.e) -> dict[int, float]:
    """The geometric mean of the ratios themselves, no logarithm in sight."""
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
    assert gest.stereotype_rate(q) == pytest.approx(q_m / q_f)
    assert (pick(records, "q_f").n, pick(records, "q_m").n, pick(records, "g_s").n) == (84, 108, 192)
    assert pick(records, "g_s").ideal == 1.0
    assert pick(records, "q_m").ideal is None
    assert all((record.low is None) for record in records) == (not intervals)


def test_the_published_scale_takes_log10_for_ln(scores: pd.DataFrame) -> None:
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
    # What the released code did: e to the mean of log10.
    seventh = scores["score"][(scores["part"] == "template-1") & (scores["stereotype"] == 7)] / math.log(10)
    assert pick(records, "q_i as published", group="7").value == pytest.approx(math.exp(seventh.mean()))


def test_the_family_words_check_is_about_men_s_stereotypes(scores: pd.DataFrame) -> None:
    rows = scores[(scores["part"] == "template-1") & scores["family_words"] & (scores["stereotype"] > 7)]
    found = pick(measure(scores, resamples=100), "q_fam", group="male stereotypes")
    assert found.value == pytest.approx(geometric_mean([math.exp(score) for score in rows["score"]]))
    assert found.n == len(rows) == 27
    assert found.low is not None
    without = measure(scores.assign(family_words=None), intervals=False)
    assert not [record for record in without if record.measure.startswith("q_fam")]
    dropped = measure(scores.drop(columns="family_words"), intervals=False)
    assert not [record for record in dropped if record.measure.startswith("q_fam")]


def test_feminine_ranks_count_from_the_lowest_rate() -> None:
    scores = table(np.random.default_rng(3), n=100)
    records = measure(scores, resamples=300)
    q = rates(scores)
    for place, i in enumerate(sorted(q, key=q.__getitem__), start=1):
        found = pick(records, "feminine rank", group=str(i))
        assert found.value == place
        assert found.low is not None
        assert found.high is not None
        assert 1 <= found.low <= found.high <= 16


def test_intervals_of_ranks_are_made_of_comparisons_between_stereotypes() -> None:
    """Few sentences leave all ranks open; the mean over two templates has comparisons at half the level."""
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
    found = pick(records, "feminine rank", group="7")
    assert (found.low, found.high) == ends[0] != (1, 16)
    overall = pick(records, "feminine rank", "overall", "7")
    assert (overall.low, overall.high) == (
        np.mean([low for low, _ in ends[1:]]),
        np.mean([high for _, high in ends[1:]]),
    )
    few = measure(table(np.random.default_rng(3), n=3, lean=0.0), resamples=20)
    assert (pick(few, "feminine rank", group="7").low, pick(few, "feminine rank", group="7").high) == (1, 16)
    alone = pick(measure(table(np.random.default_rng(3), n=1), resamples=20), "feminine rank", group="7")
    assert (alone.low, alone.why) == (None, "a stereotype has a single sentence")


def test_overall_are_the_means_over_the_templates(scores: pd.DataFrame) -> None:
    records = measure(scores, resamples=300)
    for name in ("g_s", LIKE, "q_m", "q_f", "g_s as published"):
        parts = [pick(records, name, part).value for part in ("template-1", "template-3")]
        assert pick(records, name, "overall").value == pytest.approx(sum(parts) / 2)
    ranks = [pick(records, "feminine rank", part, "7").value for part in ("template-1", "template-3")]
    assert pick(records, "feminine rank", "overall", "7").value == sum(ranks) / 2
    one, other = (np.log(list(rates(scores, part).values())) for part in ("template-1", "template-3"))
    found = pick(records, "correlation of log q_i", "overall")
    assert (found.view, found.n) == ("templates", 1)
    assert found.value == pytest.approx(np.corrcoef(one, other)[0, 1])
    single = measure(scores[scores["part"] == "template-1"], intervals=False)
    assert {record.part for record in single} == {"template-1"}


# Both statements: these sixteen stereotypes, and stereotypes like these


def test_g_s_of_these_stereotypes_is_a_sum_of_sixteen_means(scores: pd.DataFrame) -> None:
    """Student's t of log g_s, with the degrees of freedom of Welch and Satterthwaite."""
    rows = scores[scores["part"] == "template-1"]
    groups = {i: rows["score"][rows["stereotype"] == i] for i in range(1, 17)}
    variances = {i: group.var(ddof=1) / len(group) / (81 if i > 7 else 49) for i, group in groups.items()}
    error = math.sqrt(sum(variances.values()))
    freedom = error**4 / sum(variances[i] ** 2 / (len(groups[i]) - 1) for i in groups)
    found = pick(measure(scores, resamples=20), "g_s")
    log = math.log(found.value)
    reach = stats.t.ppf(0.975, freedom) * error
    assert found.standard_error == pytest.approx(error)
    assert np.log([found.low, found.high]) == pytest.approx([log - reach, log + reach])
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(log) / error, freedom))
    assert found.detectable == pytest.approx(error * (stats.t.ppf(0.975, freedom) + stats.t.ppf(0.8, freedom)))
    assert found.clusters is None


def test_g_s_of_stereotypes_like_these_is_the_test_of_welch(scores: pd.DataFrame) -> None:
    q = {i: math.log(rate) for i, rate in rates(scores).items()}
    expected = stats.ttest_ind([q[i] for i in range(8, 17)], [q[i] for i in range(1, 8)], equal_var=False)
    found = pick(measure(scores, resamples=20), LIKE)
    assert found.p_value == pytest.approx(expected.pvalue)
    ends = expected.confidence_interval()
    assert np.log([found.low, found.high]) == pytest.approx([ends.low, ends.high])
    assert found.margin == 1.22


def test_several_templates_are_the_same_sentences() -> None:
    """The same scores twice tell no more than once; a sentence in two templates is one draw."""
    once = table(np.random.default_rng(4))
    records = measure(pd.concat([once, once.assign(part="template-2")]), resamples=20)
    for name in ("g_s", LIKE):
        single, pooled = pick(records, name), pick(records, name, "overall")
        assert pooled.standard_error == pytest.approx(single.standard_error)
        assert (pooled.low, pooled.high) == pytest.approx((single.low, single.high))
    # TemplateVariation that have nothing to do with each other tell more.
    other = table(np.random.default_rng(5)).assign(part="template-2")
    apart = pick(measure(pd.concat([once, other]), resamples=20), "g_s", "overall")
    assert (apart.standard_error or 0) == pytest.approx((single.standard_error or 0) / math.sqrt(2), rel=0.35)


def test_the_error_of_a_mean_over_templates_is_that_of_resampled_sentences() -> None:
    """The delta method, against a bootstrap of the sentences within their stereotypes."""
    rng = np.random.default_rng(6)
    one, two = table(rng, n=40, lean=0.2), table(rng, n=40, lean=0.9).assign(part="template-2")
    found = pick(measure(pd.concat([one, two]), resamples=20), "g_s", "overall")
    values = np.stack([frame["score"].to_numpy().reshape(16, 40) for frame in (one, two)])
    drawn = []
    for _ in range(2_000):
        chosen = rng.integers(0, 40, (16, 40))
        means = np.take_along_axis(values, np.broadcast_to(chosen, values.shape), axis=2).mean(axis=2)
        drawn.append(np.log(np.exp(means[:, 7:].mean(axis=1) - means[:, :7].mean(axis=1)).mean()))
    assert found.standard_error == pytest.approx(np.std(drawn), rel=0.06)


def test_both_statements_come_with_a_margin_and_can_have_another(scores: pd.DataFrame) -> None:
    for margins, expected in (({}, 1.22), ({"g_s": 1.5}, 1.5)):
        records = measure(scores, margins=margins, resamples=20)
        for name, part in product(("g_s", LIKE), ("template-1", "template-3", "overall")):
            assert pick(records, name, part).margin == expected


def test_fewer_than_five_stereotypes_say_nothing_about_others() -> None:
    for stereotypes, there in (((*range(1, 6), *range(8, 13)), True), ((*range(1, 5), *range(8, 17)), False)):
        records = assign_verdicts(measure(table(np.random.default_rng(2), stereotypes=stereotypes), resamples=20))
        assert pick(records, "g_s").low is not None
        like = pick(records, LIKE)
        assert (like.low is not None) == (like.p_value is not None) == there
        assert (like.why is None) == there
        assert pick(records, "stereotypes with sentences").value == len(stereotypes)
        if not there:
            assert like.verdict is not None
            assert like.verdict.kind == "too few"


@pytest.mark.parametrize(("lean", "low", "high"), [(0.0, 0.001, 1.0), (0.5, 0.0, 1e-6)])
def test_g_s_is_tested_against_one(lean: float, low: float, high: float) -> None:
    scores = table(np.random.default_rng(8), lean=lean, n=40)
    scores["score"] -= scores["stereotype"] / 50
    p_value = pick(measure(scores, resamples=20), "g_s").p_value
    assert p_value is not None
    assert low <= p_value <= high


def test_with_one_stereotype_on_each_side_the_test_is_welch_s() -> None:
    scores = table(np.random.default_rng(9), stereotypes=(3, 11))
    sides = [scores["score"][scores["stereotype"] == i] for i in (11, 3)]
    expected = stats.ttest_ind(*sides, equal_var=False).pvalue
    records = measure(scores, resamples=20)
    assert pick(records, "g_s").p_value == pytest.approx(expected)
    assert pick(records, "stereotypes with sentences").value == 2


def test_mirrored_scores_turn_the_rate_over(scores: pd.DataFrame) -> None:
    records = measure(scores, resamples=20)
    mirrored = measure(scores.assign(score=-scores["score"]), resamples=20)
    for name in ("g_s", LIKE):
        one, other = pick(records, name), pick(mirrored, name)
        assert (other.value, other.low, other.high) == pytest.approx(
            (1 / one.value, 1 / (one.high or 0), 1 / (one.low or 0))
        )
        assert other.p_value == pytest.approx(one.p_value)


def test_a_common_shift_changes_nothing_about_stereotypes(scores: pd.DataFrame) -> None:
    """How masculine a model is at large does not make it more or less stereotypical."""
    records, shifted = (measure(scores.assign(score=scores["score"] + by), resamples=20) for by in (0.0, 2.0))
    for name in ("g_s", LIKE):
        one, other = pick(records, name), pick(shifted, name)
        assert (one.value, one.low, one.high, one.p_value) == pytest.approx(
            (other.value, other.low, other.high, other.p_value)
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
    assert g_s.verdict is not None
    assert g_s.verdict.kind == "too few"
    # What is said about stereotypes like these needs but one sentence of each.
    assert pick(records, LIKE).low is not None


def test_sentences_that_are_all_alike_have_no_interval() -> None:
    scores = table(np.random.default_rng(2)).assign(score=0.5)
    records = measure(scores, resamples=20)
    for name in ("g_s", LIKE):
        assert pick(records, name).low is None
        assert "alike" in (pick(records, name).why or "")


# The bootstraps of the other numbers


def test_intervals_are_as_wide_as_theory_has_it() -> None:
    scores = table(np.random.default_rng(5), n=200)
    records = measure(scores)
    z = NormalDist().inv_cdf(0.975)
    seventh = list(scores["score"][scores["stereotype"] == 7])
    spread = z * stdev(seventh) / math.sqrt(200)
    found = pick(records, "q_i", group="7")
    assert math.log(found.high or 0) == pytest.approx(math.log(found.value) + spread, abs=0.006)
    assert math.log(found.low or 0) == pytest.approx(math.log(found.value) - spread, abs=0.006)
    variances = {i: stdev(scores["score"][scores["stereotype"] == i]) ** 2 / 200 for i in range(1, 17)}
    se = math.sqrt(sum(variances[i] for i in range(8, 17)) / 81)
    found = pick(records, "q_m")
    assert math.log(found.high or 0) == pytest.approx(math.log(found.value) + z * se, abs=0.003)
    assert math.log(found.low or 0) == pytest.approx(math.log(found.value) - z * se, abs=0.003)


def test_stereotypes_of_the_same_size_are_not_resampled_alike() -> None:
    # All stereotypes have the very same values: resampled alike, g_s as published would not move at all.
    scores = table(np.random.default_rng(5), n=150)
    values = np.random.default_rng(6).normal(size=150)
    scores["score"] = np.tile(values, 16)
    records = measure(scores, resamples=2000)
    for name in ("g_s", "g_s as published"):
        found = pick(records, name)
        assert found.value == pytest.approx(1.0)
        assert (found.high or 0) - (found.low or 0) > 0.05


def test_the_order_and_the_company_do_not_matter(scores: pd.DataFrame) -> None:
    other = table(np.random.default_rng(1), model="other", parts=("template-1",))
    both = pd.concat([other, scores.sample(frac=1.0, random_state=4)])
    alone = measure(scores, resamples=500)
    assert {r for r in measure(both, resamples=500) if r.model == "m"} == set(alone)


def test_how_models_agree(scores: pd.DataFrame) -> None:
    other = table(np.random.default_rng(1), model="other", parts=("template-1", "template-3"))
    records = measure(pd.concat([scores, other]), intervals=False)
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


def test_weights_count_each_stereotype_once() -> None:
    labels = np.array([1, 1, 1, 2, 8, 9, 9], dtype=object)
    weights = by_stereotype(labels)
    assert weights == pytest.approx([-1 / 6, -1 / 6, -1 / 6, -1 / 2, 1 / 2, 1 / 4, 1 / 4])
    assert men_minus_women(labels, lambda label: label == 8).sum() == pytest.approx(0)
    assert by_stereotype(labels.astype(str).astype(object)) == pytest.approx(weights)
