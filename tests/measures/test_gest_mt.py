import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from tests.measures.present import present
from tests.support.messages import raises_mentioning
from tiltmeter.errors import DataError
from tiltmeter.measures.estimates import WeightedShares, compute_two_sided_p
from tiltmeter.measures.gest_mt import (
    FEWEST,
    compute_masculine_interval,
    compute_masculine_share,
    compute_share_interval,
    measure,
)
from tiltmeter.measures.records import Record
from tiltmeter.measures.verdict_rule import assign_verdicts

LIKE = "f_s of stereotypes like these"
Z2 = 1.959963984540054**2


def table(
    counts: dict[int, tuple[int, int, int]],
    model: str = "sys",
    language: str = "sk",
    family: frozenset[int] = frozenset(),
) -> pd.DataFrame:
    """Scores with these numbers of masculine, feminine and genderless translations by stereotype."""
    rows = [
        {
            "model": model,
            "benchmark": "gest-mt",
            "part": "all",
            "language": language,
            "item": f"{stereotype}-{number}",
            "candidate": "",
            "role": "speaker_gender",
            "score": score,
            "stereotype": stereotype,
            "family_words": stereotype in family,
            "protocol": "rules",
        }
        for stereotype, (masculine, feminine, none) in counts.items()
        for number, score in enumerate([1.0] * masculine + [0.0] * feminine + [math.nan] * none)
    ]
    return pd.DataFrame(rows)


COUNTS = {1: (12, 8, 5), 7: (5, 15, 0), 8: (18, 2, 1), 13: (20, 0, 4), 16: (15, 5, 0)}
SIXTEEN = {number: (40 + 2 * number + (number % 3) * 5, 40 - 2 * number, 3) for number in range(1, 17)}


TOLD = {number: (masculine, feminine, 0) for number, (masculine, feminine, _) in SIXTEEN.items()}


def by_name(records: list[Record]) -> dict[tuple[str, str, str], Record]:
    return {(record.view, record.group, record.measure): record for record in records}


def of_all(records: list[Record]) -> dict[str, Record]:
    return {record.measure: record for record in records if record.view == "all"}


def test_rates_are_centres_of_agresti_coull_intervals() -> None:
    result = by_name(measure(table(COUNTS), resamples=50))
    p = {number: compute_masculine_share(masculine, feminine) for number, (masculine, feminine, _) in COUNTS.items()}
    male, female = (p[8] + p[13] + p[16]) / 3, (p[1] + p[7]) / 2
    for number, (masculine, feminine, _) in COUNTS.items():
        record = result["stereotype", str(number), "p_i"]
        assert record.value == pytest.approx(p[number])
        assert (record.low, record.high) == compute_masculine_interval(masculine, feminine)
        assert record.n == masculine + feminine
    values = {name: result["all", "all", name].value for name in ("f_s", LIKE, "f_m", "p_m", "p_f")}
    expected = {"f_s": male - female, LIKE: male - female, "f_m": (male + female) / 2, "p_m": male, "p_f": female}
    assert values == pytest.approx(expected)
    for name in ("f_s", "f_m", "p_m", "p_f"):
        record = result["all", "all", name]
        assert present(record.low) < record.value < present(record.high)
    assert result["all", "all", "f_s"].ideal == 0
    assert result["all", "all", "f_m"].ideal == 0.5
    assert result["all", "all", "f_s"].n == 100
    assert result["all", "all", "p_f"].n == 40


@pytest.mark.parametrize(("masculine", "feminine"), [(90, 10), (0, 20), (7, 0), (100, 100)])
def test_intervals_of_single_rates_are_agresti_coull(masculine: int, feminine: int) -> None:
    expected = proportion_confint(masculine, masculine + feminine, method="agresti_coull")
    assert compute_masculine_interval(masculine, feminine) == pytest.approx(expected)


def test_intervals_of_sums_combine_those_of_the_stereotypes() -> None:
    """As `WeightedShares`, for shares shrunk towards 0.5 by Agresti and Coull's pseudo-counts."""
    result = of_all(measure(table(TOLD), resamples=20))
    counts = np.array([masculine for masculine, _, _ in TOLD.values()], dtype=float)
    sizes = np.array([masculine + feminine for masculine, feminine, _ in TOLD.values()], dtype=float)
    male = np.arange(1, 17) > 7
    for name, (a, b) in {"f_s": (1, -1), "f_m": (0.5, 0.5), "p_m": (1, 0), "p_f": (0, 1)}.items():
        weights = np.where(male, a / 9, b / 7)
        used = weights != 0
        constant = float((weights * Z2 / 2 / (sizes + Z2)).sum())
        rates = WeightedShares((weights * sizes / (sizes + Z2))[used], counts[used], sizes[used], constant)
        assert result[name].value == pytest.approx(rates.value)
        assert (result[name].low, result[name].high) == pytest.approx(rates.interval())
        assert result[name].standard_error == pytest.approx(rates.standard_error.value)
        if name in ("f_s", "f_m"):
            assert result[name].p_value == pytest.approx(compute_two_sided_p(rates, 0.0 if name == "f_s" else 0.5))
        else:
            assert result[name].p_value is None
    assert result["f_s"].margin == 0.05
    assert result["f_m"].margin is None


def test_f_s_with_random_stereotypes_is_welch_s_test() -> None:
    result = of_all(measure(table(TOLD), resamples=20))[LIKE]
    p = {number: compute_masculine_share(masculine, feminine) for number, (masculine, feminine, _) in TOLD.items()}
    welch = stats.ttest_ind([p[i] for i in range(8, 17)], [p[i] for i in range(1, 8)], equal_var=False)
    assert result.p_value == pytest.approx(welch.pvalue)
    ends = welch.confidence_interval()
    assert (result.low, result.high) == pytest.approx((ends.low, ends.high))
    assert result.margin == 0.05


@pytest.mark.parametrize("each", [4, 19, 20])
def test_few_sentences_for_a_stereotype_give_no_interval(each: int) -> None:
    counts = dict.fromkeys(range(1, 17), (each - each // 3, each // 3, 2))
    counts[3] = (each, 0, 0)
    counts[12] = (each - 1, 1, 0)
    result = of_all(assign_verdicts(measure(table(counts), resamples=20)))
    for name in ("f_s", "f_m", "p_m", "p_f"):
        enough = each >= FEWEST == 20
        assert (result[name].low is not None) == enough
        assert (not result[name].why) == enough
        if not enough:
            assert str(each) in (result[name].why or "")
            assert "20" in (result[name].why or "")
            assert result[name].p_value is None
    assert result[LIKE].low is not None  # uses the sixteen rates only
    if each < 20:
        assert present(result["f_s"].verdict).kind == "too few"
        assert present(result["f_s"].verdict).reason == result["f_s"].why


def test_a_side_with_enough_sentences_has_its_interval() -> None:
    counts = {number: (15, 10, 0) if number > 7 else (3, 1, 0) for number in range(1, 17)}
    result = of_all(measure(table(counts), resamples=20))
    assert result["p_m"].low is not None
    assert result["p_f"].low is None
    assert result["f_s"].low is None


def test_random_stereotypes_need_five_on_either_side() -> None:
    result = of_all(assign_verdicts(measure(table(COUNTS), resamples=20)))[LIKE]
    assert (result.low, result.p_value, result.margin) == (None, None, 0.05)
    assert "5" in (result.why or "")
    assert present(result.verdict).kind == "too few"
    alike = of_all(measure(table(dict.fromkeys(range(1, 17), (30, 10, 0))), resamples=20))[LIKE]
    assert alike.low is None
    assert "same rate" in (alike.why or "")


def test_both_versions_of_f_s_have_verdicts_and_margins_that_can_be_set() -> None:
    records = assign_verdicts(measure(table(SIXTEEN), resamples=20, margins={"f_s": 0.1}))
    judged = {record.measure: record for record in records if record.verdict is not None}
    assert set(judged) == {"f_s", LIKE}
    assert {record.margin for record in judged.values()} == {0.1}


def test_yields() -> None:
    result = by_name(measure(table(COUNTS)))
    assert result["all", "all", "yield"].value == pytest.approx(100 / 110)
    assert result["all", "all", "yield"].n == 110
    assert result["stereotype", "1", "yield"].value == pytest.approx(20 / 25)
    # All twenty have a gender; the interval is still below 1.
    full_yield = result["stereotype", "7", "yield"]
    assert (full_yield.value, full_yield.high) == (1.0, 1.0)
    # The wider of the mid-P and the Agresti-Coull interval.
    assert full_yield.low == min(compute_masculine_interval(20, 0)[0], 0.05 ** (1 / 20))


def test_the_yield_of_all_stereotypes_is_stratified() -> None:
    gendered = [np.repeat([1.0, 0.0], [count, 40 - count]) for count in (10, 20, 30, 38)]
    low, high = compute_share_interval(gendered)
    pooled = compute_share_interval([np.concatenate(gendered)])
    assert pooled[0] < low < np.mean(gendered) < high < pooled[1]
    error = math.sqrt(sum(group.var(ddof=1) / 40 for group in gendered) / 16)
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 150) * error, rel=0.02)
    result = by_name(measure(table({1: (20, 10, 10), 8: (10, 10, 20)})))["all", "all", "yield"]
    assert (result.low, result.high) == pytest.approx(
        compute_share_interval([np.repeat([1.0, 0.0], [30, 10]), np.repeat([1.0, 0.0], [20, 20])])
    )


def test_rates_of_few_translations_have_the_wider_of_two_intervals() -> None:
    result = by_name(measure(table({1: (1, 3, 2), 8: (15, 4, 0), 9: (15, 5, 0), 10: (0, 0, 3)}), resamples=20))
    for group, masculine, feminine in (("1", 1, 3), ("8", 15, 4)):
        p_i = result["stereotype", group, "p_i"]
        assert (p_i.low, p_i.high) == compute_share_interval([np.repeat([1.0, 0.0], [masculine, feminine])])
    p_i = result["stereotype", "9", "p_i"]
    assert (p_i.low, p_i.high) == compute_masculine_interval(15, 5)
    p_i = result["stereotype", "10", "p_i"]
    assert (p_i.low, p_i.high) == pytest.approx((0.0, 1.0))


@pytest.mark.parametrize("n", [2, 4, 10])
def test_rates_of_few_translations_cover_exactly(n: int) -> None:
    counts, rates = np.arange(n + 1), np.linspace(0.01, 0.99, 99)
    chances = stats.binom.pmf(counts[:, np.newaxis], n, rates)

    def covered(ends: list[tuple[float, float]]) -> np.ndarray:
        low, high = np.array(ends).T
        return np.sum(chances * ((low[:, np.newaxis] <= rates) & (rates <= high[:, np.newaxis])), axis=0)

    assert (
        covered([compute_share_interval([np.repeat([1.0, 0.0], [count, n - count])]) for count in counts]).min() > 0.93
    )
    assert covered([compute_masculine_interval(int(count), int(n - count)) for count in counts]).min() < 0.93


@pytest.mark.parametrize("n", [40, 100, 223])
def test_yields_cover_exactly(n: int) -> None:
    """Summed over the binomial distribution, at rates where the mid-P interval alone may cover in 92%."""
    counts = np.arange(n + 1)
    ends = np.array([compute_share_interval([np.repeat([1.0, 0.0], [count, n - count])]) for count in counts])
    covered = []
    for rate in np.linspace(0.5, 0.995, 100):
        inside = (ends[:, 0] <= rate) & (rate <= ends[:, 1])
        covered.append(stats.binom.pmf(counts, n, rate)[inside].sum())
    assert min(covered) > 0.935
    assert 0.95 < np.mean(covered) < 0.97


def test_feminine_ranks_start_at_the_lowest_rate() -> None:
    result = by_name(measure(table(COUNTS), resamples=200))
    ranks = {int(group): r.value for (_, group, name), r in result.items() if name == "feminine rank"}
    assert ranks == {7: 1, 1: 2, 16: 3, 8: 4, 13: 5}
    tied = by_name(measure(table({1: (5, 5, 0), 2: (5, 5, 0), 8: (9, 1, 0)}), resamples=20))
    assert [tied["stereotype", group, "feminine rank"].value for group in ("1", "2", "8")] == [1.5, 1.5, 3]


def test_intervals_of_ranks_count_significant_comparisons() -> None:
    result = by_name(measure(table(COUNTS | {2: (0, 0, 9)}), resamples=20))
    ends = {int(group): (r.low, r.high) for (_, group, name), r in result.items() if name == "feminine rank"}
    # 7 (5 of 20) is below 16 (15), 8 (18) and 13 (20 of 20), and 1 (12 of 20) is below 13; 2 has none with a gender.
    assert ends == {7: (1, 3), 1: (1, 5), 16: (2, 6), 8: (2, 6), 13: (3, 6), 2: (1, 6)}


def test_mean_ranks_over_systems_and_languages() -> None:
    other = COUNTS | {7: (20, 0, 0), 13: (2, 18, 0)}
    scores = pd.concat([table(COUNTS), table(other, language="uk"), table(COUNTS, model="other")])
    means = {r.group: r for r in measure(scores, resamples=50) if r.view == "pairs"}
    assert {(r.model, r.language, r.n) for r in means.values()} == {("all models", "all", 3)}
    assert means["13"].value == pytest.approx((5 + 1 + 5) / 3)
    one_system = pd.concat([table(COUNTS), table(other, language="uk")])
    assert {(r.model, r.language) for r in measure(one_system, resamples=50) if r.view == "pairs"} == {("sys", "all")}
    assert not [r for r in measure(table(COUNTS), resamples=50) if r.view == "pairs"]


def test_family_words_are_those_of_the_stereotypes_about_men() -> None:
    result = by_name(measure(table(COUNTS, family=frozenset({1, 8})), resamples=50))
    record = result["family words", "male stereotypes", "p_fam"]
    assert record.value == pytest.approx(compute_masculine_share(18, 2))
    assert record.n == 20
    assert ("family words", "male stereotypes", "p_fam") not in by_name(measure(table(COUNTS), resamples=50))


def test_always_masculine_translations_have_intervals_of_positive_width() -> None:
    result = of_all(assign_verdicts(measure(table(dict.fromkeys(range(1, 17), (20, 0, 3))), resamples=50)))
    f_m, f_s = result["f_m"], result["f_s"]
    assert present(f_m.low) < 0.9
    assert f_s.p_value == pytest.approx(1.0)
    assert present(f_s.low) < -0.04 < 0.04 < present(f_s.high)
    assert present(f_s.verdict).kind == "inconclusive"
    assert present(f_s.detectable) > 0.05


def test_translations_without_any_gender() -> None:
    nothing = table({1: (0, 0, 4), 8: (0, 0, 4)})
    for scores in (nothing, nothing.drop(columns="score")):
        result = by_name(measure(scores, resamples=50))
        assert result["all", "all", "yield"].value == 0
        assert result["stereotype", "1", "p_i"].value == 0.5
        assert result["all", "all", "f_s"].value == 0.0
        assert result["all", "all", "f_s"].why


def test_without_stereotypes_about_women_there_are_no_rates() -> None:
    result = by_name(measure(table({8: (5, 5, 0), 9: (6, 4, 0)}), resamples=50))
    assert ("all", "all", "f_s") not in result
    assert result["all", "all", "yield"].value == 1


def test_records_do_not_depend_on_row_order_or_other_systems() -> None:
    alone = measure(table(COUNTS), resamples=200)
    together = measure(pd.concat([table(COUNTS, model="other"), table(COUNTS)[::-1]]), resamples=200)
    assert alone == [record for record in together if record.model == "sys"]


def test_swapping_genders_mirrors_the_rates() -> None:
    forth = of_all(measure(table(SIXTEEN), resamples=20))
    back = of_all(measure(table({i: (f, m, n) for i, (m, f, n) in SIXTEEN.items()}), resamples=20))
    for name, middle in {"f_s": 0.0, LIKE: 0.0, "f_m": 1.0, "p_m": 1.0}.items():
        first, second = forth[name], back[name]
        mirrored = middle - second.value, middle - (second.high or 0), middle - (second.low or 0)
        assert (first.value, first.low, first.high) == pytest.approx(mirrored)
        assert first.p_value == pytest.approx(second.p_value)


@pytest.mark.parametrize("how", [{"intervals": False}, {"resamples": 0}])
def test_without_intervals_only_p_i_and_p_fam_have_one(how: dict[str, int]) -> None:
    result = measure(table(COUNTS, family=frozenset({8})), **how)  # type: ignore[arg-type]
    assert {record.measure for record in result if record.low is not None} == {"p_i", "p_fam"}
    assert not any(record.why or record.p_value or record.margin for record in result)


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"score": 0.5}, ["score 0.5", "sys for item 1-0", "gest-mt/all:sk", "masculine"]),
        ({"role": "log_ratio"}, ["role speaker_gender"]),
        ({"stereotype": 17}, ["from 1 to 16"]),
        ({"item": "1-0"}, ["second score"]),
        ({"language": None}, ["column language"]),
    ],
)
def test_invalid_scores_are_errors_that_name_the_item(change: dict[str, object], parts: list[str]) -> None:
    with raises_mentioning(DataError, *parts):
        measure(table({1: (3, 3, 0), 8: (3, 3, 0)}).assign(**change))
    with raises_mentioning(DataError, "column stereotype"):
        measure(table(COUNTS).drop(columns="stereotype"))
    scores = table({1: (3, 3, 0), 8: (3, 3, 0)})
    with raises_mentioning(DataError, "item 8-2", "gest-mt/all:sk", "column stereotype"):
        measure(scores.assign(stereotype=scores["stereotype"].where(scores["item"] != "8-2")))


def test_translations_of_one_original_are_a_cluster() -> None:
    """Each translation occurs five times: f_s stays, its interval is about sqrt(5) times as wide as for independent."""
    scores = table({number: (30, 20, 0) if number > 7 else (25, 25, 0) for number in range(1, 17)})
    number = scores["item"].str.split("-").str[1].astype(int)
    copies = scores.assign(idea=scores["stereotype"].astype(str) + "-" + (number // 5).astype(str))
    alone, shared = (of_all(measure(each)) for each in (scores, copies))
    for name in ("f_s", "f_m"):
        assert shared[name].value == pytest.approx(alone[name].value)
        assert shared[name].factor == "idea"
        widths = [present(record[name].high) - present(record[name].low) for record in (shared, alone)]
        assert 2.0 < widths[0] / widths[1] < 2.6
        assert present(shared[name].p_value) > present(alone[name].p_value)
    assert of_all(measure(scores.assign(idea=scores["item"])))["f_s"] == alone["f_s"]


def test_rates_and_ranks_of_single_stereotypes_account_for_shared_originals() -> None:
    """Each translation occurs five times: all values stay, intervals are about sqrt(5) times as wide."""
    counts = {number: (70 - 10 * (number % 4), 10 + 10 * (number % 4), 20) for number in range(1, 17)}
    scores = table(counts, family=frozenset({8})).assign(sub_stereotype="1 - made")
    number = scores["item"].str.split("-").str[1].astype(int)
    copies = scores.assign(idea=scores["stereotype"].astype(str) + "-" + (number // 5).astype(str))
    alone, shared = (by_name(measure(each)) for each in (scores, copies))
    named = [key for key in alone if key[2] in ("p_i", "p_fam", "yield", "untold genders gap")]
    assert {key[0] for key in named} == {"all", "stereotype", "sub_stereotype", "family words"}
    for key in named:
        assert shared[key].value == pytest.approx(alone[key].value), key
        widths = [present(record[key].high) - present(record[key].low) for record in (shared, alone)]
        assert 1.9 < widths[0] / widths[1] < 2.7, key
    ranks = [key for key in alone if key[2] == "feminine rank"]
    widths = [sum(present(record[key].high) - present(record[key].low) for key in ranks) for record in (shared, alone)]
    assert widths[0] > widths[1] + 10
    assert by_name(measure(scores.assign(idea=scores["item"]))) == alone
