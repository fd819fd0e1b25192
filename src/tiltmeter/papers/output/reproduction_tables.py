"""Shared by all outputs: tables as grids, counts by table, and the reasons for differences."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tiltmeter.papers.consistency_checks import Contradiction
from tiltmeter.papers.printed_numbers import Paper, format_table_title
from tiltmeter.papers.reasons import Reason
from tiltmeter.papers.reproduction import ReproducedNumber, Reproduction, ReproductionStatus, count_statuses

# A sign for each status, so that colours are not needed; the second for ASCII terminals.
SIGNS = {
    ReproductionStatus.AGREES: ("=", "="),
    ReproductionStatus.KNOWN: ("~", "~"),
    ReproductionStatus.DIFFERS: ("≠", "!"),
    ReproductionStatus.ABSENT: ("?", "?"),
}
LEGEND = "= agrees to the printed digit, ~ differs for a known reason, {} differs, ? not available"
VALUE = "value"


@dataclass(frozen=True, slots=True)
class TableGrid:
    """A table: the heads of its rows and columns, and the outcomes in each cell, the value first."""

    table: str
    caption: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: dict[tuple[str, str], list[ReproducedNumber]]

    def row(self, head: str) -> list[ReproducedNumber]:
        """All outcomes of a row."""
        return [outcome for column in self.columns for outcome in self.cells.get((head, column), [])]


@dataclass(frozen=True, slots=True)
class TableSummary:
    """A line of the summary: a table, or all tables, with the number of outcomes by status."""

    paper: str
    table: str
    kind: str
    counts: dict[ReproductionStatus, int]

    @property
    def numbers(self) -> int:
        """The number of outcomes."""
        return sum(self.counts.values())


def build_grids(reproduction: Reproduction, paper: Paper) -> Iterator[TableGrid]:
    """The tables of a paper."""
    for table, outcomes in reproduction.tables(paper).items():
        cells: dict[tuple[str, str], list[ReproducedNumber]] = {}
        rows: dict[str, None] = {}
        columns: dict[str, None] = {}
        # Parts of the heads that are the same in the whole table are left out.
        row_names, column_names = paper.row_names(table), paper.column_names(table)
        same = {
            name
            for name in (*row_names, *column_names)
            if len({outcome.printed.cell.get(name) for outcome in outcomes}) == 1
        }
        for outcome in outcomes:
            row = " ".join(_list_heads(outcome, row_names, same)) or "all"
            column = " ".join(_list_heads(outcome, column_names, same)) or "number"
            rows[row] = columns[column] = None
            cells.setdefault((row, column), []).append(outcome)
        yield TableGrid(table, paper.captions[table], list(rows), list(columns), cells)


def _list_heads(outcome: ReproducedNumber, names: Sequence[str], same: set[str]) -> list[str]:
    heads = [value for name in names if name not in same and (value := outcome.printed.cell.get(name))]
    return heads or [value for name in names[:1] if (value := outcome.printed.cell.get(name))]


def format_recomputed(outcome: ReproducedNumber) -> str:
    """The recomputed number with as many decimals as are printed; empty if there is none."""
    return "" if outcome.ours is None else f"{outcome.ours:.{max(0, outcome.printed.digits)}f}"


def find_value(outcomes: Iterable[ReproducedNumber]) -> ReproducedNumber | None:
    """The outcome of the value in a cell, without the ends of its interval and its standard error."""
    return next((outcome for outcome in outcomes if outcome.printed.kind == VALUE), None)


def describe_contradiction(contradiction: Contradiction) -> str:
    """An inconsistent number in words: paper, table, cell, the number, and what the others imply."""
    number = contradiction.number
    cell = ", ".join((*number.row(), *number.column()))
    return f"{number.paper.key}, {format_table_title([number.table])}, {cell}: {number.text}, but {contradiction.other}"


def format_cell_name(outcome: ReproducedNumber) -> str:
    """The row and column of a number, and its kind unless it is a value."""
    kind = [] if outcome.printed.kind == VALUE else [outcome.printed.kind]
    return ", ".join((*outcome.printed.row(), *outcome.printed.column(), *kind))


def summarize_tables(reproduction: Reproduction) -> list[TableSummary]:
    """The counts by table, with a line of its own for interval ends and standard errors, and the totals."""
    lines = []
    for paper in reproduction.list_papers():
        for table, outcomes in reproduction.tables(paper).items():
            lines += [TableSummary(paper.key, table, kind, counts) for kind, counts in _count_values_and_ends(outcomes)]
    if len(lines) > 1:
        lines += [
            TableSummary("all", "", kind, counts) for kind, counts in _count_values_and_ends(reproduction.outcomes)
        ]
    return lines


def _count_values_and_ends(outcomes: Sequence[ReproducedNumber]) -> Iterator[tuple[str, dict[ReproductionStatus, int]]]:
    values = [outcome for outcome in outcomes if outcome.printed.kind == VALUE]
    others = [outcome for outcome in outcomes if outcome.printed.kind != VALUE]
    if values:
        yield "numbers", count_statuses(values)
    if others:
        errors = {outcome.printed.kind == "standard error" for outcome in others}
        yield "ends, errors" if len(errors) > 1 else "errors" if True in errors else "ends", count_statuses(others)


def group_by_reason(reproduction: Reproduction) -> dict[tuple[str, str], list[ReproducedNumber]]:
    """The numbers that differ for a known reason, by paper and reason."""
    groups: dict[tuple[str, str], list[ReproducedNumber]] = {}
    for outcome in reproduction.outcomes:
        if outcome.reason is not None:
            groups.setdefault((outcome.reason.paper, outcome.reason.id), []).append(outcome)
    return groups


def list_evidence(outcomes: Iterable[ReproducedNumber]) -> list[str]:
    """The evidence for a reason, which may differ between tables."""
    return list(dict.fromkeys(outcome.reason.evidence for outcome in outcomes if outcome.reason))


def get_reason(outcomes: Sequence[ReproducedNumber]) -> Reason:
    """The reason that these outcomes share."""
    reason = outcomes[0].reason
    assert reason is not None
    return reason


def count_missing(reproduction: Reproduction) -> dict[str, int]:
    """Why numbers are not available, with the number of them."""
    counted: dict[str, int] = {}
    for outcome in reproduction.outcomes:
        if outcome.status is ReproductionStatus.ABSENT:
            counted[outcome.note] = counted.get(outcome.note, 0) + 1
    return counted
