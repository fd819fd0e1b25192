"""How models were asked; values are comparable only if these are equal.

family     likelihood     probabilities of texts
           next-sentence  a next-sentence prediction head
           prompted       a prompted chat model
           translation    the grammatical gender in translations
kind       kind of model: masked, causal, seq2seq, chat, translator; None if unknown, for published predictions
protocol   how items become questions
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import pandas as pd

from tiltmeter.measures.measure import ALL_ZERO, UNKNOWN
from tiltmeter.measures.records import OVERALL, Record, build_record, get_base_protocol

AnswerType = Literal["likelihood", "next-sentence", "prompted", "translation"]
ANSWER_TYPES: tuple[AnswerType, ...] = get_args(AnswerType)

_KEY_FIELDS = ("model", "benchmark", "part", "language", "protocol")
_TRANSLATED = "speaker_gender"


@dataclass(frozen=True, slots=True)
class MeasurementConditions:
    """How one model was asked about one part of a benchmark in one language.

    `tokenizer` is the SHA-256 of the tokenizer, if known. Of `items`, `unknown` have a scored token that the tokenizer
    does not know, or a text without tokens, and `zero` have only scores of 0; whether they were left out depends on the
    protocol (`tiltmeter.runs.unreadable_items`).
    """

    model: str
    benchmark: str
    part: str
    language: str
    protocol: str
    family: str
    kind: str | None
    tokenizer: str | None = None
    unknown: int = 0
    items: int = 0
    zero: int = 0


def get_answer_type(kind: str) -> AnswerType:
    """The family of answers of a model head.

    >>> get_answer_type("next-sentence"), get_answer_type("masked"), get_answer_type("chat")
    ('next-sentence', 'likelihood', 'prompted')
    """
    if kind == "chat":
        return "prompted"
    return "next-sentence" if kind == "next-sentence" else "likelihood"


def read_conditions(manifest: Mapping[str, Any], scores: pd.DataFrame) -> list[MeasurementConditions]:
    """How models were asked, from a run's manifest; for older manifests inferred from the scores."""
    if "asked" in manifest:
        return [MeasurementConditions(**entry) for entry in manifest["asked"]]
    models = {str(entry.get("name")): entry for entry in manifest.get("models", ())}
    askings = []
    for names, rows in scores.groupby(list(_KEY_FIELDS), observed=True, sort=False):
        model, benchmark, part, language, protocol = map(str, names)
        entry = models.get(model, {})
        kind, family = entry.get("kind"), "likelihood"
        if (rows["role"] == _TRANSLATED).any():
            kind, family = "translator", "translation"
        elif kind == "masked" and part == "intersentence":
            family = "next-sentence"
        askings.append(MeasurementConditions(model, benchmark, part, language, protocol, family, kind))
    return askings


def conditions_to_dicts(askings: Iterable[MeasurementConditions]) -> list[dict[str, Any]]:
    """The askings in the format of the manifest."""
    return [asdict(asking) for asking in askings]


def pool_conditions(askings: Sequence[MeasurementConditions]) -> MeasurementConditions:
    """The asking of several parts pooled; values that differ are joined with " + "."""

    def joined(values: Iterable[str | None]) -> str | None:
        distinct = list(dict.fromkeys(value for value in values if value is not None))
        return " + ".join(distinct) or None

    return replace(
        askings[0],
        part=OVERALL,
        protocol=joined(asking.protocol for asking in askings) or "",
        family=joined(asking.family for asking in askings) or "",
        kind=joined(asking.kind for asking in askings),
        unknown=sum(asking.unknown for asking in askings),
        zero=sum(asking.zero for asking in askings),
        items=sum(asking.items for asking in askings),
    )


def with_conditions(records: Iterable[Record], askings: Sequence[MeasurementConditions]) -> list[Record]:
    """The records with their family and kind filled in."""
    single = {tuple(getattr(asking, name) for name in _KEY_FIELDS): asking for asking in askings}
    pooled_by_run = {key: pool_conditions(parts) for key, parts in _group_by_run(askings).items()}
    completed = []
    for record in records:
        asking = single.get(tuple(getattr(record, name) for name in _KEY_FIELDS)) or pooled_by_run.get(
            _get_run_key(record)
        )
        completed.append(replace(record, family=asking.family, kind=asking.kind) if asking else record)
    return completed


def build_unknown_records(askings: Sequence[MeasurementConditions]) -> list[Record]:
    """The numbers of items with unknown tokens and with scores of 0, for each part and for all parts pooled."""
    pooled_parts = [pool_conditions(parts) for parts in _group_by_run(askings).values() if len(parts) > 1]
    return [
        build_record(asking, asking.part, "all", "all", measure, float(count), asking.items)
        for asking in (*askings, *pooled_parts)
        for measure, count in ((UNKNOWN, asking.unknown), (ALL_ZERO, asking.zero))
        if count
    ]


def _group_by_run(askings: Iterable[MeasurementConditions]) -> dict[tuple[str, ...], list[MeasurementConditions]]:
    groups: dict[tuple[str, ...], list[MeasurementConditions]] = {}
    for asking in askings:
        groups.setdefault(_get_run_key(asking), []).append(asking)
    return groups


def _get_run_key(entry: MeasurementConditions | Record) -> tuple[str, ...]:
    return entry.model, entry.benchmark, entry.language, get_base_protocol(entry.protocol)
