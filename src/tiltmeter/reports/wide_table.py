"""One table of several runs, as papers print them: models by languages and measures."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tiltmeter.comparing.best_model import find_best_model
from tiltmeter.comparing.cells import Cell, build_cells
from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import UsageError
from tiltmeter.measures import get_measure, select_deciding_record
from tiltmeter.measures.measure import complete_name
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.reports.combined_runs import label_records
from tiltmeter.reports.record_rows import RecordRow, build_rows, get_first_record
from tiltmeter.reports.result_table import list_columns
from tiltmeter.runs.result import Result

Grouping = Literal["language", "measure"]
GROUPINGS: tuple[Grouping, ...] = ("language", "measure")

BOLD_RULE = (
    "the best of its column among models that were asked alike, if it is significantly closer to the ideal than every "
    "other one (paired by item, p corrected for the number of models); where none is marked, the best is not told "
    "apart from all others, or the measure is not compared item by item."
)


# The verdicts that a number is marked for; such a number is not the best of its column.
UNRELIABLE_VERDICTS = ("not interpretable", "contradictory")


@dataclass(frozen=True, slots=True)
class WideColumn:
    """A column: one measure in one language."""

    language: str
    measure: str

    def heads(self, grouping: Grouping) -> tuple[str, str]:
        """The heading of its group, and its own."""
        pair = (self.language, self.measure)
        return pair if grouping == "language" else (pair[1], pair[0])


@dataclass(frozen=True, slots=True)
class WideRow:
    """The numbers of one model; `best` are the columns in which it is told apart as the best."""

    model: str
    numbers: dict[WideColumn, Record]
    best: frozenset[WideColumn]

    def get_unreliable_verdict(self, column: WideColumn) -> str:
        """The verdict on a number if that is one of DOUBTS, otherwise nothing."""
        return find_unreliable_verdict(self.numbers.get(column))


@dataclass(frozen=True, slots=True)
class WideBlock:
    """The models that were asked alike, whose numbers are comparable."""

    asked: str
    rows: tuple[WideRow, ...]


@dataclass(frozen=True, slots=True)
class WideTable:
    """The table of one benchmark, or of one part of it where its parts are not pooled."""

    benchmark: str
    part: str
    grouping: Grouping
    columns: tuple[WideColumn, ...]
    blocks: tuple[WideBlock, ...]

    @property
    def title(self) -> str:
        """The benchmark, with its part where it is not the whole."""
        return self.benchmark if self.part == "all" else f"{self.benchmark}, {self.part}"

    @property
    def counts(self) -> str:
        """The number of items, as a range if models or languages differ."""
        numbers = {record.n for block in self.blocks for row in block.rows for record in row.numbers.values()}
        low, high = min(numbers), max(numbers)
        return f"n = {low:,}" if low == high else f"n = {low:,} to {high:,}"

    @property
    def groups(self) -> list[tuple[str, list[WideColumn]]]:
        """The columns by the heading of their group."""
        found: dict[str, list[WideColumn]] = {}
        for column in self.columns:
            found.setdefault(column.heads(self.grouping)[0], []).append(column)
        return list(found.items())


def build_wide_tables(
    runs: Sequence[tuple[str, Result]], *, grouping: Grouping = "language", measures: Sequence[str] = ()
) -> list[WideTable]:
    """A table for each benchmark of the runs that has these measures: its pooled parts, if all models have them.

    If some have not, as a masked model without a next-sentence head, there is a table for each part as well.
    """
    shown = iter(label_records([(name, result.records) for name, result in runs]))
    names: dict[tuple[str, ...], tuple[str, ...]] = {}
    records: list[Record] = []
    for run, result in runs:
        for given in result.records:
            record = next(shown)
            records.append(record)
            names.setdefault((run, *_get_cell_key(given)), _get_cell_key(record))
    cells = {
        names[key]: cell
        for name, result in runs
        for cell in build_cells(name, result)
        if (key := (name, cell.model, cell.benchmark, cell.part, cell.language, cell.protocol)) in names
    }
    rows = build_rows(records)
    pooled = {_get_pooling_key(row) for row in rows if get_first_record(row).part == OVERALL}
    parted = {get_first_record(row).benchmark for row in rows if _get_pooling_key(row) not in pooled}
    places: dict[tuple[str, str], list[RecordRow]] = {}
    for row in rows:
        first = get_first_record(row)
        if first.part == OVERALL or first.benchmark in parted:
            places.setdefault((first.benchmark, first.part), []).append(row)
    if not places:
        raise UsageError("The runs hold no numbers over all items; make them again.")
    _reject_unknown(measures, places.values())
    return [
        _build_table(*place, rows, shown_measures, cells, grouping)
        for place, rows in places.items()
        if (shown_measures := _select_measures(rows, measures))
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
    asked: dict[str, list[RecordRow]] = {}
    for row in rows:
        asked.setdefault(_describe_conditions(get_first_record(row)), []).append(row)
    blocks = (WideBlock(name, tuple(_build_rows(group, columns, cells))) for name, group in asked.items())
    return WideTable(benchmark, part, grouping, tuple(columns), tuple(blocks))


def _build_rows(
    rows: Sequence[RecordRow], columns: Sequence[WideColumn], cells: dict[tuple[str, ...], Cell]
) -> Iterator[WideRow]:
    numbers: dict[str, dict[WideColumn, Record]] = {}
    doubtful: set[tuple[str, str]] = set()
    for row in rows:
        first = get_first_record(row)
        if find_unreliable_verdict(select_deciding_record(row)):
            doubtful.add((first.model, first.language))
        for name, record in row.items():
            column = WideColumn(first.language, name)
            if column in columns:
                numbers.setdefault(first.model, {})[column] = record
    best: dict[str, set[WideColumn]] = {}
    for column in columns:
        entries = {
            model: cells.get(_get_cell_key(of_model[column]))
            for model, of_model in numbers.items()
            if column in of_model and (model, column.language) not in doubtful
        }
        known = {model: cell for model, cell in entries.items() if cell is not None}
        found = find_best_model(list(known.values()), column.measure) if len(known) == len(entries) else None
        for model, cell in known.items():
            if cell is found:
                best.setdefault(model, set()).add(column)
    for model, of_model in numbers.items():
        yield WideRow(model, of_model, frozenset(best.get(model, ())))


def _select_measures(rows: Sequence[RecordRow], wanted: Sequence[str]) -> list[str]:
    """The measures with columns: those asked for, otherwise the one that decides and those beside it."""
    there = _list_measures(rows)
    if wanted:
        return list(dict.fromkeys(full for name in wanted if (full := complete_name(name, there))))
    first = next((record for row in rows if (record := select_deciding_record(row))), None)
    if first is None:
        return there
    decides = get_measure(first.measure)
    return [name for name in list_columns(rows, decides) if name in (decides.name, *decides.beside)]


def _list_measures(rows: Iterable[RecordRow]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _reject_unknown(measures: Sequence[str], places: Iterable[Sequence[RecordRow]]) -> None:
    """Refuse a measure that no table would have."""
    names = [_list_measures(rows) for rows in places]
    for measure in measures:
        if not any(complete_name(measure, there) for there in names):
            known = list(dict.fromkeys(name for there in names for name in there))
            raise UsageError(f"The runs have no {measure}{suggest_name(measure, known)}; they have {', '.join(known)}.")


def _describe_conditions(record: Record) -> str:
    """How a model was asked, in words."""
    words: Iterable[str | None] = (record.kind, record.protocol)
    if record.family and record.family != "likelihood":
        words = (record.kind, record.family, record.protocol)
    return ", ".join(filter(None, words))


def find_unreliable_verdict(record: Record | None) -> str:
    """The verdict on a record if that is one of DOUBTS, otherwise nothing."""
    kind = "" if record is None or record.verdict is None else record.verdict.kind
    return kind if kind in UNRELIABLE_VERDICTS else ""


def _get_pooling_key(row: RecordRow) -> tuple[str, ...]:
    record = get_first_record(row)
    return record.model, record.benchmark, record.language


def _get_cell_key(record: Record) -> tuple[str, ...]:
    return record.model, record.benchmark, record.part, record.language, record.protocol
