"""Cells sorted into those that may be averaged or regressed together, by the rules of comparability."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from tiltmeter.comparing.cells import Cell
from tiltmeter.comparing.comparability import Across, list_differing_conditions
from tiltmeter.errors import UsageError
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.records import get_base_protocol
from tiltmeter.runs.result import Result


@dataclass(frozen=True, slots=True)
class ComparableCells:
    """Cells of one place, of which each two are comparable.

    `asked` says how they were asked, if others of the same subject were asked in another way; otherwise it is empty.
    """

    asked: str
    cells: list[Cell]

    def qualify_subject(self, subject: str) -> str:
        """The subject, with how it was asked where that tells it from another."""
        return f"{subject} ({self.asked})" if self.asked else subject


def group_comparable(cells: Iterable[Cell], across: Sequence[Across]) -> list[list[Cell]]:
    """The cells in classes, within which each two are comparable; a cell is in the first class that it fits in."""
    found: list[list[Cell]] = []
    for cell in cells:
        for alike in found:
            if all(not set(list_differing_conditions(cell, other)) - set(across) for other in alike):
                alike.append(cell)
                break
        else:
            found.append([cell])
    return found


def group_comparable_cells(
    cells: Iterable[Cell], across: Sequence[Across], subject: Callable[[Cell], Hashable]
) -> list[list[ComparableCells]]:
    """For each subject and part, the cells that may be averaged or regressed together.

    The subject is what all cells of a contrast share beside the part: a benchmark and language, for example.
    """
    places: dict[tuple[Hashable, str], list[Cell]] = {}
    for cell in cells:
        places.setdefault((subject(cell), cell.part), []).append(cell)
    found = {place: group_comparable(of_place, across) for place, of_place in places.items()}
    several = {place[0] for place, alike in found.items() if len(alike) > 1}
    return [
        [
            ComparableCells(words if place[0] in several else "", together)
            for words, together in zip(_describe_conditions(alike), alike, strict=True)
        ]
        for place, alike in found.items()
    ]


def _describe_conditions(alike: Sequence[Sequence[Cell]]) -> list[str]:
    """How the cells of each class were asked; classes that were asked alike, on other files, by their first run."""
    words = []
    for first, *_ in alike:
        family = "prompted" if "prompted" in first.asking.family else None
        words.append(", ".join(filter(None, (first.asking.kind, family, get_base_protocol(first.protocol)))))
    return [
        f"{one}, as in {together[0].run}" if words.count(one) > 1 else one
        for one, together in zip(words, alike, strict=True)
    ]


def reject_missing_measures(cells: Sequence[Cell], measures: Sequence[str]) -> None:
    """Refuse measures that no cell can be compared in."""
    there = {quantity.name: quantity.values.is_mean for cell in cells for quantity in cell.list_quantities()}
    if cells and measures and not set(measures) & set(there):
        possible = ", ".join(name for name, is_mean in there.items() if is_mean)
        raise UsageError(f"The runs cannot be compared in {', '.join(measures)}; they can be in {possible}.")


def reject_duplicates(cells: Sequence[Cell]) -> None:
    """Refuse a model that was measured twice in one place, since it would count twice."""
    seen: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        other = seen.setdefault((cell.model, cell.location), cell)
        if other is not cell:
            raise UsageError(
                f"{cell} was measured twice, in {other.run} and in {cell.run}, and would count twice; leave one out."
            )


def list_common_quantities(cells: Sequence[Cell], measures: Sequence[str]) -> list[Quantity]:
    """The measures that all cells have, of those asked for."""
    first, *others = cells
    return [
        quantity
        for quantity in first.list_quantities()
        if (not measures or quantity.name in measures) and all(quantity in other.list_quantities() for other in others)
    ]


def find_uninterpretable_cells(runs: Sequence[tuple[str, Result]]) -> set[tuple[str, ...]]:
    """The cells whose verdict is that they are not interpretable: run, model, benchmark, part, language, protocol."""
    return {
        (name, record.model, record.benchmark, record.part, record.language, record.protocol)
        for name, result in runs
        for record in result.records
        if record.view == "all" and record.verdict is not None and record.verdict.kind == "not interpretable"
    }


def get_cell_key(cell: Cell) -> tuple[str, ...]:
    """What `find_uninterpretable_cells` knows a cell by."""
    return cell.run, cell.model, cell.benchmark, cell.part, cell.language, cell.protocol
