"""How models were asked: what has to be alike for two numbers to be compared.

family     likelihood     probabilities of texts
           next-sentence  a head that says whether one sentence follows another
           prompted       a chat model that is asked in words
           translation    the grammatical gender that a translation system chooses
kind       of model: masked, causal, seq2seq, translator; None where published predictions do not tell
protocol   how items become questions
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import pandas as pd

from tiltmeter.measures.measure import UNKNOWN
from tiltmeter.measures.records import OVERALL, Record, protocol_family, record_of

Family = Literal["likelihood", "next-sentence", "prompted", "translation"]
FAMILIES: tuple[Family, ...] = get_args(Family)

_CASE = ("model", "benchmark", "part", "language", "protocol")
_TRANSLATED = "speaker_gender"


@dataclass(frozen=True, slots=True)
class Asking:
    """How one model was asked about one part of a benchmark in one language.

    `tokenizer` is the SHA-256 of what splits its texts into tokens, where that is known. `unknown` of the `items` hold
    a scored token that the tokenizer does not know.
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


def family_of(kind: str) -> Family:
    """The family of answers that a kind of head gives.

    >>> family_of("next-sentence"), family_of("masked")
    ('next-sentence', 'likelihood')
    """
    return "next-sentence" if kind == "next-sentence" else "likelihood"


def askings_from_manifest(manifest: Mapping[str, Any], scores: pd.DataFrame) -> list[Asking]:
    """What a run's manifest says of how models were asked; of runs that were made before, what follows from the
    rest.
    """
    if "asked" in manifest:
        return [Asking(**entry) for entry in manifest["asked"]]
    models = {str(entry.get("name")): entry for entry in manifest.get("models", ())}
    found = []
    for names, rows in scores.groupby(list(_CASE), observed=True, sort=False):
        model, benchmark, part, language, protocol = map(str, names)
        entry = models.get(model, {})
        kind, family = entry.get("kind"), "likelihood"
        if (rows["role"] == _TRANSLATED).any():
            kind, family = "translator", "translation"
        elif kind == "masked" and part == "intersentence":
            family = "next-sentence"
        found.append(Asking(model, benchmark, part, language, protocol, family, kind))
    return found


def to_dicts(askings: Iterable[Asking]) -> list[dict[str, Any]]:
    """As the manifest holds them."""
    return [asdict(asking) for asking in askings]


def pooled(askings: Sequence[Asking]) -> Asking:
    """Of several parts together: what differs between them is joined."""

    def joined(values: Iterable[str | None]) -> str | None:
        there = list(dict.fromkeys(value for value in values if value is not None))
        return " + ".join(there) or None

    return replace(
        askings[0],
        part=OVERALL,
        protocol=joined(asking.protocol for asking in askings) or "",
        family=joined(asking.family for asking in askings) or "",
        kind=joined(asking.kind for asking in askings),
        unknown=sum(asking.unknown for asking in askings),
        items=sum(asking.items for asking in askings),
    )


def with_family_and_kind(records: Iterable[Record], askings: Sequence[Asking]) -> list[Record]:
    """The records with the family and the kind of what they are numbers of."""
    single = {tuple(getattr(asking, name) for name in _CASE): asking for asking in askings}
    groups: dict[tuple[str, ...], list[Asking]] = {}
    for asking in askings:
        groups.setdefault(_group(asking), []).append(asking)
    several = {key: pooled(some) for key, some in groups.items()}
    found = []
    for record in records:
        how = single.get(tuple(getattr(record, name) for name in _CASE)) or several.get(_group(record))
        found.append(replace(record, family=how.family, kind=how.kind) if how else record)
    return found


def unknown_records(askings: Sequence[Asking]) -> list[Record]:
    """How many items hold tokens that a model does not know, for each part and for all parts together."""
    groups: dict[tuple[str, ...], list[Asking]] = {}
    for asking in askings:
        groups.setdefault(_group(asking), []).append(asking)
    together = [pooled(some) for some in groups.values() if len(some) > 1]
    return [
        record_of(asking, asking.part, "all", "all", UNKNOWN, float(asking.unknown), asking.items)
        for asking in (*askings, *together)
        if asking.unknown
    ]


def _group(of: Asking | Record) -> tuple[str, ...]:
    return of.model, of.benchmark, of.language, protocol_family(of.protocol)
