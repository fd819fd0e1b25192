"""Rows of records over pooled parts of a benchmark, and rows whose parts are judged separately."""

from collections.abc import Iterable, Sequence

from tiltmeter.measures.measure import get_measure
from tiltmeter.measures.records import OVERALL, Record, get_base_protocol, get_row_key
from tiltmeter.measures.verdict import Verdict

PoolingKey = tuple[str, ...]


def get_pooling_key(record: Record) -> PoolingKey:
    """Return the key that all records of a pooled row and of the rows of its parts share."""
    protocol = get_base_protocol(record.protocol)
    return record.model, record.benchmark, record.language, protocol, record.view, record.group


def is_pooled_from(pooled: Record, part: Record) -> bool:
    """Return whether `part` is the record of a single part in a pooled record with the same pooling key.

    The protocols are compared, because a run may contain one part with the protocols `published/b` and `published/d`.
    """
    return part.part != OVERALL and part.protocol in pooled.protocol.split(" + ")


def find_rows_judged_by_part(records: Iterable[Record]) -> set[PoolingKey]:
    """Return the pooling keys of the rows whose parts are judged separately, because a pooled value would mislead.

    These are rows whose parts contradict each other, and rows with both interpretable and uninterpretable parts.
    """
    pooled: dict[PoolingKey, list[Verdict]] = {}
    parts: dict[PoolingKey, list[Verdict]] = {}
    for record in records:
        if record.verdict is not None and get_measure(record.measure).decides:
            rows = pooled if record.part == OVERALL else parts
            rows.setdefault(get_pooling_key(record), []).append(record.verdict)
    return {key for key, verdicts in pooled.items() if _is_judged_by_part(verdicts, parts.get(key, []))}


def find_unreliable_verdict(record: Record, records: Sequence[Record]) -> Verdict | None:
    """Return the unreliable verdict that forbids ranking the value of a record; None if the value can be ranked.

    This is the verdict on the record itself, or on a primary measure of its row in `records`. Values of measures that
    are not about bias, such as LMS, can always be ranked.
    """
    if not get_measure(record.measure).is_about_bias:
        return None
    row = (
        other for other in records if get_measure(other.measure).decides and get_row_key(other) == get_row_key(record)
    )
    verdicts = (other.verdict for other in (record, *row))
    return next((verdict for verdict in verdicts if verdict is not None and not verdict.is_reliable), None)


def _is_judged_by_part(pooled: Sequence[Verdict], parts: Sequence[Verdict]) -> bool:
    if any(verdict.kind == "contradictory" for verdict in pooled):
        return True
    interpretable = {verdict.kind != "not interpretable" for verdict in parts}
    return any(not verdict.is_reliable for verdict in pooled) and len(interpretable) == 2
