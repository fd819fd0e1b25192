"""Several runs as one: their records and scores, with names that tell them apart and fit on a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from tiltmeter.measures.records import Record
from tiltmeter.reports.clean import label
from tiltmeter.runs.result import Result

_LABELS = ("model", "benchmark", "part", "language", "protocol")


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a report is made of. `runs` are the names of the runs with their manifests."""

    records: list[Record]
    scores: pd.DataFrame
    runs: list[tuple[str, Mapping[str, Any]]]


def gather(results: Sequence[tuple[str, Result]]) -> Gathered:
    """Put named runs together.

    A model that was measured twice on the same thing keeps its name and gets what differs beside it: the protocol, or
    else the name of the run.
    """
    names = _names(results)
    records, tables = [], []
    for number, (_, result) in enumerate(results):
        for record in result.records:
            model = names.get((number, record.model, _family(record.protocol)), record.model)
            records.append(_labelled(record, model))
        table = result.scores.copy()
        renamed = {
            (model, protocol): names.get((number, model, _family(protocol)), model)
            for model, protocol in set(zip(table["model"], table["protocol"], strict=True))
        }
        table["model"] = [renamed[key] for key in zip(table["model"], table["protocol"], strict=True)]
        for column in _LABELS:
            table[column] = table[column].map({value: label(str(value)) for value in table[column].unique()})
        tables.append(table)
    scores = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    return Gathered(records, scores, [(name, result.manifest) for name, result in results])


def _labelled(record: Record, model: str) -> Record:
    return replace(
        record,
        model=label(model),
        benchmark=label(record.benchmark),
        part=label(record.part),
        language=label(record.language),
        group=label(record.group),
        protocol=label(record.protocol, 120),
    )


def _family(protocol: str) -> str:
    """The protocol without the case of a part; of two parts pooled, that of the first."""
    return protocol.split(" + ")[0].partition("/")[0]


def _names(results: Sequence[tuple[str, Result]]) -> dict[tuple[int, str, str], str]:
    """New names for the models of runs, by the number of the run, the model and the protocol."""
    places: dict[tuple[str, ...], set[tuple[int, str]]] = {}
    for number, (_, result) in enumerate(results):
        for r in result.records:
            if r.view == "all":
                key = (r.model, r.benchmark, r.part, r.language)
                places.setdefault(key, set()).add((number, _family(r.protocol)))
    names = {}
    for (model, *_), found in places.items():
        if len(found) == 1:
            continue
        several_protocols = len({protocol for _, protocol in found}) == len(found)
        for number, protocol in found:
            names[number, model, protocol] = f"{model} · {protocol if several_protocols else results[number][0]}"
    return names
