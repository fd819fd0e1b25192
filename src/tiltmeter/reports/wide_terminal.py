"""Terminal tables of several runs; columns that do not fit side by side are printed below the others."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from tiltmeter.measures import get_measure
from tiltmeter.measures.verdict import UNRELIABLE_KINDS
from tiltmeter.reports.console_tables import create_table, format_range, get_column_gap
from tiltmeter.reports.wide_table import BOLD_RULE, WideColumn, WideRow, WideTable

_BEST = "*"
_MARKS: dict[str, str] = dict(zip(UNRELIABLE_KINDS, ("?", "!"), strict=True))


def print_wide_tables(tables: Sequence[WideTable], console: Console) -> None:
    """Print each table, then the meaning of the marks in the tables."""
    marks: dict[str, None] = {}
    for table in tables:
        conditions = f", {table.blocks[0].conditions}" if len(table.blocks) == 1 else ""
        console.print(Text.assemble((table.title, "bold"), f"{conditions}, {table.counts}"), soft_wrap=True)
        for columns in _split_columns(table, console):
            _print_columns(table, columns, console)
        console.print()
        marks |= dict.fromkeys(table.unreliable_verdicts)
    console.print(Text(f"{_BEST} {BOLD_RULE}", style="dim"))
    for verdict in marks:
        reason = f"{_MARKS[verdict]} {verdict}; to see the reason, use `tiltmeter show` with only the run of the model."
        console.print(Text(reason, style="dim"))


def _print_columns(table: WideTable, columns: Sequence[WideColumn], console: Console) -> None:
    grid = create_table(console, padding=(0, get_column_gap(console) - 1, 0, 0))
    grid.add_column("", overflow="fold", width=_compute_label_width(table, console))
    group = None
    for column in columns:
        first, second = column.get_headings(table.grouping)
        grid.add_column(f"{'' if first == group else first}\n{second}", justify="right", no_wrap=True)
        group = first
    for block in table.blocks:
        if len(table.blocks) > 1:
            grid.add_row(Text(block.conditions, "italic"), *("" for _ in columns))
        for row in block.rows:
            grid.add_row(Text(row.model), *(_format_cell(row, column, console) for column in columns))
    console.print(grid)


def _split_columns(table: WideTable, console: Console) -> Iterator[list[WideColumn]]:
    """Yield lists of columns that fit side by side; a group of columns is divided only if it is too wide."""
    room = console.width - _compute_label_width(table, console)
    taken: list[WideColumn] = []
    for _, group in table.groups:
        if taken and _compute_width([*taken, *group], table, console) > room:
            yield taken
            taken = []
        for column in group:
            if taken and _compute_width([*taken, column], table, console) > room:
                yield taken
                taken = []
            taken.append(column)
    yield taken


def _compute_width(columns: Sequence[WideColumn], table: WideTable, console: Console) -> int:
    rows = [row for block in table.blocks for row in block.rows]
    widths = (
        max(
            *map(cell_len, column.get_headings(table.grouping)),
            *(cell_len(line) for row in rows for line in _format_cell(row, column, console).plain.split("\n")),
        )
        for column in columns
    )
    return sum(width + get_column_gap(console) for width in widths)


def _compute_label_width(table: WideTable, console: Console) -> int:
    """Return the width of the column with the names of models; names that are longer than this are wrapped."""
    longest = max(cell_len(row.model) for block in table.blocks for row in block.rows)
    if len(table.blocks) > 1:
        longest = max(longest, *(cell_len(block.conditions) for block in table.blocks))
    return min(longest, console.width // 3)


def _format_cell(row: WideRow, column: WideColumn, console: Console) -> Text:
    """Return a cell: the value with its marks, and the interval on the next line."""
    record = row.numbers.get(column)
    if record is None:
        return Text("-")
    best = column in row.best
    mark = _MARKS.get(row.get_unreliable_verdict(column), "")
    value = f"{get_measure(record.measure).number(record.value)}{mark}{_BEST * best}"
    interval = format_range(record, console)
    return Text.assemble((value, "bold" if best else ""), (f"\n{interval}" if interval else "", "dim"))
