"""Interim values of an unfinished run, computed from the items answered so far; no interval, test or verdict."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd

from tiltmeter.measures import Record, get_measure_function, select_deciding_record
from tiltmeter.runs.measurement import group_by_benchmark


@dataclass(frozen=True, slots=True)
class InterimValue:
    """The value of the primary measure of one portion (the items of one data set, part and language).

    `items` is the number of answered items.
    """

    model: str
    benchmark: str
    part: str
    language: str
    measure: str
    value: float
    items: int


# A callback that is called while a model answers. Its argument is a function that computes the interim values, because
# computing them after every batch would take too much time.
OnInterim = Callable[[Callable[[], list[InterimValue]]], None]


def compute_interim_values(scores: pd.DataFrame, measure_modules: Mapping[str, str]) -> list[InterimValue]:
    """Return the primary measure of each model, part and language; `measure_modules` maps benchmarks to modules."""
    records = [
        record
        for name, table in group_by_benchmark(scores)
        for record in get_measure_function(measure_modules[name])(table)
    ]
    rows: dict[tuple[str, str, str, str], dict[str, Record]] = {}
    for record in records:
        if record.view == record.group == "all":
            rows.setdefault((record.model, record.benchmark, record.part, record.language), {})[record.measure] = record
    return [
        InterimValue(r.model, r.benchmark, r.part, r.language, r.measure, r.value, r.n)
        for row in rows.values()
        if (r := select_deciding_record(row)) is not None
    ]
