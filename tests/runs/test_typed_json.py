"""Conversion between JSON and dataclasses: types, defaults, unknown keys, and errors that name the location."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.errors import DataError
from tiltmeter.runs.typed_json import ALL_KEYS, NOT_IN_JSON, OPTIONAL, OTHER_KEYS, from_json, to_json


@dataclass(frozen=True)
class Inner:
    name: str
    whole: Mapping[str, Any] = field(default_factory=dict, metadata=ALL_KEYS)


@dataclass(frozen=True)
class Outer:
    text: str
    number: float
    nullable: str | None
    count: int = 3
    entries: tuple[Inner, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    extra: str | None = field(default=None, metadata=OPTIONAL)
    other: Mapping[str, Any] = field(default_factory=dict, metadata=OTHER_KEYS)
    memory: bool = field(default=False, metadata=NOT_IN_JSON)


VALUES: dict[str, Any] = {"text": "a", "number": 1, "nullable": None}


def test_values_are_the_same_after_writing_and_reading() -> None:
    values = {
        **VALUES,
        "count": 4,
        "entries": [{"name": "x", "more": [1, 2]}],
        "sizes": {"a": 1},
        "extra": "e",
        "unknown": {"b": None},
    }
    read = from_json(Outer, values, "file")
    assert (read.entries[0].name, read.entries[0].whole["more"]) == ("x", [1, 2])
    assert read.other == {"unknown": {"b": None}}
    assert to_json(read) == values


def test_missing_and_null_values_are_defaults() -> None:
    assert from_json(Outer, VALUES, "file") == from_json(Outer, {**VALUES, "count": None, "entries": None}, "file")
    assert "extra" not in to_json(from_json(Outer, VALUES, "file"))
    assert "memory" not in to_json(from_json(Outer, {**VALUES, "memory": True}, "file"))


@pytest.mark.parametrize(
    ("change", "place", "problem"),
    [
        ({"text": 7}, "'text' of file", "not a text"),
        ({"text": None}, "'text' of file", "not a text"),
        ({"number": True}, "'number' of file", "not a number"),
        ({"number": float("nan")}, "'number' of file", "not finite"),
        ({"count": 1.5}, "'count' of file", "not a whole number"),
        ({"entries": {}}, "'entries' of file", "not a list"),
        ({"entries": [{"name": "x"}, {}]}, "entry 2 of 'entries'", "no 'name'"),
        ({"sizes": {"a": "b"}}, "'a' of 'sizes'", "not a whole number"),
    ],
)
def test_errors_name_the_place(change: dict[str, Any], place: str, problem: str) -> None:
    with raises_mentioning(DataError, place, problem):
        from_json(Outer, {**VALUES, **change}, "file")
