"""The combined records and scores of several runs, with short and distinct names of models and benchmarks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiltmeter.errors import UsageError
from tiltmeter.measures.records import Record, get_base_protocol
from tiltmeter.reports.display_text import format_label, shorten_names
from tiltmeter.runs.manifest import Manifest
from tiltmeter.runs.measurement import find_measure_modules
from tiltmeter.runs.result import Result

# Display names of the model that is shipped with Tiltmeter.
_DISPLAY_NAMES = {
    "embedded": "SmolLM2-135M-Instruct (embedded, Q4_1)",
    "chat:embedded": "SmolLM2-135M-Instruct (embedded, Q4_1, chat)",
}
# These columns have few distinct values, so they are stored as pandas categories to save memory.
_REPEATED = ("model", "benchmark", "part", "language", "protocol", "role")


@dataclass(frozen=True, slots=True)
class CombinedRuns:
    """The combined content of several runs. `runs` are pairs (name of the run, manifest)."""

    records: list[Record]
    scores: pd.DataFrame
    runs: list[tuple[str, Manifest]]
    benchmarks: dict[str, str]  # names in the runs → display names
    modules: dict[str, str]  # the measure module of each benchmark; keys are display names
    answers: pd.DataFrame | None = None  # the replies of chat models
    tokens: pd.DataFrame | None = None  # the log-probabilities of the tokens in sentence pairs


def combine_runs(results: Sequence[tuple[str, Result]]) -> CombinedRuns:
    """Return the combined records and tables of several runs; `results` are pairs (name of the run, result).

    If a model was measured several times on the same benchmark, part and language, the name of the protocol is added to
    the name of the model. If the protocols are not all different, the name of the run is added instead. A UsageError is
    raised if one benchmark was measured by likelihoods in one run and by prompts in another.
    """
    _reject_mixed_runs(results)
    runs = [(name, result.records) for name, result in results]
    names = _build_display_names(runs)
    tables, answers, tokens = [], [], []
    for number, (_, result) in enumerate(results):
        renamed = {
            (model, protocol): names.get_model_name(number, model, protocol)
            for model, protocol in result.scores[["model", "protocol"]].drop_duplicates().itertuples(index=False)
        }
        tables.append(_rename_table(result.scores, renamed, names.benchmarks))
        if result.answers is not None:
            answers.append(_rename_table(result.answers, renamed, names.benchmarks))
        if result.tokens is not None:
            tokens.append(_rename_table(result.tokens, renamed, names.benchmarks))
    return CombinedRuns(
        label_records(runs),
        _join_tables(tables),
        [(name, result.manifest) for name, result in results],
        names.benchmarks,
        {
            names.benchmarks.get(benchmark, benchmark): module
            for _, result in results
            for benchmark, module in find_measure_modules(result.scores, result.manifest).items()
        },
        _join_tables(answers) if answers else None,
        _join_tables(tokens) if tokens else None,
    )


def label_records(runs: Sequence[tuple[str, Sequence[Record]]]) -> list[Record]:
    """Return the records of all runs with display names of models and benchmarks.

    `runs` are pairs (name of the run, records).
    """
    names = _build_display_names(runs)
    return [
        _label_record(
            record, names.get_model_name(number, record.model, record.protocol), names.benchmarks[record.benchmark]
        )
        for number, (_, records) in enumerate(runs)
        for record in records
    ]


@dataclass(frozen=True, slots=True)
class _DisplayNames:
    """The display names of models and benchmarks.

    The keys of `suffixes` are (index of the run, model, protocol); a suffix is added to the name of the model.
    """

    models: Mapping[str, str]
    benchmarks: dict[str, str]
    suffixes: Mapping[tuple[int, str, str], str]

    def get_model_name(self, number: int, model: str, protocol: str) -> str:
        """Return the display name of a model in the run with the index `number`."""
        return self.models.get(model, model) + self.suffixes.get((number, model, get_base_protocol(protocol)), "")


def _build_display_names(runs: Sequence[tuple[str, Sequence[Record]]]) -> _DisplayNames:
    return _DisplayNames(
        shorten_names(r.model for _, records in runs for r in records) | _DISPLAY_NAMES,
        shorten_names(r.benchmark for _, records in runs for r in records),
        _compute_suffixes(runs),
    )


def _reject_mixed_runs(results: Sequence[tuple[str, Result]]) -> None:
    """Raise an error if a benchmark was measured by likelihoods in one run and by prompts in another."""
    prompted: dict[str, dict[bool, str]] = {}
    for name, result in results:
        for benchmark in {record.benchmark for record in result.records}:
            prompted.setdefault(benchmark, {})[result.answers is not None] = name
    for benchmark, runs in prompted.items():
        if len(runs) > 1:
            raise UsageError(
                f"{benchmark} was measured by likelihoods in {runs[False]} and by prompts in {runs[True]}. These "
                "results are not comparable; write a separate report on each run."
            )


def _rename_table(
    table: pd.DataFrame, models: Mapping[tuple[str, str], str], benchmarks: Mapping[str, str]
) -> pd.DataFrame:
    """Return a table of a run with display names in place of the names of models and benchmarks.

    `models` maps (model, protocol) to the display name of the model; `benchmarks` maps benchmarks to display names.
    """
    named = {name: table[name].astype("category").cat for name in _REPEATED if name in table}
    names: dict[str, Callable[[Any], Any]] = {"benchmark": lambda name: benchmarks.get(name, name)}
    renamed = {
        name: _build_categories(column.codes.to_numpy(), [names.get(name, str)(value) for value in column.categories])
        for name, column in named.items()
    }
    # The display name of a model may depend on the protocol, so names are assigned to pairs of model and protocol.
    originals, protocols = list(named["model"].categories), list(named["protocol"].categories)
    model_codes, protocol_codes = (named[name].codes.to_numpy(np.int64) for name in ("model", "protocol"))
    codes, keys = pd.factorize(model_codes * len(protocols) + protocol_codes)
    labels = [models[originals[key // len(protocols)], protocols[key % len(protocols)]] for key in keys.tolist()]
    return table.assign(**renamed | {"model": _build_categories(codes, labels)})


def _build_categories(codes: NDArray[Any], names: Sequence[str]) -> Any:
    """Return a categorical column of display names; `codes` are indexes into `names`."""
    labels = [format_label(str(name)) for name in names]
    distinct = list(dict.fromkeys(labels))
    places: Any = np.array([distinct.index(name) for name in labels], np.int32)[codes]
    return pd.Categorical.from_codes(places, categories=pd.Index(distinct))


def _join_tables(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return one table with the rows of all tables; a single table is returned without a copy."""
    if len(tables) < 2:
        return tables[0] if tables else pd.DataFrame()
    shared = {
        name: list(dict.fromkeys(value for table in tables for value in table[name].cat.categories))
        for name in _REPEATED
        if all(name in table for table in tables)
    }
    recoded = (
        table.assign(**{name: table[name].cat.set_categories(values) for name, values in shared.items()})
        for table in tables
    )
    return pd.concat(recoded, ignore_index=True)


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
    """Return suffixes that make display names of models distinct; keys are (index of the run, model, protocol)."""
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
