"""Output of a reproduction in the terminal."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tiltmeter.papers.consistency_checks import check_consistency
from tiltmeter.papers.output.reproduction_tables import (
    VALUE,
    describe_contradiction,
    format_cell_name,
    format_recomputed,
    has_unprinted_numbers,
    list_explained_numbers,
    summarize_tables,
)
from tiltmeter.papers.printed_numbers import TEXT, CellKey, Paper, format_table_title
from tiltmeter.papers.reproduction import ReproducedNumber, Reproduction, ReproductionStatus
from tiltmeter.reports.console_tables import create_table
from tiltmeter.reports.formatting import format_count

# Each status has two signs; the second sign is for terminals that can print only ASCII.
_SIGNS = {
    ReproductionStatus.AGREES: ("=", "="),
    ReproductionStatus.KNOWN: ("~", "~"),
    ReproductionStatus.TOLERATED: ("≈", "^"),
    ReproductionStatus.DIFFERS: ("≠", "!"),
    ReproductionStatus.ABSENT: ("?", "?"),
    ReproductionStatus.UNPRINTED: ("", ""),
}
_LEGEND = (
    "= agrees to the printed digit, ~ differs for a known reason, {} differs within a tolerance, {} differs, "
    "? not available"
)
_COLOURS = {
    ReproductionStatus.AGREES: "green",
    ReproductionStatus.KNOWN: "yellow",
    ReproductionStatus.TOLERATED: "yellow",
    ReproductionStatus.DIFFERS: "bold red",
    ReproductionStatus.ABSENT: "dim",
    ReproductionStatus.UNPRINTED: "",
}
# The statuses that the summary always counts, with the heads of their columns.
_COUNTED = {
    ReproductionStatus.AGREES: "agree",
    ReproductionStatus.KNOWN: "known reason",
    ReproductionStatus.TOLERATED: "within a tolerance",
    ReproductionStatus.DIFFERS: "differ",
    ReproductionStatus.ABSENT: "not available",
}
_MOST_REASONS = 4  # maximum number of printed reasons why numbers are not available; --json prints all reasons


def print_reproduction(reproduction: Reproduction, console: Console) -> None:
    """Print the tables with printed and recomputed numbers, the differences with their reasons, and the counts."""
    differs = _SIGNS[ReproductionStatus.DIFFERS][console.options.ascii_only]
    tolerated = _SIGNS[ReproductionStatus.TOLERATED][console.options.ascii_only]
    for paper in reproduction.list_papers():
        console.print(Text(paper.citation, style="bold"))
        for table, outcomes in reproduction.group_by_table(paper).items():
            _print_table(paper, table, outcomes, console)
    console.print(_LEGEND.format(tolerated, differs), highlight=False)
    console.print()
    for group in list_explained_numbers(reproduction):
        title = f"{group.paper}, {format_count(len(group.outcomes), 'number')}: {group.summary}"
        console.print(Text.assemble((f"{tolerated if group.is_tolerance else '~'} ", "yellow"), (title, "bold")))
        for text in group.evidence:
            console.print(Text(f"  {text}"))
    for remark in reproduction.list_remarks():
        tables = format_table_title(remark.tables)
        console.print(Text.assemble(("* ", "cyan"), (f"{remark.paper}, {tables}: {remark.text}", "bold")))
        console.print(Text(f"  {remark.evidence}"))
    for check in check_consistency([outcome.printed for outcome in reproduction.outcomes]):
        console.print(Text(f"* {check.name}: true for {check.consistent_count} of {check.numbers} numbers"))
        for contradiction in check.contradictions:
            console.print(Text(f"  {describe_contradiction(contradiction)}"))
    for outcome in reproduction.outcomes:
        if outcome.status is ReproductionStatus.DIFFERS:
            number = outcome.printed
            place = f"{number.paper.key}, {format_table_title([number.table])}, {format_cell_name(outcome)}"
            about = f"{outcome.source}; {outcome.note}" if outcome.note else outcome.source
            text = f"{place}: printed {number.text}, recomputed {format_recomputed(outcome)} ({about})"
            console.print(Text.assemble((f"{differs} ", "bold red"), text))
    _print_missing(reproduction, console)
    console.print()
    console.print(_build_summary(reproduction, console))
    unchecked = [name for name, used in reproduction.files.items() if not used.known]
    if unchecked:
        console.print(f"{format_count(len(unchecked), 'file')} used without a known hash; only the commit is pinned.")


def _print_table(paper: Paper, table: str, outcomes: Sequence[ReproducedNumber], console: Console) -> None:
    title = f"{format_table_title([table]).capitalize()}: {paper.captions[table]}"
    row_names, column_names = paper.get_row_names(table), paper.get_column_names(table)
    # A part of the row or column heads that has the same value in the whole table is left out.
    names = (*row_names, *column_names)
    same = {name for name in names if len({outcome.printed.cell.get(name) for outcome in outcomes}) == 1}
    cells: dict[tuple[str, str], ReproducedNumber] = {}
    rows: dict[str, bool] = {}
    for outcome in outcomes:
        row = _format_head(outcome.printed.cell, row_names, same) or "all"
        column = _format_head(outcome.printed.cell, column_names, same) or "number"
        rows[row] = rows.get(row, False) or outcome.ours is not None
        if outcome.printed.kind == VALUE:
            cells.setdefault((row, column), outcome)
    available = [row for row, is_available in rows.items() if is_available]
    if not available:
        console.print(f"{title}: not available ({format_count(len(outcomes), 'number')}).\n", highlight=False)
        return
    console.print(Text(title))
    texts = {key: _format_cell(outcome, console) for key, outcome in cells.items()}
    columns = list(dict.fromkeys(column for _, column in cells))
    width = max(*map(len, columns), *(len(text) for text in texts.values())) + 2
    for shown in _split_columns(columns, width, console.width - max(map(len, available)) - 3):
        grid = create_table(console, padding=(0, 1), edges=True)
        grid.add_column("", no_wrap=table != TEXT)  # the names of places in the text are long and may be wrapped
        for column in shown:
            grid.add_column(column, no_wrap=True)
        for row in available:
            grid.add_row(row, *(texts.get((row, column), Text()) for column in shown))
        console.print(grid)
    if len(available) < len(rows):
        console.print(f"Not available: {len(rows) - len(available)} of {len(rows)} rows.", highlight=False)
    console.print()


def _format_head(cell: CellKey, names: Sequence[str], same: Collection[str]) -> str:
    heads = [cell[name] for name in names if name not in same and cell.get(name)]
    return " ".join(heads or [cell[name] for name in names[:1] if cell.get(name)])


def _split_columns(columns: Sequence[str], width: int, room: int) -> Iterator[Sequence[str]]:
    """Yield the columns in groups that fit into `room` characters, if each column takes `width` characters."""
    fitting = max(1, room // width)
    for first in range(0, len(columns), fitting):
        yield columns[first : first + fitting]


def _format_cell(outcome: ReproducedNumber, console: Console) -> Text:
    sign = _SIGNS[outcome.status][console.options.ascii_only]
    return Text(f"{outcome.printed.text} {sign} {format_recomputed(outcome)}".strip(), style=_COLOURS[outcome.status])


def _print_missing(reproduction: Reproduction, console: Console) -> None:
    absent = (outcome.note for outcome in reproduction.outcomes if outcome.status is ReproductionStatus.ABSENT)
    reasons = list(Counter(absent).items())
    for note, number in reasons[:_MOST_REASONS]:
        console.print(Text(f"? {format_count(number, 'number')} not available: {note}", style="dim"))
    more = sum(number for _, number in reasons[_MOST_REASONS:])
    if more:
        console.print(
            Text(f"? {format_count(more, 'number')} more not available; --json lists the reasons.", style="dim")
        )


def _build_summary(reproduction: Reproduction, console: Console) -> Table:
    table = create_table(console, padding=(0, 1), edges=True)
    for name in ("paper", "table", "kind"):
        table.add_column(name, no_wrap=name != "kind")
    summary = summarize_tables(reproduction)
    has_unprinted = has_unprinted_numbers(summary)
    for name in ("printed", *_COUNTED.values(), *([ReproductionStatus.UNPRINTED] if has_unprinted else [])):
        table.add_column(name, justify="right")
    for line in summary:
        numbers = [(status, line.counts[status]) for status in _COUNTED]
        counts = [Text(str(number), style=_COLOURS[status] if number else "dim") for status, number in numbers]
        counts += [Text(line.unprinted, style="" if line.unprinted_count else "dim")] if has_unprinted else []
        table.add_row(line.paper, line.table, line.kind, str(line.number_count), *counts)
    return table
