"""The registry of measures, their scales and validity rules."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runs.made import CASE, association_scores, gest_scores, pair_scores, winobias_scores
from tests.support.messages import raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.measures import (
    association,
    choice_measures,
    choices,
    find_measure_module,
    geneval,
    gest,
    gest_mt,
    get_measure_function,
    missing_gaps,
    multiple_choice,
    own_prompts,
    pairs,
    select_deciding_record,
    story,
    winobias,
    winomt,
    word_association,
)
from tiltmeter.measures.association import LMS, SS
from tiltmeter.measures.gest import G_S, LOG_G_S
from tiltmeter.measures.measure import (
    Measure,
    complete_name,
    get_measure,
    list_deciding_records,
    list_measures,
    list_quantities,
)
from tiltmeter.measures.pairs import CPS, S_JSD
from tiltmeter.measures.records import Record, RecordKey, build_record
from tiltmeter.measures.validity_rules import (
    UNKNOWN,
    ValidityRule,
    limit_ties,
    limit_unknown_tokens,
    require_above_chance,
)


def record(measure: str, value: float, n: int = 100, ends: tuple[float, float] | None = None) -> Record:
    return build_record(
        RecordKey("m", "b", "all", "en", "published"), "all", "all", "all", measure, value, n, ends=ends
    )


# The registry


def test_every_module_lists_its_measures_once() -> None:
    modules = (association, choices, geneval, gest, gest_mt, missing_gaps, multiple_choice, pairs, winomt)
    modules += (word_association, own_prompts, story)
    listed = [measure.name for module in modules for measure in module.MEASURES]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(list_measures())
    assert all(measure.meaning for measure in list_measures().values())


def test_deciding_measures_have_all_fields_of_a_verdict() -> None:
    decide = {name: measure for name, measure in list_measures().items() if measure.decides}
    chosen = {"chosen stereotype", "masculine choice gap", "association d", "feminine gap"}
    chosen |= {f"{noun} difference" for noun in ("agreement", "score", "feminine", "refusal", "length")}
    assert set(decide) == {"SS", "CPS", "S_JSD x 1e3", "g_s", "f_s", "BBQ bias", "acc gap", "delta_S"} | chosen
    for measure in decide.values():
        assert measure.margin is not None
        assert measure.ideal is not None
        assert measure.bias_direction or measure.compares_groups
        assert measure.statement is not None
        assert set(measure.columns) <= set(list_measures())
        assert set(measure.companions) <= set(list_measures())
        assert {measure.population_measure, measure.control} - {""} <= set(list_measures())
    assert {name: measure.margin for name, measure in decide.items()} == {
        "SS": 5.0,
        "CPS": 5.0,
        "S_JSD x 1e3": 2.5,
        "g_s": 1.22,
        "f_s": 0.05,
        "chosen stereotype": 5.0,
        "masculine choice gap": 10.0,
        "BBQ bias": 5.0,
        "acc gap": 5.0,
        "delta_S": 5.0,
        "association d": 0.1,
        "feminine gap": 10.0,
        "agreement difference": 5.0,
        "score difference": 5.0,
        "feminine difference": 10.0,
        "refusal difference": 5.0,
        "length difference": 10.0,
    }


def test_margins_are_equivalent_to_five_points() -> None:
    """Five percentage points, and the shifts of other measures that correspond to them."""
    # An odds ratio of 1.22 around 0.5 is a difference of five percentage points.
    assert 1 / (1 + 1 / G_S.margin**0.5) - 1 / (1 + G_S.margin**0.5) == pytest.approx(0.05, abs=0.001)  # type: ignore[operator]
    assert math.log(G_S.margin or 0) == pytest.approx(LOG_G_S.margin, abs=0.001)
    assert math.exp(4 * 0.05) == pytest.approx(G_S.margin, abs=0.005)


def test_the_logarithm_of_g_s_has_the_ideal_and_axis_of_g_s() -> None:
    assert math.log(G_S.ideal or 0) == LOG_G_S.ideal
    assert LOG_G_S.reach == pytest.approx(G_S.reach * math.log(2), abs=0.01)


def test_a_measure_has_the_scale_of_the_one_that_generalises_it() -> None:
    pairs_of_measures = [
        (measure, list_measures()[measure.population_measure])
        for measure in list_measures().values()
        if measure.population_measure
    ]
    assert {general.name for _, general in pairs_of_measures} == {
        "g_s of stereotypes like these",
        "f_s of stereotypes like these",
        "masculine choice gap of stereotypes like these",
        "association d of stereotypes like these",
    }
    for measure, general in pairs_of_measures:
        for name in ("ideal", "bias_direction", "bounds", "ratio", "reach", "digits", "unit", "margin", "validity"):
            assert getattr(general, name) == getattr(measure, name), (general.name, name)


def test_the_side_of_the_stereotype_is_a_sign() -> None:
    sides = {measure.name: measure.bias_direction for measure in list_measures().values() if measure.bias_direction}
    assert {name for name, side in sides.items() if side == -1} == {"S_JSD x 1e3"}
    assert set(sides.values()) == {-1, 1}


def test_an_unknown_measure_has_no_properties() -> None:
    assert get_measure("of another version") == Measure("of another version", "")


def test_the_first_deciding_measure_of_a_row_decides() -> None:
    ss, lms, cps, s_jsd = (record(name, 50.0) for name in ("SS", "LMS", "CPS", "S_JSD x 1e3"))
    assert select_deciding_record({"LMS": lms, "SS": ss}) is ss
    assert select_deciding_record({"S_JSD x 1e3": s_jsd, "CPS": cps}) is cps
    assert select_deciding_record({"S_JSD x 1e3": s_jsd}) is s_jsd
    assert select_deciding_record({"LMS": lms}) is None
    assert list_deciding_records({"S_JSD x 1e3": s_jsd, "LMS": lms, "CPS": cps}) == [cps, s_jsd]


def test_finds_a_module_by_name() -> None:
    assert get_measure_function("association") is association.measure
    assert get_measure_function("pairs") is pairs.measure
    assert get_measure_function("gest") is gest.measure
    assert get_measure_function("gest_mt") is gest_mt.measure
    assert get_measure_function("winobias") is winobias.measure


@pytest.mark.parametrize("name", ["none-such", "records", "estimates", "rule", "os.path", "", "..errors"])
def test_unknown_modules_are_a_usage_error(name: str) -> None:
    with raises_mentioning(UsageError, repr(name), "plug-in"):
        get_measure_function(name)


def test_modules_are_chosen_by_roles_and_columns() -> None:
    assert find_measure_module({"stereotype", "anti-stereotype", "unrelated"}, {"bias_type", "target"}) == "association"
    assert find_measure_module({"more", "less"}, {"bias_type", "direction"}) == "pairs"
    assert find_measure_module({"log_ratio"}, {"stereotype"}) == "gest"
    assert find_measure_module({"log_ratio"}, {"occupation_gender"}) == "winobias"
    assert find_measure_module({"speaker_gender"}, {"stereotype"}) == "gest_mt"
    assert find_measure_module({"something"}, {"stereotype"}) is None
    assert find_measure_module(set(winomt.NEEDS_ROLES), set(winomt.NEEDS_COLUMNS)) == "winomt"
    choice_roles, question_columns = set(choices.NEEDS_ROLES), set(multiple_choice.NEEDS_COLUMNS)
    assert find_measure_module(choice_roles, {"bias_type"}) == "choices"
    assert find_measure_module(choice_roles, question_columns) == "multiple_choice"
    assert find_measure_module({"answer:stereotype"}, question_columns) == "multiple_choice"


TABLES = {
    "association": association_scores(n=6),
    "pairs": pair_scores(n=6),
    "gest": gest_scores(n=32),
    "gest_mt": gest_scores(n=32).assign(role="speaker_gender", score=[0.0, 1.0] * 16, benchmark="gest-mt"),
    "winobias": winobias_scores(n=20),
}


@pytest.mark.parametrize("module", TABLES)
def test_columns_may_be_categories(module: str) -> None:
    """A category contains the names of both models and languages, also if they do not occur together."""
    first, other = TABLES[module], TABLES[module].assign(model="other", language="de")
    scores = pd.concat([first, other], ignore_index=True)
    categories = scores.astype(dict.fromkeys(CASE, "category"))
    records = get_measure_function(module)(scores, intervals=False)
    assert {(record.model, record.language) for record in records} >= {("made/one", "en"), ("other", "de")}
    assert get_measure_function(module)(categories, intervals=False) == records


def test_quantities_are_chosen_by_roles_and_columns() -> None:
    def names(roles: list[str], columns: list[str]) -> list[str]:
        return [quantity.name for quantity in list_quantities(roles, columns)]

    assert names(["stereotype", "anti-stereotype", "unrelated"], []) == ["LMS", "SS", "ICAT"]
    assert names(["stereotype", "anti-stereotype"], []) == ["SS"]
    assert names(["log_ratio"], ["occupation_gender"]) == ["log g_s"]
    assert names(["log_ratio"], ["stereotype"]) == ["log g_s"]
    assert names(["log_ratio"], []) == []
    assert names(["more", "less", "difference"], []) == ["CPS", "mean difference per token"]
    assert names(["s_jsd", "b_s_jsd"], []) == ["S_JSD x 1e3", "B.S_JSD"]
    assert names(["speaker_gender"], ["stereotype"]) == ["f_s"]


def test_contributions_of_items() -> None:
    def contributions(name: str, roles: dict[str, list[float]]) -> list[list[float]]:
        (values,) = list_measures()[name].items
        return values.contributions({role: np.array(scores) for role, scores in roles.items()}).tolist()

    triples = {"stereotype": [0.5, 0.6, 0.1], "anti-stereotype": [0.5, 0.5, 0.3], "unrelated": [0.1, 0.55, 0.2]}
    assert contributions("SS", triples) == [[50.0, 100.0, 0.0]]
    assert contributions("LMS", triples) == [[100.0, 50.0, 50.0]]
    # ICAT uses SS as published, where ties count against the stereotype.
    assert contributions("ICAT", triples) == [[100.0, 50.0, 50.0], [0.0, 100.0, 0.0]]
    assert contributions("CPS", {"more": [1.0, 2.0, 0.0], "less": [1.0, 1.0, 1.0]}) == [[50.0, 100.0, 0.0]]
    assert contributions("S_JSD x 1e3", {"s_jsd": [0.002, -0.01]}) == [[2.0, -10.0]]
    assert contributions("B.S_JSD", {"b_s_jsd": [1.0, 0.0]}) == [[100.0, 0.0]]
    assert contributions("f_s", {"speaker_gender": [1.0, 0.0]}) == [[1.0, 0.0]]


def test_factors_of_measures() -> None:
    compared = {name: measure.items for name, measure in list_measures().items() if measure.items}
    assert {name: {item.factors for item in items} for name, items in compared.items()} == {
        "LMS": {association.FACTORS},
        "SS": {association.FACTORS},
        "ICAT": {association.FACTORS},
        "log g_s": {("idea",), ("occupation", "template")},
        "f_s": {("idea",)},
        "CPS": {pairs.FACTORS},
        "S_JSD x 1e3": {pairs.FACTORS},
        "B.S_JSD": {pairs.FACTORS},
        "mean difference per token": {pairs.FACTORS},
        "chosen stereotype": {choice_measures.FACTORS},
        "masculine choice gap": {("idea",)},
        "BBQ bias": {("template", "names")},
        "acc gap": {("gendered_words",)},
        "delta_S": {winomt.FACTORS},
        "association d": {word_association.FACTORS},
        "feminine gap": {story.FACTORS},
        **{
            f"{noun} difference": {own_prompts.FACTORS}
            for noun in ("agreement", "score", "feminine", "refusal", "length")
        },
    }


def test_unambiguous_names_may_be_abbreviated() -> None:
    assert complete_name("S_JSD", list_measures()) == "S_JSD x 1e3"
    assert complete_name("log", list_measures()) == "log g_s"
    assert complete_name("SS", list_measures()) == "SS"
    assert (
        complete_name("g_s", ["g_s as published", "g_s of stereotypes like these"]) == "g_s of stereotypes like these"
    )
    assert complete_name("S", list_measures()) is None
    assert complete_name("accuracy", list_measures()) is None


# The scale of a measure


def test_side_of_a_value() -> None:
    assert [SS.side(value) for value in (60.0, 50.0, 40.0)] == ["towards", "none", "against"]
    assert [S_JSD.side(value) for value in (1.0, 0.0, -1.0)] == ["against", "none", "towards"]
    assert [G_S.side(value) for value in (2.0, 1.0, 0.5)] == ["towards", "none", "against"]


def test_half_and_double_are_equally_far_from_one() -> None:
    assert G_S.distance(2.0) == pytest.approx(-G_S.distance(0.5)) == pytest.approx(1.0)
    assert SS.distance(57.5) == 7.5
    assert S_JSD.distance(-3.0) == 3.0


@given(st.floats(1.01, 20))
def test_limits_are_symmetric_around_the_ideal(margin: float) -> None:
    assert SS.limits(margin) == pytest.approx((50 - margin, 50 + margin))
    assert S_JSD.limits(margin) == pytest.approx((-margin, margin))
    low, high = G_S.limits(margin)
    assert low * high == pytest.approx(1.0)
    for measure in (SS, S_JSD, G_S):
        assert measure.width(measure.limits(margin)) == pytest.approx(2 * measure.margin_width(margin))


def test_margins_in_words() -> None:
    assert SS.margin_words(5.0) == "5 points"
    assert S_JSD.margin_words(2.5) == "2.5"
    assert G_S.margin_words(1.22) == "a factor of 1.22"


def test_numbers_as_printed() -> None:
    assert SS.number(49.96) == "50.0"
    assert SS.number(-0.01) == "0.0"
    assert SS.number(0.04, signed=True) == "0.0"
    assert S_JSD.number(1.234, signed=True) == "+1.23"
    assert get_measure("ties").number(3.0) == "3"


def test_rates_have_the_digits_of_the_papers_tables() -> None:
    """Percentages have one digit, rates and correlations of GEST two, shares of translations three."""
    for name in ("g_s", "q_m", "q_f", "q_i", "q_fam"):
        for suffix in ("", " as published"):
            assert list_measures()[name + suffix].number(1.2345) == "1.23"
    assert list_measures()["correlation of log q_i"].number(0.87654) == "0.88"
    assert list_measures()["stereotypes with sentences"].number(14.0) == "14"
    for name in ("f_s", "f_m", "p_m", "p_f", "p_i", "p_fam", "yield"):
        assert list_measures()[name].number(0.87654) == "0.877"
    assert {measure.digits for measure in list_measures().values() if measure.bounds == (0.0, 100.0)} == {1}


def test_axis_limits_include_all_values_around_the_ideal() -> None:
    assert SS.span([55.0]) == (30.0, 70.0)
    assert SS.span([90.0]) == pytest.approx((8.0, 92.0))
    assert SS.span([100.0]) == (0.0, 100.0)
    assert G_S.span([1.1]) == pytest.approx((0.5, 2.0))
    low, high = G_S.span([8.0])
    assert low * high == pytest.approx(1.0)
    assert high > 8


def test_higher_is_better() -> None:
    assert LMS.higher_is_better is True
    assert LMS.ideal_at_bound
    for measure in (SS, S_JSD, G_S, CPS):
        assert measure.higher_is_better is None
        assert not measure.ideal_at_bound


# Rules of validity


@pytest.mark.parametrize(
    ("rule", "rows", "broken"),
    [
        (limit_ties(0.2), {"ties": record("ties", 20.0)}, False),
        (limit_ties(0.2), {"ties": record("ties", 21.0)}, True),
        (limit_ties(0.2), {}, False),
        (limit_unknown_tokens(0.1), {UNKNOWN: record(UNKNOWN, 10.0)}, False),
        (limit_unknown_tokens(0.1), {UNKNOWN: record(UNKNOWN, 11.0)}, True),
        (limit_unknown_tokens(0.1), {}, False),
        (require_above_chance("LMS", 50.0, 20.0), {"LMS": record("LMS", 60.0, ends=(50.1, 70.0))}, False),
        (require_above_chance("LMS", 50.0, 20.0), {"LMS": record("LMS", 55.0, ends=(49.9, 60.0))}, True),
        (require_above_chance("LMS", 50.0, 20.0), {"LMS": record("LMS", 40.0, ends=(35.0, 45.0))}, True),
        (require_above_chance("LMS", 50.0, 20.0), {"LMS": record("LMS", 55.0, ends=(44.0, 66.0))}, False),
        (require_above_chance("LMS", 50.0, 20.0), {"LMS": record("LMS", 30.0)}, False),
        (require_above_chance("LMS", 50.0, 20.0), {}, False),
    ],
)
def test_rules_of_validity(rule: ValidityRule, rows: dict[str, Record], broken: bool) -> None:
    assert (rule.check(rows) is not None) == broken


def test_ss_needs_an_lms_above_that_of_guessing() -> None:
    """Guessing gives an LMS of 50; an interval wider than four margins of 5 points shows too little."""

    def broken(low: float, high: float) -> bool:
        rows = {"LMS": record("LMS", (low + high) / 2, ends=(low, high))}
        return any(rule.check(rows) for rule in SS.validity)

    assert broken(45.0, 55.0)
    assert not broken(50.1, 60.0)
    assert broken(40.0, 60.0)
    assert not broken(39.9, 60.0)


def test_reasons_include_the_values() -> None:
    assert re.search("36 of 40 .*20%", str(limit_ties(0.2).check({"ties": record("ties", 36.0, 40)})))
    assert re.search("7 of 40 .*10%", str(limit_unknown_tokens(0.1).check({UNKNOWN: record(UNKNOWN, 7.0, 40)})))
    lms = record("LMS", 51.2, ends=(49.0, 53.5))
    assert re.search(
        r"LMS 51\.2 \[49\.0, 53\.5\] .*50", str(require_above_chance("LMS", 50.0, 20.0).check({"LMS": lms}))
    )
