"""A reproduction in the terminal."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tiltmeter.papers.consistency_checks import check_consistency
from tiltmeter.papers.output.reproduction_tables import (
    LEGEND,
    SIGNS,
    TableGrid,
    build_grids,
    count_missing,
    describe_contradiction,
    find_value,
    format_cell_name,
    format_recomputed,
    get_reason,
    group_by_reason,
    list_evidence,
    summarize_tables,
)
from tiltmeter.papers.printed_numbers import TEXT, format_table_title
from tiltmeter.papers.reproduction import ReproducedNumber, Reproduction, ReproductionStatus
from tiltmeter.reports.console_tables import create_table
from tiltmeter.reports.formatting import format_count

_COLOURS = {
    ReproductionStatus.AGREES: "green",
    ReproductionStatus.KNOWN: "yellow",
    ReproductionStatus.DIFFERS: "bold red",
    ReproductionStatus.ABSENT: "dim",
}
_NOTES = 4  # reasons why numbers are not available that are printed; --json has all


def print_reproduction(reproduction: Reproduction, console: Console) -> None:
    """Print the tables with printed and recomputed numbers, then the differences with reasons, then the counts."""
    plain = console.options.ascii_only
    for paper in reproduction.list_papers():
        console.print(Text(paper.citation, style="bold"))
        for grid in build_grids(reproduction, paper):
            _print_grid(grid, console)
    console.print(LEGEND.format(SIGNS[ReproductionStatus.DIFFERS][plain]), highlight=False)
    console.print()
    for (key, _), outcomes in group_by_reason(reproduction).items():
        reason = get_reason(outcomes)
        console.print(
            Text.assemble(
                ("~ ", "yellow"), (f"{key}, {format_count(len(outcomes), 'number')}: {reason.summary}", "bold")
            )
        )
        for text in list_evidence(outcomes):
            console.print(Text(f"  {text}"))
    for remark in reproduction.list_remarks():
        tables = format_table_title(remark.tables)
        console.print(Text.assemble(("* ", "cyan"), (f"{remark.paper}, {tables}: {remark.text}", "bold")))
        console.print(Text(f"  {remark.evidence}"))
    for check in check_consistency([outcome.printed for outcome in reproduction.outcomes]):
        console.print(Text(f"* {check.name}: {check.consistent} of {check.numbers} numbers"))
        for contradiction in check.contradictions:
            console.print(Text(f"  {describe_contradiction(contradiction)}"))
    for outcome in reproduction.outcomes:
        if outcome.status is ReproductionStatus.DIFFERS:
            number = outcome.printed
            place = f"{number.paper.key}, {format_table_title([number.table])}, {format_cell_name(outcome)}"
            text = f"{place}: printed {number.text}, ours"
            sign = SIGNS[ReproductionStatus.DIFFERS][plain]
            console.print(
                Text.assemble((f"{sign} ", "bold red"), f"{text} {format_recomputed(outcome)} ({outcome.source})")
            )
    _print_missing(reproduction, console)
    console.print()
    console.print(_build_summary(reproduction, console))
    unchecked = sorted(name for name, used in reproduction.files.items() if not used.known)
    if unchecked:
        console.print(
            f"{format_count(len(unchecked), 'file')} used whose hash was not known before; the commit is pinned."
        )


def _print_grid(grid: TableGrid, console: Console) -> None:
    available = [row for row in grid.rows if any(outcome.ours is not None for outcome in grid.row(row))]
    title = f"{format_table_title([grid.table]).capitalize()}: {grid.caption}"
    if not available:
        console.print(
            f"{title}: none of its {format_count(sum(map(len, grid.cells.values())), 'number')} available.\n",
            highlight=False,
        )
        return
    console.print(Text(title))
    for columns in _split_columns(grid, available, console.width):
        table = create_table(console, padding=(0, 1), edges=True)
        table.add_column("", no_wrap=grid.table != TEXT)  # places in the text are long
        for column in columns:
            table.add_column(column, no_wrap=True)
        for row in available:
            table.add_row(row, *(_format_cell(grid.cells.get((row, column), []), console) for column in columns))
        console.print(table)
    if len(available) < len(grid.rows):
        console.print(f"Not available: {len(grid.rows) - len(available)} of {len(grid.rows)} rows.", highlight=False)
    console.print()


def _split_columns(grid: TableGrid, rows: Sequence[str], width: int) -> Iterator[list[str]]:
    """The columns in groups that fit the width of the terminal."""
    label = max(map(len, rows)) + 3
    widest = max(len(_format_plain(outcomes)) for outcomes in grid.cells.values()) + 2
    widest = max(widest, *(len(column) + 2 for column in grid.columns))
    fit = max(1, (width - label) // widest)
    for first in range(0, len(grid.columns), fit):
        yield list(grid.columns[first : first + fit])


def _format_plain(outcomes: Sequence[ReproducedNumber]) -> str:
    value = find_value(outcomes)
    return f"{value.printed.text} = {format_recomputed(value)}" if value else ""


def _format_cell(outcomes: Sequence[ReproducedNumber], console: Console) -> Text:
    value = find_value(outcomes)
    if value is None:
        return Text()
    sign = SIGNS[value.status][console.options.ascii_only]
    return Text(f"{value.printed.text} {sign} {format_recomputed(value)}".rstrip(), style=_COLOURS[value.status])


def _print_missing(reproduction: Reproduction, console: Console) -> None:
    reasons = count_missing(reproduction)
    for note, number in list(reasons.items())[:_NOTES]:
        console.print(Text(f"? {format_count(number, 'number')} not available: {note}", style="dim"))
    if len(reasons) > _NOTES:
        more = sum(list(reasons.values())[_NOTES:])
        console.print(
            Text(f"? {format_count(more, 'number')} more not available; --json gives the reasons.", style="dim")
        )


def _build_summary(reproduction: Reproduction, console: Console) -> Table:
    table = create_table(console, padding=(0, 1), edges=True)
    table.add_column("paper", no_wrap=True)
    table.add_column("table", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name in ("all", "agree", "known reason", "differ", "not available"):
        table.add_column(name, justify="right")
    for line in summarize_tables(reproduction):
        counts = [
            Text(str(number), style=_COLOURS[status] if number else "dim") for status, number in line.counts.items()
        ]
        table.add_row(line.paper, line.table, line.kind, str(line.numbers), *counts)
    return table
