"""A reproduction in the terminal."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tiltmeter.papers.crosschecks import cross_check
from tiltmeter.papers.output.layout import (
    LEGEND,
    SIGNS,
    Grid,
    by_reason,
    cell_name,
    difference_of,
    evidence,
    grids,
    lacking,
    ours,
    reason_of,
    summary,
    value_of,
)
from tiltmeter.papers.printed import TEXT, table_title
from tiltmeter.papers.reproduction import ReproducedNumber, Reproduction, Status
from tiltmeter.reports.console_tables import new_table
from tiltmeter.reports.formatting import count_of

_COLOURS = {Status.AGREES: "green", Status.KNOWN: "yellow", Status.DIFFERS: "bold red", Status.ABSENT: "dim"}
_NOTES = 4  # reasons why numbers are not available that are printed; --json has all


def print_reproduction(reproduction: Reproduction, console: Console) -> None:
    """Print the tables with printed and recomputed numbers, then the differences with reasons, then the counts."""
    plain = console.options.ascii_only
    for paper in reproduction.papers():
        console.print(Text(paper.citation, style="bold"))
        for grid in grids(reproduction, paper):
            _print_grid(grid, console)
    console.print(LEGEND.format(SIGNS[Status.DIFFERS][plain]), highlight=False)
    console.print()
    for (key, _), outcomes in by_reason(reproduction).items():
        reason = reason_of(outcomes)
        console.print(
            Text.assemble(("~ ", "yellow"), (f"{key}, {count_of(len(outcomes), 'number')}: {reason.summary}", "bold"))
        )
        for text in evidence(outcomes):
            console.print(Text(f"  {text}"))
    for remark in reproduction.remarks():
        tables = table_title(remark.tables)
        console.print(Text.assemble(("* ", "cyan"), (f"{remark.paper}, {tables}: {remark.text}", "bold")))
        console.print(Text(f"  {remark.evidence}"))
    for check in cross_check([outcome.printed for outcome in reproduction.outcomes]):
        console.print(Text(f"* {check.name}: {check.consistent} of {check.numbers} numbers"))
        for contradiction in check.contradictions:
            console.print(Text(f"  {difference_of(contradiction)}"))
    for outcome in reproduction.outcomes:
        if outcome.status is Status.DIFFERS:
            number = outcome.printed
            text = (
                f"{number.paper.key}, {table_title([number.table])}, {cell_name(outcome)}: printed {number.text}, ours"
            )
            sign = SIGNS[Status.DIFFERS][plain]
            console.print(Text.assemble((f"{sign} ", "bold red"), f"{text} {ours(outcome)} ({outcome.source})"))
    _print_lacking(reproduction, console)
    console.print()
    console.print(_summary(reproduction, console))
    unchecked = sorted(name for name, used in reproduction.files.items() if not used.known)
    if unchecked:
        console.print(f"{count_of(len(unchecked), 'file')} used whose hash was not known before; the commit is pinned.")


def _print_grid(grid: Grid, console: Console) -> None:
    available = [row for row in grid.rows if any(outcome.ours is not None for outcome in grid.row(row))]
    title = f"{table_title([grid.table]).capitalize()}: {grid.caption}"
    if not available:
        console.print(
            f"{title}: none of its {count_of(sum(map(len, grid.cells.values())), 'number')} available.\n",
            highlight=False,
        )
        return
    console.print(Text(title))
    for columns in _blocks(grid, available, console.width):
        table = new_table(console, padding=(0, 1), edges=True)
        table.add_column("", no_wrap=grid.table != TEXT)  # places in the text are long
        for column in columns:
            table.add_column(column, no_wrap=True)
        for row in available:
            table.add_row(row, *(_cell(grid.cells.get((row, column), []), console) for column in columns))
        console.print(table)
    if len(available) < len(grid.rows):
        console.print(f"Not available: {len(grid.rows) - len(available)} of {len(grid.rows)} rows.", highlight=False)
    console.print()


def _blocks(grid: Grid, rows: Sequence[str], width: int) -> Iterator[list[str]]:
    """The columns in groups that fit the width of the terminal."""
    label = max(map(len, rows)) + 3
    widest = max(len(_plain(outcomes)) for outcomes in grid.cells.values()) + 2
    widest = max(widest, *(len(column) + 2 for column in grid.columns))
    fit = max(1, (width - label) // widest)
    for first in range(0, len(grid.columns), fit):
        yield list(grid.columns[first : first + fit])


def _plain(outcomes: Sequence[ReproducedNumber]) -> str:
    value = value_of(outcomes)
    return f"{value.printed.text} = {ours(value)}" if value else ""


def _cell(outcomes: Sequence[ReproducedNumber], console: Console) -> Text:
    value = value_of(outcomes)
    if value is None:
        return Text()
    sign = SIGNS[value.status][console.options.ascii_only]
    return Text(f"{value.printed.text} {sign} {ours(value)}".rstrip(), style=_COLOURS[value.status])


def _print_lacking(reproduction: Reproduction, console: Console) -> None:
    reasons = lacking(reproduction)
    for note, number in list(reasons.items())[:_NOTES]:
        console.print(Text(f"? {count_of(number, 'number')} not available: {note}", style="dim"))
    if len(reasons) > _NOTES:
        more = sum(list(reasons.values())[_NOTES:])
        console.print(Text(f"? {count_of(more, 'number')} more not available; --json gives the reasons.", style="dim"))


def _summary(reproduction: Reproduction, console: Console) -> Table:
    table = new_table(console, padding=(0, 1), edges=True)
    table.add_column("paper", no_wrap=True)
    table.add_column("table", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name in ("all", "agree", "known reason", "differ", "not available"):
        table.add_column(name, justify="right")
    for line in summary(reproduction):
        counts = [
            Text(str(number), style=_COLOURS[status] if number else "dim") for status, number in line.counts.items()
        ]
        table.add_row(line.paper, line.table, line.kind, str(line.numbers), *counts)
    return table
