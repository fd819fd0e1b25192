"""Panels for comparisons of languages: comparable cells of several models and languages with the items they share.

A cell has the scores of one model on one part of a benchmark in one language. Items with the same id are translations
of each other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tiltmeter.comparing.cells import Cell, format_location, shorten_names
from tiltmeter.comparing.comparability import Across, explain_incomparable, list_comparison_warnings
from tiltmeter.comparing.comparable_cells import (
    ComparableCells,
    describe_unreliable_cells,
    group_comparable_cells,
    list_common_quantities,
    reject_duplicates,
    select_reliable_cells,
)
from tiltmeter.comparing.shared_answers import build_shared_answers, find_shared_items
from tiltmeter.measures.crossed_answers import CrossedAnswers
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.verdict import Verdict


@dataclass(frozen=True, slots=True)
class LanguagePanel:
    """The cells of one analysis, ordered by language, with the contributions of the shared items to a measure.

    `items` is the index (part and id) of the shared items, and `left_out` the number of items that only some cells
    have. `subject` is the benchmark, with the conditions of measurement if it has several groups of comparable cells.
    """

    subject: str
    cells: tuple[Cell, ...]
    quantity: Quantity
    crossed: CrossedAnswers
    items: pd.Index
    left_out: int

    @property
    def languages(self) -> list[str]:
        """The languages, in alphabetical order."""
        return self.crossed.language_names

    @property
    def protocol(self) -> str:
        """The protocols of the cells, separated by commas."""
        return ", ".join(dict.fromkeys(cell.protocol for cell in self.cells))


@dataclass(frozen=True, slots=True)
class PanelQuery:
    """The parameters by which panels are built: measures, allowed differences and unreliable cells."""

    measures: Sequence[str]
    across: Sequence[Across]
    unreliable: Mapping[tuple[str, ...], Verdict]

    def build_panels(self, cells: Sequence[Cell], notes: list[str]) -> Iterator[LanguagePanel]:
        """Yield a panel for each measure, part and group of comparable cells with several languages."""
        # Cells with the plain protocol come first, so that they form the first group.
        ordered = sorted(cells, key=lambda cell: (len(cell.protocol), cell.protocol))
        for place in group_comparable_cells(ordered, self.across, lambda cell: cell.benchmark):
            if len(place) > 1:
                one, other = place[0].cells[0], place[1].cells[0]
                notes.append(f"Not analysed together: {explain_incomparable(one, other, self.across)}")
            wide = [alike for alike in place if len({cell.language for cell in alike.cells}) > 1]
            notes += [_describe_single_language(alike.cells) for alike in place if alike not in wide]
            for alike in wide:
                benchmark = alike.cells[0].benchmark
                yield from self._build_group(alike.qualify_subject(benchmark) if wide[1:] else benchmark, alike, notes)

    def _build_group(self, subject: str, alike: ComparableCells, notes: list[str]) -> Iterator[LanguagePanel]:
        """Yield a panel for each measure of one group of comparable cells."""
        together = sorted(alike.cells, key=lambda cell: (cell.language, cell.model))
        reject_duplicates(together)
        for quantity in list_common_quantities(together, self.measures):
            panel = self._build_panel(subject, together, quantity, notes)
            if panel is not None:
                yield panel

    def _build_panel(
        self, subject: str, together: Sequence[Cell], quantity: Quantity, notes: list[str]
    ) -> LanguagePanel | None:
        first = together[0]
        where = f"on {format_location(first.benchmark, first.part, 'all languages')} in {quantity.name}"
        cells = select_reliable_cells(together, quantity, self.unreliable)
        kept = {id(cell) for cell in cells}
        dropped = [cell for cell in together if id(cell) not in kept]
        notes += describe_unreliable_cells(dropped, self.unreliable, where, _name_cell)
        if len({cell.language for cell in cells}) < 2:
            return None
        shared = build_shared_answers(cells, quantity, self.across, where, _name_cell, notes)
        if shared is None:
            return None
        notes += list_comparison_warnings((cells[0], cell, quantity.measure) for cell in cells[1:])
        items, _ = find_shared_items(cells, quantity)
        first_of = {cell.language: cell for cell in reversed(cells)}
        crossed = CrossedAnswers(
            shared.answers,
            np.array([cell.model for cell in cells], dtype=object),
            np.array([cell.language for cell in cells], dtype=object),
            shared.weights,
            shared.labels,
            {language: cell.build_factors(quantity, items) for language, cell in sorted(first_of.items())},
        )
        return LanguagePanel(subject, tuple(cells), quantity, crossed, items, shared.left_out)


def _describe_single_language(cells: Sequence[Cell]) -> str:
    names = shorten_names(sorted({cell.model for cell in cells}))
    return f"Left out on {cells[0].location} ({cells[0].protocol}), because there is only one language: {names}."


def _name_cell(cell: Cell) -> str:
    return f"{cell.model} ({cell.language})"
