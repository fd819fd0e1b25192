"""Tables of several runs, as in papers: a row for each model, and a column for each language and measure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tiltmeter.comparing.best_model import find_best_model
from tiltmeter.comparing.cells import Cell, build_all_cells
from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import UsageError
from tiltmeter.measures import get_measure, select_deciding_record
from tiltmeter.measures.measure import complete_name
from tiltmeter.measures.pooled_rows import find_rows_judged_by_part
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.measures.verdict import UNRELIABLE_KINDS
from tiltmeter.reports.combined_runs import label_records
from tiltmeter.reports.grouping import group_by
from tiltmeter.reports.record_rows import RecordRow, build_rows, get_first_record
from tiltmeter.reports.result_table import list_columns
from tiltmeter.runs.result import Result

Grouping = Literal["language", "measure"]
GROUPINGS: tuple[Grouping, ...] = ("language", "measure")

BOLD_RULE = (
    "the best value of a column among models of the same kind and protocol, if it is significantly closer to the ideal "
    "than every other value (paired by item, p corrected for the number of models). If no value is marked, no model is "
    "significantly best, or the measure cannot be compared item by item."
)


@dataclass(frozen=True, slots=True)
class WideColumn:
    """A column of a table: one measure in one language."""

    language: str
    measure: str

    def get_headings(self, grouping: Grouping) -> tuple[str, str]:
        """Return the heading of the group of columns, and the heading of this column."""
        pair = (self.language, self.measure)
        return pair if grouping == "language" else (pair[1], pair[0])


@dataclass(frozen=True, slots=True)
class WideRow:
    """The numbers of one model; `best` are the columns in which the model is significantly better than all others."""

    model: str
    numbers: dict[WideColumn, Record]
    best: frozenset[WideColumn]

    def get_unreliable_verdict(self, column: WideColumn) -> str:
        """Return the verdict in a column if it is unreliable (in UNRELIABLE_KINDS); otherwise an empty text."""
        return find_unreliable_verdict(self.numbers.get(column))


@dataclass(frozen=True, slots=True)
class WideBlock:
    """The rows of models that were measured under the same conditions; their numbers are comparable."""

    conditions: str
    rows: tuple[WideRow, ...]


@dataclass(frozen=True, slots=True)
class WideTable:
    """The table of one benchmark, or of one part of a benchmark."""

    benchmark: str
    part: str
    grouping: Grouping
    columns: tuple[WideColumn, ...]
    blocks: tuple[WideBlock, ...]

    @property
    def title(self) -> str:
        """The title of the table: the benchmark, and the part if the table is about one part."""
        return self.benchmark if self.part == "all" else f"{self.benchmark}, {self.part}"

    @property
    def counts(self) -> str:
        """The number of items as text; it is a range if the number differs between models or languages."""
        numbers = {record.n for block in self.blocks for row in block.rows for record in row.numbers.values()}
        low, high = min(numbers), max(numbers)
        return f"n = {low:,}" if low == high else f"n = {low:,} to {high:,}"

    @property
    def groups(self) -> list[tuple[str, list[WideColumn]]]:
        """The groups of columns: the heading of each group, and its columns."""
        return list(group_by(self.columns, lambda column: column.get_headings(self.grouping)[0]).items())

    @property
    def unreliable_verdicts(self) -> list[str]:
        """The unreliable verdicts (UNRELIABLE_KINDS) that occur in the table."""
        rows = [row for block in self.blocks for row in block.rows]
        found = {row.get_unreliable_verdict(column) for row in rows for column in self.columns}
        return [verdict for verdict in UNRELIABLE_KINDS if verdict in found]


def build_wide_tables(
    runs: Sequence[tuple[str, Result]], *, grouping: Grouping = "language", measures: Sequence[str] = ()
) -> list[WideTable]:
    """Return a table of each benchmark's results over all parts; benchmarks without any of `measures` are left out.

    There is also a table for each part if a model has no results for a part, such as a masked model without a
    next-sentence head, or if a result over all parts is judged part by part.
    """
    labelled = iter(label_records([(name, result.records) for name, result in runs]))
    names: dict[tuple[str, ...], tuple[str, ...]] = {}
    records: list[Record] = []
    for run, result in runs:
        for original in result.records:
            record = next(labelled)
            records.append(record)
            names.setdefault((run, *_get_cell_key(original)), _get_cell_key(record))
    cells = {
        names[key]: cell
        for cell in build_all_cells(runs)
        if (key := (cell.run, cell.model, cell.benchmark, cell.part, cell.language, cell.protocol)) in names
    }
    rows = build_rows(records)
    pooled = {_get_pooling_key(row) for row in rows if get_first_record(row).part == OVERALL}
    unpooled = {get_first_record(row).benchmark for row in rows if _get_pooling_key(row) not in pooled}
    unpooled |= {benchmark for _, benchmark, *_, view, _ in find_rows_judged_by_part(records) if view == "all"}
    shown = (row for row in rows if (first := get_first_record(row)).part == OVERALL or first.benchmark in unpooled)
    tables = group_by(shown, lambda row: (get_first_record(row).benchmark, get_first_record(row).part))
    if not tables:
        raise UsageError(
            "The runs contain no numbers over all items of a benchmark, only numbers of groups of items; "
            "repeat the runs with `tiltmeter run`."
        )
    _reject_unknown(measures, tables.values())
    return [
        _build_table(benchmark, part, table_rows, shown_measures, cells, grouping)
        for (benchmark, part), table_rows in tables.items()
        if (shown_measures := _select_measures(table_rows, measures))
    ]


def _build_table(
    benchmark: str,
    part: str,
    rows: Sequence[RecordRow],
    measures: Sequence[str],
    cells: dict[tuple[str, ...], Cell],
    grouping: Grouping,
) -> WideTable:
    languages = list(dict.fromkeys(get_first_record(row).language for row in rows))
    columns = [WideColumn(language, measure) for language in languages for measure in measures]
    if grouping == "measure":
        columns = [WideColumn(language, measure) for measure in measures for language in languages]
    columns = [
        column
        for column in columns
        if any(get_first_record(row).language == column.language and column.measure in row for row in rows)
    ]
    groups = group_by(rows, lambda row: _describe_conditions(get_first_record(row)))
    blocks = (WideBlock(name, tuple(_build_rows(group, columns, cells))) for name, group in groups.items())
    return WideTable(benchmark, part, grouping, tuple(columns), tuple(blocks))


def _build_rows(
    rows: Sequence[RecordRow], columns: Sequence[WideColumn], cells: dict[tuple[str, ...], Cell]
) -> Iterator[WideRow]:
    numbers: dict[str, dict[WideColumn, Record]] = {}
    unreliable: set[tuple[str, str]] = set()
    for row in rows:
        first = get_first_record(row)
        if find_unreliable_verdict(select_deciding_record(row)):
            unreliable.add((first.model, first.language))
        for name, record in row.items():
            column = WideColumn(first.language, name)
            if column in columns:
                numbers.setdefault(first.model, {})[column] = record
    best: dict[str, set[WideColumn]] = {}
    for column in columns:
        entries = {
            model: cells.get(_get_cell_key(row_numbers[column]))
            for model, row_numbers in numbers.items()
            if column in row_numbers and (model, column.language) not in unreliable
        }
        known = {model: cell for model, cell in entries.items() if cell is not None}
        best_cell = find_best_model(list(known.values()), column.measure) if len(known) == len(entries) else None
        for model, cell in known.items():
            if cell is best_cell:
                best.setdefault(model, set()).add(column)
    for model, row_numbers in numbers.items():
        yield WideRow(model, row_numbers, frozenset(best.get(model, ())))


def _select_measures(rows: Sequence[RecordRow], wanted: Sequence[str]) -> list[str]:
    """Return the measures that have columns: those in `wanted`; by default those shown with the primary measure."""
    available = _list_measures(rows)
    if wanted:
        return list(dict.fromkeys(full for name in wanted if (full := complete_name(name, available))))
    first = next((record for row in rows if (record := select_deciding_record(row))), None)
    if first is None:
        return available
    primary = get_measure(first.measure)
    return [name for name in list_columns(rows, primary) if name in (primary.name, *primary.companions)]


def _list_measures(rows: Iterable[RecordRow]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _reject_unknown(measures: Sequence[str], tables: Iterable[Sequence[RecordRow]]) -> None:
    """Raise an error if a measure is in none of the tables."""
    names = [_list_measures(rows) for rows in tables]
    for measure in measures:
        if not any(complete_name(measure, available) for available in names):
            known = list(dict.fromkeys(name for available in names for name in available))
            raise UsageError(
                f"The runs have no measure {measure}{suggest_name(measure, known)}; available: {', '.join(known)}."
            )


def _describe_conditions(record: Record) -> str:
    """Return a phrase with the kind of the model, the answer type, and the protocol of a record."""
    words: Iterable[str | None] = (record.kind, record.protocol)
    if record.family and record.family != "likelihood":
        words = (record.kind, record.family, record.protocol)
    return ", ".join(filter(None, words))


def find_unreliable_verdict(record: Record | None) -> str:
    """Return the kind of a record's verdict if it is unreliable (UNRELIABLE_KINDS); otherwise an empty text."""
    return "" if record is None or record.verdict is None or record.verdict.is_reliable else record.verdict.kind


def _get_pooling_key(row: RecordRow) -> tuple[str, ...]:
    record = get_first_record(row)
    return record.model, record.benchmark, record.language


def _get_cell_key(record: Record) -> tuple[str, ...]:
    return record.model, record.benchmark, record.part, record.language, record.protocol
