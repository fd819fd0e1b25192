"""The classes for declaring a figure of the report, and for the data from which a figure is drawn."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from tiltmeter.measures.records import Record
from tiltmeter.reports.figures.chart_elements import Domain
from tiltmeter.reports.figures.figure import Figure
from tiltmeter.reports.record_rows import ALL_MODELS


@dataclass(frozen=True, slots=True)
class FigureData:
    """The data of one benchmark in a report.

    `models` are all models of the report; the position of a model in `models` determines its colour. `other_records`
    are the records of the other benchmarks in the report.
    """

    records: Sequence[Record]
    scores: pd.DataFrame
    models: Domain
    other_records: Sequence[Record] = ()

    @classmethod
    def select(cls, benchmark: str, records: Sequence[Record], scores: pd.DataFrame, models: Domain) -> "FigureData":
        """Select the data of one benchmark from the records and scores of a report.

        Records about all models together are left out.
        """
        is_selected = scores["benchmark"] == benchmark
        return cls(
            [record for record in records if record.benchmark == benchmark and record.model != ALL_MODELS],
            scores if is_selected.all() else scores[is_selected],
            models,
            [record for record in records if record.benchmark != benchmark],
        )


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """A figure of the report on a benchmark.

    `draw` yields figures, or nothing if there are no data for the figure. If `general` is true, `draw` is called for
    all benchmarks; otherwise only for benchmarks with a measure that names this figure in `Measure.figures`. A report
    sorts its figures by `order`, then by name.
    """

    name: str
    draw: Callable[[FigureData], Iterable[Figure]]
    order: int = 100
    general: bool = False
