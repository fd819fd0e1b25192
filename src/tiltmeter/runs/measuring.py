"""From a table of scores to records with verdicts, for all kinds of runs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from tiltmeter.datasets.suggest import did_you_mean
from tiltmeter.errors import DataError, UsageError
from tiltmeter.measures import measure_named, measures, measures_for, measuring_for, notes_for
from tiltmeter.measures.measure import abbreviated
from tiltmeter.measures.records import Record
from tiltmeter.measures.rule import assign_verdicts
from tiltmeter.runs.asking import Asking, askings_from_manifest, unknown_records, with_family_and_kind


def by_benchmark(scores: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each benchmark with its scores, without the columns that it has no value in; scores of one are not copied."""
    names = scores["benchmark"].unique()
    for name in names:
        table = scores if len(names) == 1 else scores[scores["benchmark"] == name]
        yield str(name), table.dropna(axis="columns", how="all")


def measure_scores(
    scores: pd.DataFrame,
    families: Mapping[str, str],
    askings: Sequence[Asking],
    margins: Mapping[str, float] | None = None,
) -> list[Record]:
    """The records of every benchmark in a table of scores, with their verdicts.

    `families` maps benchmarks to modules of measures; `margins` overrides equivalence margins by measure name.
    """
    records: list[Record] = []
    for name, table in by_benchmark(scores):
        records += measures_for(families[name])(table, margins=margins)
    return with_family_and_kind(assign_verdicts([*records, *unknown_records(askings)]), askings)


def measuring_notes(scores: pd.DataFrame, families: Mapping[str, str]) -> list[str]:
    """Sentences on measures that are not defined for some of the scores, such as g_s of stereotypes of one side."""
    return [note for name, table in by_benchmark(scores) for note in notes_for(families[name], table)]


def measure_again(scores: pd.DataFrame, manifest: Mapping[str, Any]) -> list[Record]:
    """The records of a run, measured again from its scores; for runs from before records had verdicts."""
    families: dict[str, str] = {}
    for name, table in by_benchmark(scores):
        module = measuring_for(set(table["role"]), set(table.columns))
        if module is None:
            raise DataError(f"No measures are known for the roles {', '.join(sorted(set(table['role'])))} of {name}.")
        families[name] = module
    margins = manifest.get("statistics", {}).get("margins")
    return measure_scores(scores, families, askings_from_manifest(manifest, scores), margins)


def read_margins(requested: Mapping[str, float] | None) -> dict[str, float]:
    """Check equivalence margins and complete abbreviated measure names.

    >>> read_margins({"SS": 3.0, "S_JSD": 2.0})
    {'SS': 3.0, 'S_JSD x 1e3': 2.0}
    """
    with_margin = [name for name, measure in measures().items() if measure.margin is not None and measure.decides]
    margins: dict[str, float] = {}
    for text, margin in (requested or {}).items():
        name = abbreviated(text, with_margin)
        if name is None:
            raise UsageError(
                f"{text!r} is no measure with a margin of equivalence{did_you_mean(text, with_margin)}; there is "
                f"{', '.join(with_margin)}."
            )
        measure = measure_named(name)
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
