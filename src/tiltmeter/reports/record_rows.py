"""Rows of records: a row has one record for each measure, all of the same model, benchmark, language and so on."""

from collections.abc import Iterable, Iterator, Sequence

from tiltmeter.forms.frames import FRAME
from tiltmeter.measures.records import OVERALL, Record, get_base_protocol
from tiltmeter.reports.grouping import group_by

# GEST has records about the agreement between models; this is the model name in these records.
ALL_MODELS = "all models"

# Maps the name of a measure to the record of the row.
RecordRow = dict[str, Record]


def is_pooled(part: str) -> bool:
    """Return whether a part is the whole benchmark, so that outputs need not name it.

    FRAME is included, because data of that part have no other part.
    """
    return part in (OVERALL, "all", FRAME)


def group_records(records: Iterable[Record], *names: str) -> Iterator[tuple[tuple[str, ...], list[Record]]]:
    """Group records by the fields `names`; yield the values of the fields and the list of records for each group."""
    yield from group_by(records, lambda record: tuple(getattr(record, name) for name in names)).items()


def get_first_record(row: RecordRow) -> Record:
    """Return the first record of a row; callers use it for fields that are equal in all records of the row."""
    return next(iter(row.values()))


def build_rows(records: Iterable[Record], view: str = "all") -> list[RecordRow]:
    """Return a row for each model, benchmark, language, part, protocol and group among the records of a view."""
    in_view = (r for r in records if r.view == view and r.model != ALL_MODELS)
    return [
        {r.measure: r for r in group}
        for _, group in group_records(in_view, "model", "benchmark", "language", "part", "protocol", "group")
    ]


def select_summary_rows(rows: Sequence[RecordRow]) -> list[RecordRow]:
    """Return the rows of a summary: the pooled row if there is one, otherwise the row of each part.

    If the parts contradict each other, the pooled row and the rows of the parts are returned.
    """
    whole = {_get_pooling_key(row): row for row in rows if get_first_record(row).part == OVERALL}
    return [
        row
        for row in rows
        if get_first_record(row).part == OVERALL
        or _get_pooling_key(row) not in whole
        or is_contradictory(whole[_get_pooling_key(row)])
    ]


def is_contradictory(row: RecordRow) -> bool:
    """Return whether the verdict of a row is that its parts or its measures contradict each other."""
    return any(record.verdict is not None and record.verdict.kind == "contradictory" for record in row.values())


def _get_pooling_key(row: RecordRow) -> tuple[str, ...]:
    """Return the fields that are equal for all parts of a pooled row.

    Of the protocol, only the base is used: `published` and `published/d` can be pooled.
    """
    record = get_first_record(row)
    return record.model, record.benchmark, record.language, get_base_protocol(record.protocol), record.group
