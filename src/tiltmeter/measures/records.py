"""Records: the rows of measures.json, each one number with its interval and what it is a number of."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

import pandas as pd

from tiltmeter.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One number of a run.

    `view` says how the items were divided (all of them, by bias type, by target term, …) and `group` which of the
    divisions this is. `n` counts what was resampled for the interval from `low` to `high`; a plain count, such as the
    number of ties, has no interval, and then both are None. `p_value` is there where the measure is tested against
    its ideal, `standard_error` where the literature reports one.
    """

    model: str
    benchmark: str
    part: str
    language: str
    view: str
    group: str
    measure: str
    value: float
    low: float | None
    high: float | None
    n: int
    ideal: float | None
    protocol: str
    p_value: float | None = None
    standard_error: float | None = None

    def __post_init__(self) -> None:
        # JSON has no NaN, and a number nobody can read must stop the run rather than sit in its results.
        for name in ("value", "low", "high", "ideal", "p_value", "standard_error"):
            number = getattr(self, name)
            if number is not None and not math.isfinite(number):
                raise DataError(f"{self} has no finite {name} ({number})")
        if (self.low is None) != (self.high is None):
            raise DataError(f"{self} has only one end of an interval")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise DataError(f"{self} has an interval from {self.low} to {self.high}")

    def __str__(self) -> str:
        place = f"{self.benchmark}/{self.part}:{self.language}"
        return f"{self.measure} of {self.model} on {place} ({self.view}: {self.group})"


COLUMNS: tuple[str, ...] = tuple(field.name for field in fields(Record))


class Measured(Protocol):
    """What numbers are numbers of: one model on one benchmark in one language, under one protocol."""

    @property
    def model(self) -> str: ...  # noqa: D102
    @property
    def benchmark(self) -> str: ...  # noqa: D102
    @property
    def language(self) -> str: ...  # noqa: D102
    @property
    def protocol(self) -> str: ...  # noqa: D102


def record_of(
    measured: Measured,
    part: str,
    view: str,
    group: str,
    measure: str,
    value: float,
    n: int,
    *,
    ends: tuple[float, float] | None = None,
    ideal: float | None = None,
    p_value: float | None = None,
    standard_error: float | None = None,
) -> Record:
    """One number of what was measured; `ends` are those of its interval."""
    low, high = ends or (None, None)
    return Record(
        model=measured.model,
        benchmark=measured.benchmark,
        part=part,
        language=measured.language,
        view=view,
        group=group,
        measure=measure,
        value=value,
        low=low,
        high=high,
        n=n,
        ideal=ideal,
        protocol=measured.protocol,
        p_value=p_value,
        standard_error=standard_error,
    )


def to_dicts(records: Iterable[Record]) -> list[dict[str, Any]]:
    """The records as measures.json holds them."""
    return [{name: getattr(record, name) for name in COLUMNS} for record in records]


def from_dicts(rows: Iterable[Mapping[str, Any]]) -> list[Record]:
    """The records of a measures.json that was read back."""
    records = []
    for number, row in enumerate(rows, start=1):
        try:
            records.append(Record(**row))
        except TypeError as error:
            raise DataError(f"Record {number} is not a row of measures.json: {error}.") from None
    return records


def to_frame(records: Iterable[Record]) -> pd.DataFrame:
    """The records as a data frame, one row each; what is None is NaN there."""
    frame = pd.DataFrame(to_dicts(records), columns=list(COLUMNS))
    return frame.astype(
        {
            "value": float,
            "low": float,
            "high": float,
            "n": int,
            "ideal": float,
            "p_value": float,
            "standard_error": float,
        }
    )
