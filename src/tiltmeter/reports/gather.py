"""Several runs as one: their records and scores, with names that tell them apart and fit on a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from tiltmeter.measures.records import Record, protocol_family
from tiltmeter.reports.clean import label, short_names
from tiltmeter.runs.result import Result

# What a command calls by its place, a reader knows by its name.
_KNOWN_AS = {"embedded": "SmolLM2 (embedded)"}
_LABELS = ("model", "benchmark", "part", "language", "protocol")


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a report is made of. `runs` are the names of the runs with their manifests."""

    records: list[Record]
    scores: pd.DataFrame
    runs: list[tuple[str, Mapping[str, Any]]]
    benchmarks: dict[str, str]  # what the report calls them


def gather(results: Sequence[tuple[str, Result]]) -> Gathered:
    """Put named runs together.

    A model that was measured twice on the same thing keeps its name and gets what differs beside it: the protocol, or
    else the name of the run.
    """
    names = _names(results)
    models = short_names(r.model for _, result in results for r in result.records) | _KNOWN_AS
    benchmarks = short_names(r.benchmark for _, result in results for r in result.records)
    records, tables = [], []
    for number, (_, result) in enumerate(results):
        for record in result.records:
            more = names.get((number, record.model, protocol_family(record.protocol)), "")
            records.append(_labelled(record, models[record.model] + more, benchmarks[record.benchmark]))
        table = result.scores.copy()
        renamed = {
            (model, protocol): models.get(model, model) + names.get((number, model, protocol_family(protocol)), "")
            for model, protocol in set(zip(table["model"], table["protocol"], strict=True))
        }
        table["model"] = [renamed[key] for key in zip(table["model"], table["protocol"], strict=True)]
        table["benchmark"] = table["benchmark"].map(lambda name: benchmarks.get(name, name))
        for column in _LABELS:
            table[column] = table[column].map({value: label(str(value)) for value in table[column].unique()})
        tables.append(table)
    scores = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    return Gathered(records, scores, [(name, result.manifest) for name, result in results], benchmarks)


def _labelled(record: Record, model: str, benchmark: str) -> Record:
    return replace(
        record,
        model=label(model),
        benchmark=benchmark,
        part=label(record.part),
        language=label(record.language),
        group=label(record.group),
        protocol=label(record.protocol, 120),
    )


def _names(results: Sequence[tuple[str, Result]]) -> dict[tuple[int, str, str], str]:
    """What is put behind the names of models, by the number of the run, the model and the protocol."""
    places: dict[tuple[str, ...], set[tuple[int, str]]] = {}
    for number, (_, result) in enumerate(results):
        for r in result.records:
            if r.view == "all":
                key = (r.model, r.benchmark, r.part, r.language)
                places.setdefault(key, set()).add((number, protocol_family(r.protocol)))
    names = {}
    for (model, *_), found in places.items():
        if len(found) == 1:
            continue
        several_protocols = len({protocol for _, protocol in found}) == len(found)
        for number, protocol in found:
            names[number, model, protocol] = f" · {protocol if several_protocols else results[number][0]}"
    return names
