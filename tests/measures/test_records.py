import json
import math

import pytest

from tiltmeter.errors import DataError
from tiltmeter.measures.records import COLUMNS, Record, from_dicts, to_dicts, to_frame

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


def test_columns_begin_with_those_of_measures_json() -> None:
    assert list(COLUMNS) == list(ROW)


def test_records_survive_json() -> None:
    records = [
        Record(**ROW),
        Record(**{**ROW, "measure": "ties", "low": None, "high": None, "p_value": None, "standard_error": None}),
    ]
    assert from_dicts(json.loads(json.dumps(to_dicts(records), allow_nan=False))) == records


def test_frame_has_numbers_where_numbers_are() -> None:
    frame = to_frame([Record(**{**ROW, "low": None, "high": None})])
    assert list(frame.columns) == list(COLUMNS)
    assert frame["low"].dtype == float
    assert frame["low"].isna().all()
    assert to_frame([]).empty


@pytest.mark.parametrize("name", ["value", "low", "high", "ideal", "p_value", "standard_error"])
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused_by_name(name: str, number: float) -> None:
    with pytest.raises(DataError, match=rf"SS of m on stereoset/overall:en \(all: all\) has no finite {name}"):
        Record(**{**ROW, name: number})


@pytest.mark.parametrize(("low", "high"), [(None, 3.0), (3.0, None), (3.0, 2.0)])
def test_half_and_reversed_intervals_are_refused(low: float | None, high: float | None) -> None:
    with pytest.raises(DataError, match="interval"):
        Record(**{**ROW, "low": low, "high": high})


def test_rows_of_something_else_are_refused() -> None:
    with pytest.raises(DataError, match="Record 2"):
        from_dicts([ROW, {"model": "m"}])
