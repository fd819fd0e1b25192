"""Several runs as one: their records and scores, with short and distinct names of models and benchmarks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiltmeter.errors import UsageError
from tiltmeter.measures.records import Record, get_base_protocol
from tiltmeter.reports.display_text import format_label, shorten_names
from tiltmeter.runs.result import Result

# The names of models that commands call otherwise.
_KNOWN_AS = {
    "embedded": "SmolLM2-135M-Instruct (embedded, Q4_1)",
    "chat:embedded": "SmolLM2-135M-Instruct (embedded, Q4_1, chat)",
}
# Columns of few different values.
_REPEATED = ("model", "benchmark", "part", "language", "protocol", "role")


@dataclass(frozen=True, slots=True)
class CombinedRuns:
    """The content of a report. `runs` are the names of the runs with their manifests."""

    records: list[Record]
    scores: pd.DataFrame
    runs: list[tuple[str, Mapping[str, Any]]]
    benchmarks: dict[str, str]  # the report's name for each
    answers: pd.DataFrame | None = None  # the replies of chat models
    tokens: pd.DataFrame | None = None  # what models say of each token of sentence pairs


def combine_runs(results: Sequence[tuple[str, Result]]) -> CombinedRuns:
    """Combine named runs.

    A model that was measured twice on the same benchmark, part and language gets the protocol added to its name, or the
    name of the run if the protocols are the same. Likelihoods and what chat models choose are not put together.
    """
    _reject_mixed(results)
    runs = [(name, result.records) for name, result in results]
    names = _build_display_names(runs)
    tables, replied, tokens = [], [], []
    for number, (_, result) in enumerate(results):
        renamed = {
            (model, protocol): names.model(number, model, protocol)
            for model, protocol in result.scores[["model", "protocol"]].drop_duplicates().itertuples(index=False)
        }
        tables.append(_rename_table(result.scores, renamed, names.benchmarks))
        if result.answers is not None:
            replied.append(_rename_table(result.answers, renamed, names.benchmarks))
        if result.tokens is not None:
            tokens.append(_rename_table(result.tokens, renamed, names.benchmarks))
    return CombinedRuns(
        label_records(runs),
        _join_tables(tables),
        [(name, result.manifest) for name, result in results],
        names.benchmarks,
        _join_tables(replied) if replied else None,
        _join_tables(tokens) if tokens else None,
    )


def label_records(runs: Sequence[tuple[str, Sequence[Record]]]) -> list[Record]:
    """The records of named runs, with the names of models and benchmarks that a report shows."""
    names = _build_display_names(runs)
    return [
        _label_record(record, names.model(number, record.model, record.protocol), names.benchmarks[record.benchmark])
        for number, (_, records) in enumerate(runs)
        for record in records
    ]


@dataclass(frozen=True, slots=True)
class _DisplayNames:
    """The names of models and benchmarks; `suffixes` by number of the run, model and protocol."""

    models: Mapping[str, str]
    benchmarks: dict[str, str]
    suffixes: Mapping[tuple[int, str, str], str]

    def model(self, number: int, model: str, protocol: str) -> str:
        """The name of a model in a run."""
        return self.models.get(model, model) + self.suffixes.get((number, model, get_base_protocol(protocol)), "")


def _build_display_names(runs: Sequence[tuple[str, Sequence[Record]]]) -> _DisplayNames:
    return _DisplayNames(
        shorten_names(r.model for _, records in runs for r in records) | _KNOWN_AS,
        shorten_names(r.benchmark for _, records in runs for r in records),
        _compute_suffixes(runs),
    )


def _reject_mixed(results: Sequence[tuple[str, Result]]) -> None:
    """Refuse a benchmark that was measured by likelihoods in one run and by prompts in another."""
    asked: dict[str, dict[bool, str]] = {}
    for name, result in results:
        for benchmark in {record.benchmark for record in result.records}:
            asked.setdefault(benchmark, {})[result.answers is not None] = name
    for benchmark, runs in asked.items():
        if len(runs) > 1:
            raise UsageError(
                f"{benchmark} was measured by likelihoods in {runs[False]} and by prompts in {runs[True]}, which are "
                "different questions; make a report on each."
            )


def _rename_table(
    table: pd.DataFrame, models: Mapping[tuple[str, str], str], benchmarks: Mapping[str, str]
) -> pd.DataFrame:
    """A table of a run with the report's names."""
    named = {name: table[name].astype("category").cat for name in _REPEATED if name in table}
    names: dict[str, Callable[[Any], Any]] = {"benchmark": lambda name: benchmarks.get(name, name)}
    renamed = {
        name: _build_categories(found.codes.to_numpy(), [names.get(name, str)(value) for value in found.categories])
        for name, found in named.items()
    }
    # The name of a model may depend on the protocol.
    known, protocols = list(named["model"].categories), list(named["protocol"].categories)
    of_model, of_protocol = (named[name].codes.to_numpy(np.int64) for name in ("model", "protocol"))
    codes, keys = pd.factorize(of_model * len(protocols) + of_protocol)
    shown = [models[known[key // len(protocols)], protocols[key % len(protocols)]] for key in keys.tolist()]
    return table.assign(**renamed | {"model": _build_categories(codes, shown)})


def _build_categories(codes: NDArray[Any], names: Sequence[str]) -> Any:
    """The names with these codes, as a report shows them; they take little memory, however many rows there are."""
    labels = [format_label(str(name)) for name in names]
    distinct = list(dict.fromkeys(labels))
    places: Any = np.array([distinct.index(name) for name in labels], np.int32)[codes]
    return pd.Categorical.from_codes(places, categories=pd.Index(distinct))


def _join_tables(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The rows of several tables; a single one is not copied."""
    if len(tables) < 2:
        return tables[0] if tables else pd.DataFrame()
    shared = {
        name: list(dict.fromkeys(value for table in tables for value in table[name].cat.categories))
        for name in _REPEATED
        if all(name in table for table in tables)
    }
    same = ({name: table[name].cat.set_categories(values) for name, values in shared.items()} for table in tables)
    return pd.concat([table.assign(**own) for table, own in zip(tables, same, strict=True)], ignore_index=True)


def _label_record(record: Record, model: str, benchmark: str) -> Record:
    return replace(
        record,
        model=format_label(model),
        benchmark=benchmark,
        part=format_label(record.part),
        language=format_label(record.language),
        group=format_label(record.group),
        label=format_label(record.label) if record.label else None,
        protocol=format_label(record.protocol, 120),
    )


def _compute_suffixes(runs: Sequence[tuple[str, Sequence[Record]]]) -> dict[tuple[int, str, str], str]:
    """What is appended to the names of models, by number of the run, model and protocol."""
    measured: dict[tuple[str, ...], set[tuple[int, str]]] = {}
    for number, (_, records) in enumerate(runs):
        for r in records:
            if r.view == "all":
                key = (r.model, r.benchmark, r.part, r.language)
                measured.setdefault(key, set()).add((number, get_base_protocol(r.protocol)))
    suffixes = {}
    for (model, *_), occurrences in measured.items():
        if len(occurrences) == 1:
            continue
        several_protocols = len({protocol for _, protocol in occurrences}) == len(occurrences)
        for number, protocol in occurrences:
            suffixes[number, model, protocol] = f" · {protocol if several_protocols else runs[number][0]}"
    return suffixes
