"""The best numbers of a column and block of a table, with or without a test."""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

from tiltmeter.comparing.best_model import find_best_model
from tiltmeter.comparing.cells import Cell, build_all_cells
from tiltmeter.measures import get_measure
from tiltmeter.reports.layouts.layout import LayoutCell
from tiltmeter.reports.layouts.layout_entry import LayoutEntry
from tiltmeter.runs.result import Result

BestRule = Literal["best", "significant", "none"]


class BestCells:
    """Finds the best entries; the scores of the runs are arranged only if tests are needed."""

    def __init__(self, runs: Sequence[tuple[str, Result]]) -> None:
        self.runs = runs

    @cached_property
    def cells(self) -> dict[tuple[str, ...], Cell]:
        """The scores of each run, model, benchmark, part, language and protocol."""
        cells = build_all_cells(self.runs)
        return {(cell.run, cell.model, cell.benchmark, cell.part, cell.language, cell.protocol): cell for cell in cells}

    def find(self, entries: Sequence[LayoutEntry], shown: LayoutCell, rule: BestRule) -> list[LayoutEntry]:
        """Return the entries that are bold among those of one column and block."""
        if rule == "none" or len(entries) < 2:
            return []
        if rule == "best":
            return _find_closest(entries, shown)
        cells = [self._find_cell(entry) for entry in entries]
        known = [cell for cell in cells if cell is not None]
        if len(known) < len(entries):
            return []
        best = find_best_model(known, entries[0].measure, across=("kinds", "protocols"))
        return [entry for entry, cell in zip(entries, cells, strict=True) if best is not None and cell is best]

    def _find_cell(self, entry: LayoutEntry) -> Cell | None:
        """Return the scores of an entry; None if it is about groups of items, which are not tested."""
        record = entry.record
        if record.view != "all":
            return None
        return self.cells.get(
            (entry.run, record.model, record.benchmark, record.part, record.language, record.protocol)
        )


def _find_closest(entries: Sequence[LayoutEntry], shown: LayoutCell) -> list[LayoutEntry]:
    """Return the entries closest to the ideal; values that are printed alike are equally close."""
    measure = get_measure(entries[0].record.measure)
    if measure.ideal is None:
        return []
    values = [round(entry.record.value * shown.scale, shown.digits) / shown.scale for entry in entries]
    distances = [round(abs(measure.distance(value)), 9) for value in values]
    least = min(distances)
    return [entry for entry, distance in zip(entries, distances, strict=True) if distance == least]
