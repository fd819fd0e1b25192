"""Groups of comparable cells. A cell has the scores of one model on one part of a benchmark in one language.

The cells of one group may be averaged, or used in one regression.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tiltmeter.comparing.cells import Cell, shorten_names
from tiltmeter.comparing.comparability import Across, list_differing_conditions
from tiltmeter.errors import UsageError
from tiltmeter.measures.measure import Quantity, get_measure
from tiltmeter.measures.records import Record, get_base_protocol
from tiltmeter.measures.verdict import UNRELIABLE_KINDS, Verdict
from tiltmeter.runs.result import Result


@dataclass(frozen=True, slots=True)
class ComparableCells:
    """Cells of one part and subject (such as a benchmark in one language) that are comparable with each other.

    `conditions` describes how the cells were measured. It is empty unless the subject has other cells that were
    measured in another way.
    """

    conditions: str
    cells: list[Cell]

    def qualify_subject(self, subject: str) -> str:
        """Return the subject, followed by the conditions in parentheses if there are any."""
        return f"{subject} ({self.conditions})" if self.conditions else subject


def group_comparable(cells: Iterable[Cell], across: Sequence[Across]) -> list[list[Cell]]:
    """Return groups of comparable cells (one model on one part each); a cell joins the first comparable group."""
    groups: list[list[Cell]] = []
    for cell in cells:
        for alike in groups:
            if all(not set(list_differing_conditions(cell, other)) - set(across) for other in alike):
                alike.append(cell)
                break
        else:
            groups.append([cell])
    return groups


def group_comparable_cells(
    cells: Iterable[Cell], across: Sequence[Across], subject: Callable[[Cell], Hashable]
) -> list[list[ComparableCells]]:
    """Return, for each subject and part, the groups of cells that may be averaged or used in one regression.

    `subject` is a function that returns the subject of a cell: the properties, besides the part, that all cells of a
    contrast have in common; for example, benchmark and language.
    """
    places: dict[tuple[Hashable, str], list[Cell]] = {}
    for cell in cells:
        places.setdefault((subject(cell), cell.part), []).append(cell)
    groups = {place: group_comparable(of_place, across) for place, of_place in places.items()}
    several = {place[0] for place, alike in groups.items() if len(alike) > 1}
    return [
        [
            ComparableCells(conditions if place[0] in several else "", together)
            for conditions, together in zip(_describe_conditions(alike), alike, strict=True)
        ]
        for place, alike in groups.items()
    ]


def _describe_conditions(groups: Sequence[Sequence[Cell]]) -> list[str]:
    """Return the conditions of each group as text, with the name of its first run if two texts would be equal."""
    texts = []
    for first, *_ in groups:
        prompted = "prompted" if "prompted" in first.conditions.family else None
        texts.append(", ".join(filter(None, (first.conditions.kind, prompted, get_base_protocol(first.protocol)))))
    return [
        f"{text}, as in {group[0].run}" if texts.count(text) > 1 else text
        for text, group in zip(texts, groups, strict=True)
    ]


def reject_missing_measures(cells: Sequence[Cell], measures: Sequence[str]) -> None:
    """Raise an error if no results (cells) can be compared in any of the requested measures."""
    available = {quantity.name: quantity.values.is_mean for cell in cells for quantity in cell.list_quantities()}
    if cells and measures and not set(measures) & set(available):
        possible = ", ".join(name for name, is_mean in available.items() if is_mean)
        raise UsageError(f"The runs cannot be compared in {', '.join(measures)}; use one of the measures {possible}.")


def reject_duplicates(cells: Sequence[Cell]) -> None:
    """Raise an error if a model was measured twice on a part and language, because it would count twice."""
    seen: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        other = seen.setdefault((cell.model, cell.location), cell)
        if other is not cell:
            raise UsageError(
                f"{cell} was measured twice, in {other.run} and in {cell.run}, and would count twice; remove one run."
            )


def list_common_quantities(cells: Sequence[Cell], measures: Sequence[str]) -> list[Quantity]:
    """Return the measures that all cells (one model each) have; if `measures` is not empty, only those it names."""
    first, *others = cells
    return [
        quantity
        for quantity in first.list_quantities()
        if (not measures or quantity.name in measures) and all(quantity in other.list_quantities() for other in others)
    ]


def find_unreliable_cells(
    runs: Sequence[tuple[str, Result]], where: Mapping[str, str] | None = None
) -> dict[tuple[str, ...], Verdict]:
    """Return a mapping from cell key to verdict, for cells whose results are contradictory or not interpretable.

    If `where` selects one group of items, the verdicts on this group are also used.
    """
    return {
        (name, record.model, record.benchmark, record.part, record.language, record.protocol): record.verdict
        for name, result in runs
        for record in result.records
        if record.verdict is not None and not record.verdict.is_reliable and _is_about(record, where or {})
    }


def _is_about(record: Record, where: Mapping[str, str]) -> bool:
    """Return whether a record decides the verdict on the items that `where` selects.

    If a cell is not interpretable, its groups of items are not interpretable either. A contradiction in the results on
    all items may be absent in a group.
    """
    if not get_measure(record.measure).decides:
        return False
    if record.view == "all":
        return not where or (record.verdict is not None and record.verdict.kind == "not interpretable")
    return dict(where) == {record.view: record.group}


def select_reliable_cells(
    cells: Sequence[Cell], quantity: Quantity, unreliable: Mapping[tuple[str, ...], Verdict]
) -> list[Cell]:
    """Return the cells (one model each) without an unreliable verdict; all cells if the measure is not about bias."""
    return [cell for cell in cells if not quantity.measure.is_about_bias or cell.key not in unreliable]


def describe_unreliable_cells(
    cells: Iterable[Cell],
    unreliable: Mapping[tuple[str, ...], Verdict],
    location: str,
    get_name: Callable[[Cell], str],
) -> Iterator[str]:
    """Yield a note on the models that are left out because of each kind of verdict; `location` names the data."""
    dropped = list(cells)
    for kind in UNRELIABLE_KINDS:
        if names := [get_name(cell) for cell in dropped if unreliable[cell.key].kind == kind]:
            yield f"Left out {location}, because their results are {kind}: {shorten_names(names)}."
