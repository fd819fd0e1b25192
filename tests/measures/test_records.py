import json
import math

import numpy as np
import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.errors import DataError
from tiltmeter.measures.association import ICAT, LMS, SS
from tiltmeter.measures.estimates import (
    Mean,
    Ratio,
    Share,
    compute_detectable_effect,
    compute_equivalence_p,
    compute_two_sided_p,
)
from tiltmeter.measures.gest import G_S
from tiltmeter.measures.records import (
    COLUMNS,
    Record,
    RecordKey,
    build_estimate_record,
    build_record,
    from_dicts,
    get_base_protocol,
    get_parts_key,
    get_row_key,
    to_dicts,
    to_frame,
)
from tiltmeter.measures.standard_errors import StandardError
from tiltmeter.measures.verdict import Verdict

ROW = {
    "model": "m",
    "benchmark": "stereoset",
    "part": "overall",
    "language": "en",
    "view": "all",
    "group": "all",
    "measure": "SS",
    "value": 58.25,
    "low": 55.0,
    "high": 61.5,
    "n": 40,
    "ideal": 50.0,
    "protocol": "published",
    "p_value": 0.01,
    "standard_error": 1.5,
}
MORE = {
    "clusters": 8,
    "factor": "target",
    "df": 6.5,
    "design_effect": 1.4,
    "margin": 5.0,
    "p_equivalence": 0.9,
    "p_beyond": 0.03,
    "p_adjusted": 0.02,
    "tests": 4,
    "looks": 2,
    "detectable": 4.5,
    "why": "because",
    "family": "likelihood",
    "kind": "causal",
    "verdict": Verdict("significant", "towards", "", "5 points"),
    "label": "17 men are punctual",
    "missing": 0.25,
    "lowest_possible": 40.0,
    "highest_possible": 70.0,
}


KEY = RecordKey("m", "stereoset", "all", "en", "published")
POSSIBLE = ("lowest_possible", "highest_possible")
COMPLETE = to_dicts([Record(**ROW)])[0]


def test_columns_have_the_order_of_measures_json() -> None:
    assert list(COLUMNS) == [*ROW, *MORE]


def test_records_survive_json() -> None:
    records = [
        Record(**ROW),
        Record(**ROW, **MORE),
        Record(**{**ROW, "measure": "ties", "low": None, "high": None, "p_value": None, "standard_error": None}),
    ]
    assert from_dicts(json.loads(json.dumps(to_dicts(records), allow_nan=False))) == records


def test_a_row_without_a_column_is_an_error() -> None:
    with raises_mentioning(DataError, "Record 1", "clusters"):
        from_dicts([ROW])


def test_rows_of_older_versions_have_no_missing_answers() -> None:
    old = {name: value for name, value in COMPLETE.items() if name not in ("missing", *POSSIBLE)}
    (record,) = from_dicts([old])
    assert (record.missing, record.lowest_possible, record.highest_possible) == (None, None, None)


def test_a_row_of_an_older_version_has_no_looks() -> None:
    row = {name: value for name, value in COMPLETE.items() if name != "looks"}
    assert from_dicts([row])[0].looks is None


def test_the_data_frame_has_numeric_columns_and_verdicts_in_words() -> None:
    frame = to_frame([Record(**{**ROW, "low": None, "high": None}), Record(**ROW, **MORE)])
    assert list(frame.columns) == list(COLUMNS)
    for name in ("low", "p_adjusted", "margin", "p_equivalence", "detectable"):
        assert frame[name].dtype == float
        assert frame[name].isna().tolist() == [True, False]
    assert frame["verdict"].tolist()[1] == "significant bias towards stereotypes"
    assert to_frame([]).empty


@pytest.mark.parametrize(
    "name",
    [
        "value",
        "low",
        "high",
        "ideal",
        "p_value",
        "standard_error",
        "margin",
        "p_equivalence",
        "p_beyond",
        "p_adjusted",
        "detectable",
    ],
)
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_errors(name: str, number: float) -> None:
    with raises_mentioning(DataError, "SS of m", "stereoset/overall:en", name, str(number)):
        Record(**{**ROW, **MORE, name: number})


@pytest.mark.parametrize(("low", "high"), [(None, 3.0), (3.0, None), (3.0, 2.0)])
def test_incomplete_and_reversed_intervals_are_errors(low: float | None, high: float | None) -> None:
    with raises_mentioning(DataError, "SS of m", "interval"):
        Record(**{**ROW, "low": low, "high": high})


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"unknown": 1}, "unknown"),
        ({"verdict": "significant"}, "measures.json"),
        ({"model": 3}, "model"),
        ({"value": None}, "value"),
        ({"n": 4.5}, "n is not"),
        ({"clusters": -1}, "clusters"),
        ({"low": True}, "low"),
    ],
)
def test_invalid_rows_are_errors(fields: dict[str, object], part: str) -> None:
    with raises_mentioning(DataError, "Record 2", part):
        from_dicts([COMPLETE, {**COMPLETE, **fields}])


def test_invalid_verdicts_are_errors() -> None:
    with raises_mentioning(DataError, "leans", "verdict"):
        from_dicts([{**COMPLETE, "verdict": {"kind": "leans"}}])


def test_the_record_of_an_estimate_has_interval_and_tests() -> None:
    share = Share.from_values(np.array([100.0] * 60 + [0.0] * 40))
    result = build_estimate_record(KEY, "intrasentence", "all", "all", SS, share, 100)
    assert (result.value, result.n, result.ideal, result.margin, result.clusters) == (60.0, 100, 50.0, 5.0, None)
    assert (result.low, result.high) == share.interval()
    assert result.standard_error == share.standard_error.value
    assert result.p_value == compute_two_sided_p(share, 50.0)
    assert result.p_equivalence == compute_equivalence_p(share, 45.0, 55.0)
    assert result.p_beyond == share.compute_p_above(55.0)
    assert result.detectable == compute_detectable_effect(share, 0.05)
    assert (result.p_adjusted, result.tests, result.verdict, result.why) == (None, None, None, None)
    low = build_estimate_record(
        KEY, "intrasentence", "all", "all", SS, Share.from_values(np.array([100.0] * 30 + [0.0] * 70)), 100
    )
    assert low.p_beyond == pytest.approx(Share.from_values(np.array([100.0] * 70 + [0.0] * 30)).compute_p_above(55.0))


def test_margins_of_ratios_are_factors() -> None:
    ratio = Ratio(Mean(0.1, StandardError(0.05, 100)))
    result = build_estimate_record(KEY, "all", "all", "all", G_S, ratio, 100)
    assert result.p_equivalence == compute_equivalence_p(ratio, 1 / 1.22, 1.22)
    assert result.p_beyond == ratio.compute_p_above(1.22)
    assert build_estimate_record(KEY, "all", "all", "all", G_S, ratio, 100, 1.5).p_equivalence == compute_equivalence_p(
        ratio, 1 / 1.5, 1.5
    )


def test_measures_with_an_ideal_at_a_bound_have_no_test() -> None:
    share = Share.from_values(np.array([100.0] * 60 + [0.0] * 40))
    for result in (
        build_estimate_record(KEY, "all", "all", "all", LMS, share, 100),
        build_estimate_record(KEY, "all", "all", "all", ICAT, share, 100),
        build_estimate_record(KEY, "all", "all", "all", SS, share, 100, tested=False),
    ):
        assert result.low is not None
        assert (result.p_value, result.margin, result.p_equivalence, result.p_beyond, result.detectable) == (None,) * 5


def test_keys_of_rows_and_parts() -> None:
    record, other = Record(**ROW), Record(**{**ROW, "measure": "LMS"})
    assert get_row_key(record) == get_row_key(other)
    assert get_parts_key(record) != get_parts_key(other)
    part = Record(**{**ROW, "part": "intersentence", "protocol": "published/d"})
    assert get_row_key(record) != get_row_key(part)
    assert get_parts_key(record) == get_parts_key(part)
    assert get_base_protocol("in-context/d + in-context") == "in-context"


def test_a_record_can_be_built_with_the_name_of_a_measure() -> None:
    result = build_record(KEY, "all", "all", "all", "SS", 60.0, 10, ends=(50.0, 70.0))
    assert (result.measure, result.ideal, result.low, result.high) == ("SS", 50.0, 50.0, 70.0)
    assert build_record(KEY, "all", "all", "all", "something else", 60.0, 10).ideal is None
