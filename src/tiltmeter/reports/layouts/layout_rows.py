"""The rows and columns of a table in a layout, and their order."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tiltmeter.reports.layouts.layout import Layout, LayoutTable
from tiltmeter.reports.layouts.layout_entry import LayoutEntry

MEASURE = "measure"

# The values of the fields in `LayoutTable.columns`; the value of "measure" is the heading of a cell.
Column = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EntryRow:
    """The entries of a row: for each column, the entry of each measure."""

    labels: tuple[str, ...]
    block: str
    first: LayoutEntry
    cells: dict[Column, dict[str, LayoutEntry]] = field(default_factory=dict)

    def list_models(self) -> tuple[str, ...]:
        """Return the display names of the models in this row."""
        names = (entry.name for entries in self.cells.values() for entry in entries.values())
        return tuple(dict.fromkeys(names))


class TableOrder:
    """The order of the values of fields in a table: first those that the layout names, then all others."""

    def __init__(self, layout: Layout, table: LayoutTable, entries: Sequence[LayoutEntry]) -> None:
        self.layout, self.table = layout, table
        names = dict.fromkeys((table.blocks, *table.order, *table.columns))
        self._positions = {name: self._order_values(name, entries) for name in names if name}

    def sort_rows(self, rows: Iterable[EntryRow]) -> list[EntryRow]:
        """Return the rows in order, block by block."""
        names = [name for name in (self.table.blocks, *self.table.order) if name]
        return sorted(rows, key=lambda row: [self._positions[name][row.first.fields[name]] for name in names])

    def sort_columns(self, rows: Iterable[EntryRow]) -> list[Column]:
        """Return the columns of all rows in order."""
        positions = [self._positions[name] for name in self.table.columns]
        columns = dict.fromkeys(column for row in rows for column in row.cells)
        return sorted(columns, key=lambda column: [at[value] for at, value in zip(positions, column, strict=True)])

    def _order_values(self, name: str, entries: Sequence[LayoutEntry]) -> dict[str, int]:
        labels = self.layout.labels.get(name, {})
        if name == MEASURE:
            return {cell.heading: at for at, cell in enumerate(self.table.cells)}
        named = {"model": [row.row for row in self.layout.models], "method": list(labels.values())}.get(name, labels)
        found = [entry.fields[name] for entry in entries]
        numbers = sorted({value for value in found if value.isdigit()}, key=int)
        return {value: at for at, value in enumerate(dict.fromkeys([*named, *numbers, *found]))}


def build_entry_rows(layout: Layout, table: LayoutTable, entries: Sequence[LayoutEntry]) -> list[EntryRow]:
    """Return the rows of a table.

    If models share a row and a cell, the labels of their rows get the name of the scoring method or the language if
    this separates some of them; the labels of those that still share a cell are the names of the models.
    """
    labels = [_format_labels(layout, table, entry) for entry in entries]
    for field_name in ("method", "language"):
        labels = _separate_rows(layout, table, entries, labels, field_name)
    names = {name for found in _find_clashes(table, entries, labels).values() for name in found}
    labels = [
        (entry.name, *given[1:]) if entry.name in names else given for entry, given in zip(entries, labels, strict=True)
    ]
    rows: dict[tuple[str, ...], EntryRow] = {}
    for entry, given in zip(entries, labels, strict=True):
        block = entry.fields[table.blocks] if table.blocks else ""
        row = rows.setdefault((block, *given), EntryRow(given, block, entry))
        for column in _list_columns(table, entry):
            row.cells.setdefault(column, {})[entry.measure] = entry
    return list(rows.values())


def _separate_rows(
    layout: Layout, table: LayoutTable, entries: Sequence[LayoutEntry], labels: Sequence[tuple[str, ...]], name: str
) -> list[tuple[str, ...]]:
    """Extend the labels of rows by the value of a field where fewer models then share a cell."""
    result = list(labels)
    for clashing in {given for given, _ in _find_clashes(table, entries, labels)}:
        places = [at for at, given in enumerate(labels) if given == clashing]
        own = [entries[at] for at in places]
        extended = [(_extend_label(layout, entry, clashing[0], name), *clashing[1:]) for entry in own]
        before = _find_clashes(table, own, [clashing] * len(own))
        if len(_find_clashes(table, own, extended)) < len(before):
            for at, given in zip(places, extended, strict=True):
                result[at] = given
    return result


def _extend_label(layout: Layout, entry: LayoutEntry, label: str, name: str) -> str:
    value = layout.get_label(name, entry.fields[name])
    return label if value in label.split() else f"{label} {value}".strip()


def _find_clashes(
    table: LayoutTable, entries: Sequence[LayoutEntry], labels: Sequence[tuple[str, ...]]
) -> dict[tuple[tuple[str, ...], Column], set[str]]:
    """Return the models of each cell (row labels, column) that several models would share."""
    names: dict[tuple[tuple[str, ...], Column], set[str]] = {}
    for entry, given in zip(entries, labels, strict=True):
        for column in _list_columns(table, entry):
            names.setdefault((given, column), set()).add(entry.name)
    return {cell: found for cell, found in names.items() if len(found) > 1}


def _list_columns(table: LayoutTable, entry: LayoutEntry) -> Iterator[Column]:
    for cell in table.cells:
        if entry.measure in cell.measures:
            yield tuple(cell.heading if name == MEASURE else entry.fields[name] for name in table.columns)


def _format_labels(layout: Layout, table: LayoutTable, entry: LayoutEntry) -> tuple[str, ...]:
    is_other = table.multilingual_rows and entry.fields["multilingual"] == "true"
    patterns = table.multilingual_rows if is_other else table.rows
    fields = {name: layout.get_label(name, value) for name, value in entry.fields.items()}
    return tuple(pattern.format(**fields).strip() for pattern in patterns)
