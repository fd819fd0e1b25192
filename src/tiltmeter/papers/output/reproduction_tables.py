"""Content that several outputs of a reproduction use: counts by table, reasons for differences, names of cells."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tiltmeter.papers.consistency_checks import Contradiction
from tiltmeter.papers.printed_numbers import format_table_title
from tiltmeter.papers.reproduction import ReproducedNumber, Reproduction, ReproductionStatus, count_statuses
from tiltmeter.reports.grouping import group_by

VALUE = "value"
_NAMES_OF_OTHERS = ("interval ends", "standard errors")


@dataclass(frozen=True, slots=True)
class TableSummary:
    """A line of the summary: one table, or all tables together, with the number of outcomes for each status.

    `counts` has the printed numbers and, as "recomputed only", the recomputed numbers that the paper does not print.
    `unprinted_count` is the number of all numbers that the paper does not print.
    """

    paper: str
    table: str
    kind: str
    counts: dict[ReproductionStatus, int]
    unprinted_count: int

    @property
    def number_count(self) -> int:
        """The number of printed numbers, over all statuses."""
        return sum(self.counts.values()) - self.counts[ReproductionStatus.UNPRINTED]

    @property
    def unprinted(self) -> str:
        """How many of the numbers that are not printed were recomputed, as text."""
        recomputed = self.counts[ReproductionStatus.UNPRINTED]
        return f"{recomputed:,} of {self.unprinted_count:,}" if self.unprinted_count else "0"


@dataclass(frozen=True, slots=True)
class ExplainedNumbers:
    """The numbers of a paper that differ for one known reason; each table may have its own evidence.

    With `is_tolerance`, the reason only bounds the differences.
    """

    paper: str
    reason: str
    is_tolerance: bool
    summary: str
    evidence: list[str]
    outcomes: list[ReproducedNumber]


def list_explained_numbers(reproduction: Reproduction) -> list[ExplainedNumbers]:
    """Return the numbers that differ for a known reason, grouped by paper and reason."""
    explained = [(outcome.reason, outcome) for outcome in reproduction.outcomes if outcome.reason is not None]
    groups = group_by(explained, lambda entry: (entry[0].paper, entry[0].id))
    return [
        ExplainedNumbers(
            paper,
            name,
            entries[0][0].is_tolerance,
            entries[0][0].summary,
            list(dict.fromkeys(reason.evidence for reason, _ in entries)),
            [outcome for _, outcome in entries],
        )
        for (paper, name), entries in groups.items()
    ]


def format_recomputed(outcome: ReproducedNumber) -> str:
    """Return the recomputed number with as many decimals as the printed number; empty if it is not available."""
    return "" if outcome.ours is None else f"{outcome.ours:.{max(0, outcome.printed.digits)}f}"


def describe_contradiction(contradiction: Contradiction) -> str:
    """Return a contradiction as text: paper, table, cell, printed number, and the value from the other numbers."""
    number = contradiction.number
    cell = ", ".join((*number.build_row_head(), *number.build_column_head()))
    return f"{number.paper.key}, {format_table_title([number.table])}, {cell}: {number.text}, but {contradiction.other}"


def format_cell_name(outcome: ReproducedNumber) -> str:
    """Return the row and column of a number as text, and its kind if it is an interval end or a standard error."""
    kind = [] if outcome.printed.kind == VALUE else [outcome.printed.kind]
    return ", ".join((*outcome.printed.build_row_head(), *outcome.printed.build_column_head(), *kind))


def summarize_tables(reproduction: Reproduction) -> list[TableSummary]:
    """Return the counts by table and in total; interval ends and standard errors are on separate lines."""
    lines: list[TableSummary] = []
    for paper in reproduction.list_papers():
        for table, outcomes in reproduction.group_by_table(paper).items():
            lines += _summarize_outcomes(paper.key, table, outcomes)
    if len(lines) > 1:
        lines += _summarize_outcomes("all", "", reproduction.outcomes)
    return lines


def has_unprinted_numbers(summary: Iterable[TableSummary]) -> bool:
    """Return whether a table has numbers that the paper shows only in a figure."""
    return any(line.unprinted_count for line in summary)


def _summarize_outcomes(paper: str, table: str, outcomes: Sequence[ReproducedNumber]) -> Iterator[TableSummary]:
    """Yield a line for the values, and one for the interval ends and standard errors, if there are any."""
    values = [outcome for outcome in outcomes if outcome.printed.kind == VALUE]
    others = [outcome for outcome in outcomes if outcome.printed.kind != VALUE]
    if values:
        yield _build_summary(paper, table, "numbers", values)
    if others:
        errors = {outcome.printed.kind == "standard error" for outcome in others}
        kind = "interval ends and standard errors" if len(errors) > 1 else _NAMES_OF_OTHERS[True in errors]
        yield _build_summary(paper, table, kind, others)


def _build_summary(paper: str, table: str, kind: str, outcomes: Sequence[ReproducedNumber]) -> TableSummary:
    printed = [outcome for outcome in outcomes if outcome.printed.text]
    recomputed = count_statuses(outcomes)[ReproductionStatus.UNPRINTED]
    counts = count_statuses(printed) | {ReproductionStatus.UNPRINTED: recomputed}
    return TableSummary(paper, table, kind, counts, len(outcomes) - len(printed))
