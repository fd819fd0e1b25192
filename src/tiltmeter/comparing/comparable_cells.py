"""Cells sorted into those that may be averaged or regressed together, by the rules of comparability."""

from collections.abc import Callable, Hashable, Iterable, Sequence

from tiltmeter.comparing.cells import Cell
from tiltmeter.comparing.comparability import Across, differing
from tiltmeter.errors import UsageError
from tiltmeter.measures.measure import Quantity
from tiltmeter.runs.result import Result


def classes(cells: Iterable[Cell], across: Sequence[Across]) -> list[list[Cell]]:
    """The cells in classes, within which each two are comparable; a cell is in the first class that it fits in."""
    found: list[list[Cell]] = []
    for cell in cells:
        for alike in found:
            if all(not set(differing(cell, other)) - set(across) for other in alike):
                alike.append(cell)
                break
        else:
            found.append([cell])
    return found


def by_place(cells: Iterable[Cell], place: Callable[[Cell], Hashable]) -> list[list[Cell]]:
    """The cells of each place."""
    places: dict[Hashable, list[Cell]] = {}
    for cell in cells:
        places.setdefault(place(cell), []).append(cell)
    return list(places.values())


def refuse_twice(cells: Sequence[Cell]) -> None:
    """Refuse a model that was measured twice in one place, since it would count twice."""
    seen: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        other = seen.setdefault((cell.model, cell.location), cell)
        if other is not cell:
            raise UsageError(
                f"{cell} was measured twice, in {other.run} and in {cell.run}, and would count twice; leave one out."
            )


def common_quantities(cells: Sequence[Cell], measures: Sequence[str]) -> list[Quantity]:
    """The measures that all cells have, of those asked for."""
    first, *others = cells
    return [
        quantity
        for quantity in first.quantities()
        if (not measures or quantity.name in measures) and all(quantity in other.quantities() for other in others)
    ]


def uninterpretable(runs: Sequence[tuple[str, Result]]) -> set[tuple[str, ...]]:
    """The cells whose verdict is that they are not interpretable: run, model, benchmark, part, language, protocol."""
    return {
        (name, record.model, record.benchmark, record.part, record.language, record.protocol)
        for name, result in runs
        for record in result.records
        if record.view == "all" and record.verdict is not None and record.verdict.kind == "not interpretable"
    }


def key_of(cell: Cell) -> tuple[str, ...]:
    """What `uninterpretable` knows a cell by."""
    return cell.run, cell.model, cell.benchmark, cell.part, cell.language, cell.protocol
