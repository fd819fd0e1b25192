"""Rows of records: those of one model, benchmark, language, part, protocol and group, by measure."""

from collections.abc import Iterable, Iterator, Sequence

from tiltmeter.forms.frames import FRAME
from tiltmeter.measures.records import OVERALL, Record, get_base_protocol

# The "model" of GEST's records on the agreement between models.
ALL_MODELS = "all models"

# The records of one model, benchmark, language, part, protocol and group, by measure.
RecordRow = dict[str, Record]


def is_pooled(part: str) -> bool:
    """Whether a part stands for the whole benchmark and need not be named; frames are the only part of their data."""
    return part in (OVERALL, "all", FRAME)


def group_records(records: Iterable[Record], *names: str) -> Iterator[tuple[tuple[str, ...], list[Record]]]:
    """The records grouped by these fields, in order of first occurrence."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(getattr(record, name) for name in names), []).append(record)
    yield from groups.items()


def get_first_record(row: RecordRow) -> Record:
    """The first record of a row, for the fields that all its records share."""
    return next(iter(row.values()))


def build_rows(records: Iterable[Record], view: str = "all") -> list[RecordRow]:
    """The records of a view as rows, one for each model, benchmark, language, part, protocol and group."""
    in_view = (r for r in records if r.view == view and r.model != ALL_MODELS)
    return [
        {r.measure: r for r in group}
        for _, group in group_records(in_view, "model", "benchmark", "language", "part", "protocol", "group")
    ]


def select_summary_rows(rows: Sequence[RecordRow]) -> list[RecordRow]:
    """The rows to summarize: the pooled parts where there are any, otherwise each part.

    Where the parts contradict each other, they follow the pooled row.
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
    """Whether the parts of a pooled row, or its measures, contradict each other."""
    return any(record.verdict is not None and record.verdict.kind == "contradictory" for record in row.values())


def _get_pooling_key(row: RecordRow) -> tuple[str, ...]:
    """The fields that parts must share to be pooled; protocols may differ in the case of a part."""
    record = get_first_record(row)
    return record.model, record.benchmark, record.language, get_base_protocol(record.protocol), record.group
