"""What all forms of output share: a table as a grid, and a reproduction as a summary."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tiltmeter.papers.printed import Paper
from tiltmeter.papers.reasons import Reason
from tiltmeter.papers.reproduction import Outcome, Reproduction, Status, count

# A sign for each status, so that nobody has to see colours; the second where there is only ASCII.
SIGNS = {
    Status.AGREES: ("=", "="),
    Status.KNOWN: ("~", "~"),
    Status.DIFFERS: ("≠", "!"),
    Status.ABSENT: ("?", "?"),
}
LEGEND = "= agrees to the printed digit, ~ differs for a known reason, {} differs, ? not available"
VALUE = "value"


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: the heads of its rows and columns, and what stands at each crossing, value first."""

    table: str
    caption: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: dict[tuple[str, str], list[Outcome]]

    def row(self, head: str) -> list[Outcome]:
        """All outcomes of a row."""
        return [outcome for column in self.columns for outcome in self.cells.get((head, column), [])]


@dataclass(frozen=True, slots=True)
class TableSummary:
    """A line of the summary: a table, or all of them, and how its numbers come out."""

    paper: str
    table: str
    kind: str
    counts: dict[Status, int]

    @property
    def numbers(self) -> int:
        """How many there are."""
        return sum(self.counts.values())


def grids(found: Reproduction, paper: Paper) -> Iterator[Grid]:
    """The tables of a paper."""
    for table, outcomes in found.tables(paper).items():
        cells: dict[tuple[str, str], list[Outcome]] = {}
        rows: dict[str, None] = {}
        columns: dict[str, None] = {}
        # A part of the head that is the same everywhere says nothing.
        same = {
            name
            for name in (*paper.rows, *paper.columns)
            if len({outcome.printed.place.get(name) for outcome in outcomes}) == 1
        }
        for outcome in outcomes:
            row = " ".join(_heads(outcome, paper.rows, same)) or "all"
            column = " ".join(_heads(outcome, paper.columns, same)) or "number"
            rows[row] = columns[column] = None
            cells.setdefault((row, column), []).append(outcome)
        yield Grid(table, paper.captions[table], list(rows), list(columns), cells)


def _heads(outcome: Outcome, names: Sequence[str], same: set[str]) -> list[str]:
    heads = [value for name in names if name not in same and (value := outcome.printed.place.get(name))]
    return heads or [value for name in names[:1] if (value := outcome.printed.place.get(name))]


def ours(outcome: Outcome) -> str:
    """What we found, with as many digits as are printed."""
    return "" if outcome.ours is None else f"{outcome.ours:.{outcome.printed.digits}f}"


def so_many(number: int, what: str = "number") -> str:
    """A count with its noun.

    >>> so_many(1), so_many(2720)
    ('1 number', '2,720 numbers')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def place(outcome: Outcome) -> str:
    """Where a number stands, in words."""
    kind = [] if outcome.printed.kind == VALUE else [outcome.printed.kind]
    return ", ".join((*outcome.printed.row(), *outcome.printed.column(), *kind))


def summary(found: Reproduction) -> list[TableSummary]:
    """The numbers by table, apart from the ends of intervals and the standard errors, and the sum of all."""
    lines = []
    for paper in found.papers():
        for table, outcomes in found.tables(paper).items():
            lines += [TableSummary(paper.key, table, kind, counts) for kind, counts in _by_kind(outcomes)]
    if len(lines) > 1:
        lines += [TableSummary("all", "", kind, counts) for kind, counts in _by_kind(found.outcomes)]
    return lines


def _by_kind(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, dict[Status, int]]]:
    values = [outcome for outcome in outcomes if outcome.printed.kind == VALUE]
    others = [outcome for outcome in outcomes if outcome.printed.kind != VALUE]
    if values:
        yield "numbers", count(values)
    if others:
        errors = {outcome.printed.kind == "standard error" for outcome in others}
        yield "ends, errors" if len(errors) > 1 else "errors" if True in errors else "ends", count(others)


def by_reason(found: Reproduction) -> dict[tuple[str, str], list[Outcome]]:
    """The numbers that differ for a known reason, by paper and reason."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in found.outcomes:
        if outcome.reason is not None:
            groups.setdefault((outcome.reason.paper, outcome.reason.id), []).append(outcome)
    return groups


def evidence(outcomes: Iterable[Outcome]) -> list[str]:
    """The evidence for a reason, which may be another for other tables."""
    return list(dict.fromkeys(outcome.reason.evidence for outcome in outcomes if outcome.reason))


def reason_of(outcomes: Sequence[Outcome]) -> Reason:
    """The reason that all of these share."""
    reason = outcomes[0].reason
    assert reason is not None
    return reason


def lacking(found: Reproduction) -> dict[str, int]:
    """Why numbers are not available, and how many for each reason."""
    counted: dict[str, int] = {}
    for outcome in found.outcomes:
        if outcome.status is Status.ABSENT:
            counted[outcome.note] = counted.get(outcome.note, 0) + 1
    return counted
