"""Rows of records: a row has one record for each measure of the same model, benchmark, language, part and group."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from tiltmeter.forms.frames import FRAME
from tiltmeter.measures import select_deciding_record
from tiltmeter.measures.pooled_rows import find_rows_judged_by_part, get_pooling_key
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.reports.grouping import group_by

# GEST has records about the agreement between models; this is the model name in these records.
ALL_MODELS = "all models"

# Maps the name of a measure to the record of the row.
RecordRow = dict[str, Record]


def is_pooled(part: str) -> bool:
    """Return whether a part is the whole benchmark, so that outputs need not name the part.

    This is also true for FRAME (GEST items in frames, texts that quote a sentence): such data have no other part.
    """
    return part in (OVERALL, "all", FRAME)


def group_records(records: Iterable[Record], *names: str) -> Iterator[tuple[tuple[str, ...], list[Record]]]:
    """Group records by the fields `names`; yield the values of the fields and the list of records for each group."""
    yield from group_by(records, lambda record: tuple(getattr(record, name) for name in names)).items()


def get_first_record(row: RecordRow) -> Record:
    """Return the first record of a row; callers use it for fields that are equal in all records of the row."""
    return next(iter(row.values()))


def build_rows(records: Iterable[Record], view: str = "all") -> list[RecordRow]:
    """Return the records of a view as rows: one for each model, benchmark, language, part, protocol and group."""
    in_view = (r for r in records if r.view == view and r.model != ALL_MODELS)
    return [
        {r.measure: r for r in group}
        for _, group in group_records(in_view, "model", "benchmark", "language", "part", "protocol", "group")
    ]


def select_summary_rows(rows: Sequence[RecordRow]) -> list[RecordRow]:
    """Return the rows of a summary: the row over all parts (pooled row), or the rows of the parts if there is none.

    If a pooled row is judged part by part (see `find_rows_judged_by_part`), return this row and the rows of its parts.
    """
    divided = find_rows_judged_by_part(record for row in rows for record in row.values())
    return _select_rows(rows, lambda pooled, _: get_pooling_key(pooled) in divided)


def select_verdict_rows(rows: Sequence[RecordRow]) -> list[RecordRow]:
    """Return the summary rows, and the rows of parts that the verdict over all parts does not represent.

    These are parts with a different verdict than the row over all parts, and parts with different types of answers.
    """
    divided = find_rows_judged_by_part(record for row in rows for record in row.values())
    return _select_rows(
        rows,
        lambda pooled, part: (
            get_pooling_key(pooled) in divided
            or has_several_answer_types(pooled)
            or _get_conclusion(pooled) != _get_conclusion(part)
        ),
    )


def has_several_answer_types(pooled: Record) -> bool:
    """Return whether parts with different types of answers are pooled: likelihoods and next-sentence scores."""
    return " + " in (pooled.family or "")


def _select_rows(rows: Sequence[RecordRow], is_wanted: Callable[[Record, Record], bool]) -> list[RecordRow]:
    """Return the rows over all parts (pooled rows), the rows without a pooled row, and the wanted rows of parts.

    The row of a part is wanted if `is_wanted` is true for the deciding records of the pooled row and of this row.
    """
    whole = {get_pooling_key(record): row for row in rows if (record := get_first_record(row)).part == OVERALL}
    selected = []
    for row in rows:
        part, pooled_row = get_first_record(row), whole.get(get_pooling_key(get_first_record(row)))
        if part.part == OVERALL or pooled_row is None:
            selected.append(row)
            continue
        deciding = select_deciding_record(pooled_row) or get_first_record(pooled_row)
        if is_wanted(deciding, select_deciding_record(row) or part):
            selected.append(row)
    return selected


def _get_conclusion(record: Record) -> tuple[str, ...]:
    """Return the kind, side and size of a record's verdict, without its reason; empty if there is no verdict."""
    return (record.verdict.kind, record.verdict.side, record.verdict.size) if record.verdict is not None else ()
