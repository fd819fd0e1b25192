"""Records put together: those of one model, language, part and protocol are a row."""

from collections.abc import Iterable, Iterator, Sequence

from tiltmeter.measures.records import OVERALL, Record, protocol_family

# What GEST's measures call the agreement between models; it is no model.
ALL_MODELS = "all models"

# The records of one model, benchmark, language, part and protocol over all items, by measure.
RecordRow = dict[str, Record]


def split(records: Iterable[Record], *names: str) -> Iterator[tuple[tuple[str, ...], list[Record]]]:
    """The records that agree in these fields, in the order in which they first come up."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(getattr(record, name) for name in names), []).append(record)
    yield from groups.items()


def one(row: RecordRow) -> Record:
    """Any record of a row, for what they have in common."""
    return next(iter(row.values()))


def rows_of(records: Iterable[Record], view: str = "all") -> list[RecordRow]:
    """The numbers of a view, a row for each model, benchmark, language, part, protocol and group."""
    there = (r for r in records if r.view == view and r.model != ALL_MODELS)
    return [
        {r.measure: r for r in some}
        for _, some in split(there, "model", "benchmark", "language", "part", "protocol", "group")
    ]


def summaries(rows: Sequence[RecordRow]) -> list[RecordRow]:
    """The rows that stand for the rest: the parts together where they were pooled, else each part.

    Where the parts contradict each other they stand for themselves, after what was pooled.
    """
    pooled = {_family(row): row for row in rows if one(row).part == OVERALL}
    return [
        row
        for row in rows
        if one(row).part == OVERALL or _family(row) not in pooled or contradictory(pooled[_family(row)])
    ]


def contradictory(row: RecordRow) -> bool:
    """Whether the parts of a pooled row, or its measures, contradict each other."""
    return any(record.verdict is not None and record.verdict.kind == "contradictory" for record in row.values())


def _family(row: RecordRow) -> tuple[str, ...]:
    """What two parts must share to be pooled; of their protocols only the case of a part may differ."""
    record = one(row)
    return record.model, record.benchmark, record.language, protocol_family(record.protocol), record.group
