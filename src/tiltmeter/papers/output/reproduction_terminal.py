"""A reproduction on a terminal."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tiltmeter.papers.crosschecks import cross_check
from tiltmeter.papers.output.layout import (
    LEGEND,
    SIGNS,
    VALUE,
    Grid,
    by_reason,
    evidence,
    grids,
    lacking,
    ours,
    place,
    reason_of,
    so_many,
    summary,
)
from tiltmeter.papers.reproduction import Outcome, Reproduction, Status

_COLOURS = {Status.AGREES: "green", Status.KNOWN: "yellow", Status.DIFFERS: "bold red", Status.ABSENT: "dim"}
_NOTES = 4  # more reasons than this why numbers are not available are not spelt out


def print_reproduction(found: Reproduction, console: Console) -> None:
    """Print the tables as printed with ours beside them, then what does not agree and why, then the summary."""
    plain = console.options.ascii_only
    for paper in found.papers():
        console.print(Text(paper.citation, style="bold"))
        for grid in grids(found, paper):
            _print_grid(grid, console)
    console.print(LEGEND.format(SIGNS[Status.DIFFERS][plain]), highlight=False)
    console.print()
    for (key, _), outcomes in by_reason(found).items():
        reason = reason_of(outcomes)
        console.print(Text.assemble(("~ ", "yellow"), (f"{key}, {so_many(len(outcomes))}: {reason.summary}", "bold")))
        for text in evidence(outcomes):
            console.print(Text(f"  {text}"))
    for remark in found.remarks():
        tables = ", ".join(remark.tables)
        console.print(Text.assemble(("* ", "cyan"), (f"{remark.paper}, Table {tables}: {remark.text}", "bold")))
        console.print(Text(f"  {remark.evidence}"))
    for check in cross_check([outcome.printed for outcome in found.outcomes]):
        console.print(Text(f"* {check.name}: {check.numbers - len(check.contradictions)} of {check.numbers} numbers"))
        for wrong in check.contradictions:
            number = wrong.number
            where = ", ".join((*number.row(), *number.column()))
            console.print(
                Text(f"  {number.paper.key}, Table {number.table}, {where}: {number.text}, but {wrong.other}")
            )
    for outcome in found.outcomes:
        if outcome.status is Status.DIFFERS:
            number = outcome.printed
            text = f"{number.paper.key}, Table {number.table}, {place(outcome)}: printed {number.text}, ours"
            sign = SIGNS[Status.DIFFERS][plain]
            console.print(Text.assemble((f"{sign} ", "bold red"), f"{text} {ours(outcome)} ({outcome.source})"))
    _print_lacking(found, console)
    console.print()
    console.print(_summary(found))
    unchecked = sorted(name for name, checked in found.files.items() if not checked)
    if unchecked:
        console.print(f"{so_many(len(unchecked), 'file')} used of which no hash is known; the commit is pinned.")


def _print_grid(grid: Grid, console: Console) -> None:
    there = [row for row in grid.rows if any(outcome.ours is not None for outcome in grid.row(row))]
    title = f"Table {grid.table}: {grid.caption}"
    if not there:
        console.print(
            f"{title}: none of its {so_many(sum(map(len, grid.cells.values())))} available.\n", highlight=False
        )
        return
    console.print(Text(title))
    for columns in _blocks(grid, there, console.width):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("", no_wrap=True)
        for column in columns:
            table.add_column(column, no_wrap=True)
        for row in there:
            table.add_row(row, *(_cell(grid.cells.get((row, column), []), console) for column in columns))
        console.print(table)
    if len(there) < len(grid.rows):
        console.print(f"Not available: {len(grid.rows) - len(there)} of {len(grid.rows)} rows.", highlight=False)
    console.print()


def _blocks(grid: Grid, rows: Sequence[str], width: int) -> Iterator[list[str]]:
    """The columns in groups that fit side by side."""
    label = max(map(len, rows)) + 3
    widest = max(len(_plain(outcomes)) for outcomes in grid.cells.values()) + 2
    widest = max(widest, *(len(column) + 2 for column in grid.columns))
    fit = max(1, (width - label) // widest)
    for first in range(0, len(grid.columns), fit):
        yield list(grid.columns[first : first + fit])


def _plain(outcomes: Sequence[Outcome]) -> str:
    value = next((outcome for outcome in outcomes if outcome.printed.kind == VALUE), None)
    return f"{value.printed.text} = {ours(value)}" if value else ""


def _cell(outcomes: Sequence[Outcome], console: Console) -> Text:
    value = next((outcome for outcome in outcomes if outcome.printed.kind == VALUE), None)
    if value is None:
        return Text()
    sign = SIGNS[value.status][console.options.ascii_only]
    return Text(f"{value.printed.text} {sign} {ours(value)}".rstrip(), style=_COLOURS[value.status])


def _print_lacking(found: Reproduction, console: Console) -> None:
    reasons = lacking(found)
    for note, number in list(reasons.items())[:_NOTES]:
        console.print(Text(f"? {so_many(number)} not available: {note}", style="dim"))
    if len(reasons) > _NOTES:
        more = sum(list(reasons.values())[_NOTES:])
        console.print(Text(f"? {so_many(more)} more not available, for reasons that --json tells.", style="dim"))


def _summary(found: Reproduction) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("paper", no_wrap=True)
    table.add_column("table", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name in ("all", "agree", "known reason", "differ", "not available"):
        table.add_column(name, justify="right")
    for line in summary(found):
        counts = [
            Text(str(number), style=_COLOURS[status] if number else "dim") for status, number in line.counts.items()
        ]
        table.add_row(line.paper, line.table, line.kind, str(line.numbers), *counts)
    return table
