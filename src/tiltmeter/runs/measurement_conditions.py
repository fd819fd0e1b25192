"""The conditions of a measurement. Values are comparable only if their conditions are equal.

family     answer type: likelihood (probabilities of texts), next-sentence (a next-sentence head), prompted (a chat
           model) or translation (the grammatical gender in translations)
kind       kind of model: masked, causal, seq2seq, chat or translator; None if unknown (only for published predictions)
protocol   the procedure by which items become questions
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tiltmeter.measures.records import KEY_COLUMNS, OVERALL, Record, RecordKey, build_record, get_base_protocol
from tiltmeter.measures.validity_rules import ALL_ZERO, UNKNOWN

AnswerType = Literal["likelihood", "next-sentence", "prompted", "translation"]


@dataclass(frozen=True, slots=True)
class MeasurementConditions(RecordKey):
    """How one model was asked about one part of a benchmark in one language.

    `family` is the answer type. `tokenizer` is the SHA-256 of the tokenizer, if known. `items` is the number of items.
    `unknown` is the number of items with a scored token that the tokenizer does not know or with a text without tokens.
    `zero` is the number of items whose scores are all 0. The protocol decides whether a run skips these two types of
    items (see `tiltmeter.runs.unreadable_items`).
    """

    family: str
    kind: str | None
    tokenizer: str | None = None
    unknown: int = 0
    items: int = 0
    zero: int = 0


def get_answer_type(kind: str) -> AnswerType:
    """Return the answer type of a kind of model head, such as `masked`.

    >>> get_answer_type("next-sentence"), get_answer_type("masked"), get_answer_type("chat")
    ('next-sentence', 'likelihood', 'prompted')
    """
    if kind == "chat":
        return "prompted"
    return "next-sentence" if kind == "next-sentence" else "likelihood"


def pool_conditions(conditions: Sequence[MeasurementConditions]) -> MeasurementConditions:
    """Combine the conditions of several parts into one object; different values are joined with " + "."""

    def join_values(values: Iterable[str | None]) -> str | None:
        distinct = list(dict.fromkeys(value for value in values if value is not None))
        return " + ".join(distinct) or None

    return replace(
        conditions[0],
        part=OVERALL,
        protocol=join_values(entry.protocol for entry in conditions) or "",
        family=join_values(entry.family for entry in conditions) or "",
        kind=join_values(entry.kind for entry in conditions),
        unknown=sum(entry.unknown for entry in conditions),
        zero=sum(entry.zero for entry in conditions),
        items=sum(entry.items for entry in conditions),
    )


def add_conditions(records: Iterable[Record], conditions: Sequence[MeasurementConditions]) -> list[Record]:
    """Return the records with the answer type and the kind of model from the conditions."""
    single = {entry.names: entry for entry in conditions}
    pooled_by_run = {key: pool_conditions(parts) for key, parts in _group_by_run(conditions).items()}
    completed = []
    for record in records:
        entry = single.get(tuple(getattr(record, name) for name in KEY_COLUMNS)) or pooled_by_run.get(
            _get_run_key(record)
        )
        completed.append(replace(record, family=entry.family, kind=entry.kind) if entry else record)
    return completed


def build_unknown_records(conditions: Sequence[MeasurementConditions]) -> list[Record]:
    """Return records that count, by part and overall, items with unknown tokens and items whose scores are all 0."""
    pooled_parts = [pool_conditions(parts) for parts in _group_by_run(conditions).values() if len(parts) > 1]
    return [
        build_record(entry, entry.part, "all", "all", measure, float(count), entry.items)
        for entry in (*conditions, *pooled_parts)
        for measure, count in ((UNKNOWN, entry.unknown), (ALL_ZERO, entry.zero))
        if count
    ]


def _group_by_run(conditions: Iterable[MeasurementConditions]) -> dict[tuple[str, ...], list[MeasurementConditions]]:
    groups: dict[tuple[str, ...], list[MeasurementConditions]] = {}
    for entry in conditions:
        groups.setdefault(_get_run_key(entry), []).append(entry)
    return groups


def _get_run_key(entry: MeasurementConditions | Record) -> tuple[str, ...]:
    return entry.model, entry.benchmark, entry.language, get_base_protocol(entry.protocol)
