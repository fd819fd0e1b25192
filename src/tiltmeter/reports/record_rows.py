"""Rows of records: those of one model, benchmark, language, part, protocol and group, by measure."""

from collections.abc import Iterable, Iterator, Sequence

from tiltmeter.forms.frames import FRAME
from tiltmeter.measures.records import OVERALL, Record, protocol_family

# The "model" of GEST's records on the agreement between models.
ALL_MODELS = "all models"

# The records of one model, benchmark, language, part, protocol and group, by measure.
RecordRow = dict[str, Record]


def pooled(part: str) -> bool:
    """Whether a part stands for the whole benchmark and need not be named; frames are the only part of their data."""
    return part in (OVERALL, "all", FRAME)


def split(records: Iterable[Record], *names: str) -> Iterator[tuple[tuple[str, ...], list[Record]]]:
    """The records grouped by these fields, in order of first occurrence."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(getattr(record, name) for name in names), []).append(record)
    yield from groups.items()


def any_record(row: RecordRow) -> Record:
    """The first record of a row, for the fields that all its records share."""
    return next(iter(row.values()))


def rows_of(records: Iterable[Record], view: str = "all") -> list[RecordRow]:
    """The records of a view as rows, one for each model, benchmark, language, part, protocol and group."""
    in_view = (r for r in records if r.view == view and r.model != ALL_MODELS)
    return [
        {r.measure: r for r in group}
        for _, group in split(in_view, "model", "benchmark", "language", "part", "protocol", "group")
    ]


def summaries(rows: Sequence[RecordRow]) -> list[RecordRow]:
    """The rows to summarize: the pooled parts where there are any, otherwise each part.

    Where the parts contradict each other, they follow the pooled row.
    """
    whole = {_family(row): row for row in rows if any_record(row).part == OVERALL}
    return [
        row
        for row in rows
        if any_record(row).part == OVERALL or _family(row) not in whole or contradictory(whole[_family(row)])
    ]


def contradictory(row: RecordRow) -> bool:
    """Whether the parts of a pooled row, or its measures, contradict each other."""
    return any(record.verdict is not None and record.verdict.kind == "contradictory" for record in row.values())


def _family(row: RecordRow) -> tuple[str, ...]:
    """The fields that parts must share to be pooled; protocols may differ in the case of a part."""
    record = any_record(row)
    return record.model, record.benchmark, record.language, protocol_family(record.protocol), record.group
