"""From a table of scores to records with verdicts, for all kinds of runs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import DataError, UsageError
from tiltmeter.measures import collect_notes, find_measure_module, get_measure, get_measure_function, list_measures
from tiltmeter.measures.measure import complete_name
from tiltmeter.measures.records import Record
from tiltmeter.measures.verdict_rule import assign_verdicts
from tiltmeter.runs.conditions import MeasurementConditions, build_unknown_records, read_conditions, with_conditions


def group_by_benchmark(scores: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each benchmark with its scores, without the columns that it has no value in; scores of one are not copied."""
    names = scores["benchmark"].unique()
    for name in names:
        table = scores if len(names) == 1 else scores[scores["benchmark"] == name]
        yield str(name), table.dropna(axis="columns", how="all")


def measure_scores(
    scores: pd.DataFrame,
    families: Mapping[str, str],
    askings: Sequence[MeasurementConditions],
    margins: Mapping[str, float] | None = None,
) -> list[Record]:
    """The records of every benchmark in a table of scores, with their verdicts.

    `families` maps benchmarks to modules of measures; `margins` overrides equivalence margins by measure name.
    """
    records: list[Record] = []
    for name, table in group_by_benchmark(scores):
        records += get_measure_function(families[name])(table, margins=margins)
    return with_conditions(assign_verdicts([*records, *build_unknown_records(askings)]), askings)


def collect_measure_notes(scores: pd.DataFrame, families: Mapping[str, str]) -> list[str]:
    """Sentences on measures that are not defined for some of the scores, such as g_s of stereotypes of one side."""
    return [note for name, table in group_by_benchmark(scores) for note in collect_notes(families[name], table)]


def remeasure_scores(scores: pd.DataFrame, manifest: Mapping[str, Any]) -> list[Record]:
    """The records of a run, measured again from its scores; for runs from before records had verdicts."""
    families: dict[str, str] = {}
    for name, table in group_by_benchmark(scores):
        module = find_measure_module(set(table["role"]), set(table.columns))
        if module is None:
            raise DataError(f"No measures are known for the roles {', '.join(sorted(set(table['role'])))} of {name}.")
        families[name] = module
    margins = manifest.get("statistics", {}).get("margins")
    return measure_scores(scores, families, read_conditions(manifest, scores), margins)


def read_margins(requested: Mapping[str, float] | None) -> dict[str, float]:
    """Check equivalence margins and complete abbreviated measure names.

    >>> read_margins({"SS": 3.0, "S_JSD": 2.0})
    {'SS': 3.0, 'S_JSD x 1e3': 2.0}
    """
    with_margin = [name for name, measure in list_measures().items() if measure.margin is not None and measure.decides]
    margins: dict[str, float] = {}
    for text, margin in (requested or {}).items():
        name = complete_name(text, with_margin)
        if name is None:
            raise UsageError(
                f"{text!r} is no measure with a margin of equivalence{suggest_name(text, with_margin)}; there is "
                f"{', '.join(with_margin)}."
            )
        measure = get_measure(name)
        least = 1.0 if measure.ratio else 0.0
        most = math.inf if measure.bounds is None else max(abs(end - (measure.ideal or 0.0)) for end in measure.bounds)
        if not margin > least:
            raise UsageError(
                f"The margin {margin:g} of {name} leaves no room around its ideal; give more than {least:g}."
            )
        if not margin < most:
            raise UsageError(
                f"Within a margin of {margin:g} lies every value that {name} can have"
                f"{f'; give less than {most:g}' if math.isfinite(most) else ''}."
            )
        margins[name] = margin
    return margins
