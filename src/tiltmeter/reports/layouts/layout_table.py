"""Tables of runs in the layout of a paper."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tiltmeter.comparing.attributes import ModelAttributes
from tiltmeter.errors import UsageError
from tiltmeter.measures.records import Record
from tiltmeter.reports.grouping import group_by
from tiltmeter.reports.layouts.best_cells import BestCells, BestRule
from tiltmeter.reports.layouts.laid_out_table import LaidOutBlock, LaidOutCell, LaidOutRow, LaidOutTable
from tiltmeter.reports.layouts.layout import Layout, LayoutCell, LayoutTable
from tiltmeter.reports.layouts.layout_entry import LayoutEntry, list_entries
from tiltmeter.reports.layouts.layout_rows import MEASURE, Column, EntryRow, TableOrder, build_entry_rows
from tiltmeter.runs.result import Result

BoldRule = Literal["paper", "best", "significant", "none"]
BOLD_RULES: tuple[BoldRule, ...] = ("paper", "best", "significant", "none")
_BOLD_NOTES = {
    "best": "Bold: the value closest to the ideal in each column and block; differences are not tested.",
    "significant": "Bold: the best value of a column and block if it is significantly closer to the ideal than every "
    "other value (paired by item, p corrected for the number of models). Models of different kinds are compared.",
    "none": "",
}


def lay_out_runs(
    runs: Sequence[tuple[str, Result]], layout: Layout, attributes: ModelAttributes, bold: BoldRule = "paper"
) -> list[LaidOutTable]:
    """Return the tables of a layout that have numbers in the runs, one for each benchmark."""
    entries = list(list_entries(runs, layout, attributes))
    best = BestCells(runs)
    tables = [
        _build_table(_Setting(layout, table, best, bold), benchmark, selected)
        for table in layout.tables
        for benchmark, selected in group_by(
            _select(entries, layout, table), lambda entry: entry.record.benchmark
        ).items()
    ]
    if not tables:
        measures = dict.fromkeys(name for table in layout.tables for cell in table.cells for name in cell.measures)
        raise UsageError(
            f"The runs have no numbers for the tables of {layout.citation}, which show {', '.join(measures)}; choose "
            "another layout."
        )
    return tables


def _select(entries: Iterable[LayoutEntry], layout: Layout, table: LayoutTable) -> Iterator[LayoutEntry]:
    measures = {name for cell in table.cells for name in cell.measures}
    named = {name for other in layout.tables for name in other.benchmarks}
    for entry in entries:
        record = entry.record
        if (
            record.view == table.view
            and entry.measure in measures
            and (record.part == table.part if table.part else record.part not in table.left_out_parts)
            and (not table.kinds or record.kind in table.kinds)
            and (record.benchmark in table.benchmarks if table.benchmarks else record.benchmark not in named)
            and (record.group != "all" if "group" in table.columns else record.group == "all")
        ):
            yield entry


@dataclass(frozen=True, slots=True)
class _Setting:
    """The table that is built, its layout, and the rule for bold cells."""

    layout: Layout
    table: LayoutTable
    best: BestCells
    bold: BoldRule

    @property
    def rule(self) -> BestRule:
        """The rule for bold cells; if the user chose `paper`, the rule that the paper uses."""
        if self.bold == "paper":
            return "best" if self.table.best else "none"
        return self.bold

    def get_cell(self, column: Column) -> LayoutCell:
        """Return the declaration of the cells in a column."""
        heading = dict(zip(self.table.columns, column, strict=True)).get(MEASURE)
        return next(cell for cell in self.table.cells if heading in (None, cell.heading))


def _build_table(setting: _Setting, benchmark: str, entries: Sequence[LayoutEntry]) -> LaidOutTable:
    layout, table = setting.layout, setting.table
    order = TableOrder(layout, table, entries)
    rows = order.sort_rows(build_entry_rows(layout, table, entries))
    columns = order.sort_columns(rows)
    blocks = tuple(
        LaidOutBlock(layout.get_label(table.blocks, name), tuple(_build_block(setting, group, columns)))
        for name, group in group_by(rows, lambda row: row.block).items()
    )
    return LaidOutTable(
        f"Table {table.number}: {table.caption} ({benchmark})",
        table.heads,
        tuple(_build_headings(setting, column) for column in columns),
        blocks,
        _BOLD_NOTES[setting.rule],
        _describe_shared_rows(blocks),
    )


def _build_headings(setting: _Setting, column: Column) -> tuple[str, ...]:
    return tuple(
        value if name == MEASURE else setting.layout.get_label(name, value)
        for name, value in zip(setting.table.columns, column, strict=True)
    )


def _build_block(setting: _Setting, rows: Sequence[EntryRow], columns: Sequence[Column]) -> Iterator[LaidOutRow]:
    """Yield the rows of a block with their cells as text."""
    bold = {column: _find_bold(setting, rows, column) for column in columns}
    for row in rows:
        cells = (
            LaidOutCell(_format_cell(setting.get_cell(column), row.cells[column]), row.labels in bold[column])
            if column in row.cells
            else LaidOutCell()
            for column in columns
        )
        yield LaidOutRow(row.labels, tuple(cells), row.list_models())


def _find_bold(setting: _Setting, rows: Sequence[EntryRow], column: Column) -> list[tuple[str, ...]]:
    """Return the labels of the rows that are bold in a column; the first measure of a cell decides."""
    shown = setting.get_cell(column)
    entries = {
        row.labels: row.cells[column][shown.measures[0]]
        for row in rows
        if column in row.cells and shown.measures[0] in row.cells[column]
    }
    best = setting.best.find(list(entries.values()), shown, setting.rule)
    return [labels for labels, entry in entries.items() if entry in best]


def _format_cell(cell: LayoutCell, entries: Mapping[str, LayoutEntry]) -> str:
    numbers = []
    for measure in cell.measures:
        for name in cell.fields:
            number = _get_number(entries[measure].record, name) if measure in entries else None
            numbers.append("?" if number is None else f"{number * cell.scale:.{cell.digits}f}")
    return cell.pattern.format(*numbers)


def _get_number(record: Record, name: str) -> float | None:
    """Return a field of a record; "count" is the number of items of a share."""
    number: float | None = record.value * record.n if name == "count" else getattr(record, name)
    return number


def _describe_shared_rows(blocks: Sequence[LaidOutBlock]) -> str:
    """Return a sentence that names the models of each row with several models."""
    shared = [
        f"{' '.join(row.labels)}: {', '.join(row.models)}"
        for block in blocks
        for row in block.rows
        if len(row.models) > 1
    ]
    return f"Rows with several models: {'; '.join(shared)}." if shared else ""
