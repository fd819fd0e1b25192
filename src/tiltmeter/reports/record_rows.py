"""Rows of records: the records of one model, benchmark, language, part, protocol and group, by measure."""

from collections.abc import Iterable, Iterator, Sequence

from tiltmeter.forms.frames import FRAME
from tiltmeter.measures.records import OVERALL, Record, get_base_protocol
from tiltmeter.reports.grouping import group_by

# The model name in GEST's records on the agreement between models.
ALL_MODELS = "all models"

# The records of a row by measure.
RecordRow = dict[str, Record]


def is_pooled(part: str) -> bool:
    """Return whether a part is the whole benchmark and need not be named; data in frames have no other part."""
    return part in (OVERALL, "all", FRAME)


def group_records(records: Iterable[Record], *names: str) -> Iterator[tuple[tuple[str, ...], list[Record]]]:
    """Yield the values of these fields with the records that have them, in order of first occurrence."""
    yield from group_by(records, lambda record: tuple(getattr(record, name) for name in names)).items()


def get_first_record(row: RecordRow) -> Record:
    """Return the first record of a row, for the fields that all its records share."""
    return next(iter(row.values()))


def build_rows(records: Iterable[Record], view: str = "all") -> list[RecordRow]:
    """Return the records of a view as rows, one for each model, benchmark, language, part, protocol and group."""
    in_view = (r for r in records if r.view == view and r.model != ALL_MODELS)
    return [
        {r.measure: r for r in group}
        for _, group in group_records(in_view, "model", "benchmark", "language", "part", "protocol", "group")
    ]


def select_summary_rows(rows: Sequence[RecordRow]) -> list[RecordRow]:
    """Return the rows of a summary: the pooled parts if there are any, otherwise each part.

    If the parts contradict each other, the pooled row and the parts are returned.
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
    """Return whether the parts of a pooled row, or its measures, contradict each other."""
    return any(record.verdict is not None and record.verdict.kind == "contradictory" for record in row.values())


def _get_pooling_key(row: RecordRow) -> tuple[str, ...]:
    """Return the fields that parts must share to be pooled; their protocols may differ in the case."""
    record = get_first_record(row)
    return record.model, record.benchmark, record.language, get_base_protocol(record.protocol), record.group
