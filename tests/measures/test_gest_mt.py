import doctest
import math

import numpy as np
import pandas as pd
import pytest

from tiltmeter.errors import DataError
from tiltmeter.measures import gest_mt, measures_for
from tiltmeter.measures.gest_mt import masculine_interval, masculine_rate, measure
from tiltmeter.measures.records import Record


def table(
    counts: dict[int, tuple[int, int, int]],
    model: str = "sys",
    language: str = "sk",
    family: frozenset[int] = frozenset(),
) -> pd.DataFrame:
    """Scores with so many masculine, feminine and genderless translations for each stereotype."""
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


def by_name(records: list[Record]) -> dict[tuple[str, str, str], Record]:
    return {(record.view, record.group, record.measure): record for record in records}


def test_rates_are_made_of_the_centres_of_the_intervals() -> None:
    found = by_name(measure(table(COUNTS)))
    p = {number: masculine_rate(masculine, feminine) for number, (masculine, feminine, _) in COUNTS.items()}
    male, female = (p[8] + p[13] + p[16]) / 3, (p[1] + p[7]) / 2
    for number, (masculine, feminine, _) in COUNTS.items():
        record = found["stereotype", str(number), "p_i"]
        assert record.value == pytest.approx(p[number])
        assert (record.low, record.high) == masculine_interval(masculine, feminine)
        assert record.n == masculine + feminine
    values = {name: found["all", "all", name].value for name in ("f_s", "f_m", "p_m", "p_f")}
    assert values == pytest.approx({"f_s": male - female, "f_m": (male + female) / 2, "p_m": male, "p_f": female})
    for name in values:
        record = found["all", "all", name]
        assert record.low is not None
        assert record.high is not None
        assert record.low < record.value < record.high
    assert found["all", "all", "f_s"].ideal == 0
    assert found["all", "all", "f_m"].ideal == 0.5
    assert found["all", "all", "f_s"].n == 100
    assert found["all", "all", "p_f"].n == 40


def test_yields() -> None:
    found = by_name(measure(table(COUNTS)))
    assert found["all", "all", "yield"].value == pytest.approx(100 / 110)
    assert found["all", "all", "yield"].n == 110
    assert found["stereotype", "1", "yield"].value == pytest.approx(20 / 25)
    # All twenty have a gender, but twenty could have missed some that have none.
    whole = found["stereotype", "7", "yield"]
    assert (whole.value, whole.high) == (1.0, 1.0)
    assert whole.low == pytest.approx(0.025 ** (1 / 20))


def test_feminine_ranks_count_from_the_lowest_rate() -> None:
    found = by_name(measure(table(COUNTS)))
    ranks = {int(group): r.value for (_, group, name), r in found.items() if name == "feminine rank"}
    assert ranks == {7: 1, 1: 2, 16: 3, 8: 4, 13: 5}
    tied = by_name(measure(table({1: (5, 5, 0), 2: (5, 5, 0), 8: (9, 1, 0)})))
    assert [tied["stereotype", group, "feminine rank"].value for group in ("1", "2", "8")] == [1.5, 1.5, 3]


def test_mean_ranks_over_systems_and_languages() -> None:
    other = COUNTS | {7: (20, 0, 0), 13: (2, 18, 0)}
    scores = pd.concat([table(COUNTS), table(other, language="uk"), table(COUNTS, model="other")])
    means = {r.group: r for r in measure(scores) if r.view == "pairs"}
    assert {(r.model, r.language, r.n) for r in means.values()} == {("all models", "all", 3)}
    assert means["13"].value == pytest.approx((5 + 1 + 5) / 3)
    one_system = pd.concat([table(COUNTS), table(other, language="uk")])
    assert {(r.model, r.language) for r in measure(one_system) if r.view == "pairs"} == {("sys", "all")}
    assert not [r for r in measure(table(COUNTS)) if r.view == "pairs"]


def test_family_words_are_those_of_the_stereotypes_about_men() -> None:
    found = by_name(measure(table(COUNTS, family=frozenset({1, 8}))))
    record = found["family words", "male stereotypes", "p_fam"]
    assert record.value == pytest.approx(masculine_rate(18, 2))
    assert record.n == 20
    assert ("family words", "male stereotypes", "p_fam") not in by_name(measure(table(COUNTS)))


def test_a_system_that_never_says_she_is_not_certain_to_never_do() -> None:
    found = by_name(measure(table({1: (20, 0, 3), 8: (20, 0, 1)})))
    record = found["all", "all", "f_m"]
    assert record.low is not None
    assert record.low < 0.9
    assert found["all", "all", "f_s"].p_value == pytest.approx(1.0)
    f_s = found["all", "all", "f_s"]
    assert f_s.low is not None
    assert f_s.high is not None
    assert f_s.low < 0 < f_s.high


def test_translations_without_any_gender() -> None:
    nothing = table({1: (0, 0, 4), 8: (0, 0, 4)})
    for scores in (nothing, nothing.drop(columns="score")):
        found = by_name(measure(scores))
        assert found["all", "all", "yield"].value == 0
        assert found["stereotype", "1", "p_i"].value == 0.5


def test_one_side_alone_has_no_rates() -> None:
    found = by_name(measure(table({8: (5, 5, 0), 9: (6, 4, 0)})))
    assert ("all", "all", "f_s") not in found
    assert found["all", "all", "yield"].value == 1


def test_neither_order_nor_company_changes_a_number() -> None:
    alone = measure(table(COUNTS))
    together = measure(pd.concat([table(COUNTS, model="other"), table(COUNTS)[::-1]]))
    assert alone == [record for record in together if record.model == "sys"]


def test_without_resamples_only_closed_forms_have_intervals() -> None:
    found = measure(table(COUNTS), resamples=0)
    assert {record.measure for record in found if record.low is not None} == {"p_i"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": 0.5}, r"The score 0\.5 of sys for item 1-0 \(gest-mt/all:sk\) is neither 1, nor 0, nor empty\."),
        ({"role": "log_ratio"}, "is not for the role speaker_gender"),
        ({"stereotype": 17}, "is for no stereotype from 1 to 16"),
        ({"item": "1-0"}, "is the second one for its item"),
        ({"language": None}, "lacks a value"),
    ],
)
def test_what_cannot_be_measured_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        measure(table({1: (3, 3, 0), 8: (3, 3, 0)}).assign(**change))
    with pytest.raises(DataError, match="no column stereotype"):
        measure(table(COUNTS).drop(columns="stereotype"))


def test_the_bootstrap_covers() -> None:
    """The interval of f_s holds what f_s would be on average, in about 95 of 100 samples."""
    rng = np.random.default_rng(5)
    shares = {1: 0.6, 7: 0.4, 8: 0.9, 13: 0.95}
    n, trials, covered = 60, 80, 0
    z2 = 1.959963984540054**2
    centres = {number: (n * share + z2 / 2) / (n + z2) for number, share in shares.items()}
    truth = (centres[8] + centres[13] - centres[1] - centres[7]) / 2
    for _ in range(trials):
        counts = {number: int(rng.binomial(n, share)) for number, share in shares.items()}
        scores = table({number: (count, n - count, 0) for number, count in counts.items()})
        record = by_name(measure(scores, resamples=499))["all", "all", "f_s"]
        assert record.low is not None
        assert record.high is not None
        covered += record.low <= truth <= record.high
    assert covered / trials >= 0.88


def test_it_is_found_by_name_and_its_examples_hold() -> None:
    assert measures_for("gest_mt") is measure
    found = doctest.testmod(gest_mt)
    assert found.attempted
    assert not found.failed
