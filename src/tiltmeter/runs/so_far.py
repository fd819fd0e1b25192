"""Values of a run that is not finished: of the items answered so far, without interval, test or verdict."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd

from tiltmeter.measures import Record, deciding, measures_for
from tiltmeter.runs.measuring import by_benchmark


@dataclass(frozen=True, slots=True)
class ValueSoFar:
    """The deciding measure of one portion, of the `items` that are answered so far."""

    model: str
    benchmark: str
    part: str
    language: str
    measure: str
    value: float
    items: int


# Called while a model answers, with a function that computes the values so far; that takes time, so not at every call.
SoFar = Callable[[Callable[[], list[ValueSoFar]]], None]


def values_so_far(scores: pd.DataFrame, families: Mapping[str, str]) -> list[ValueSoFar]:
    """The deciding measures of these scores; `families` maps benchmarks to modules of measures."""
    records = [record for name, table in by_benchmark(scores) for record in measures_for(families[name])(table)]
    rows: dict[tuple[str, str, str, str], dict[str, Record]] = {}
    for record in records:
        if record.view == record.group == "all":
            rows.setdefault((record.model, record.benchmark, record.part, record.language), {})[record.measure] = record
    return [
        ValueSoFar(r.model, r.benchmark, r.part, r.language, r.measure, r.value, r.n)
        for row in rows.values()
        if (r := deciding(row)) is not None
    ]
