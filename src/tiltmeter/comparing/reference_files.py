"""Reference files: the scores of runs without any text, for comparison with other runs.

A reference file is a Parquet file with one row for each item and role: ids and scores. Its metadata contain, for each
run, the part of the manifest that determines what the run is comparable with, and the records over all items. The file
contains no sentence, word, file path, prompt or machine name. The attributes of items (such as their targets) come from
the run that is compared.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import tiltmeter
from tiltmeter.errors import DataError, UsageError
from tiltmeter.files import write_atomically
from tiltmeter.measures.records import KEY_COLUMNS, from_dicts, to_dicts
from tiltmeter.runs.manifest import DataEntry, Manifest, ModelEntry, build_model_entry
from tiltmeter.runs.manifest_file import parse_manifest
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_validation import (
    read_file_metadata,
    read_table,
    validate_consistency,
    validate_rows,
    validate_scores,
)
from tiltmeter.runs.typed_json import check_type, to_json
from tiltmeter.text_files import parse_json

SUFFIX = ".parquet"
# The largest reference file that is read; a file with the scores of 300 models on StereoSet is smaller.
LARGEST = 200_000_000

_METADATA = b"tiltmeter-references"
_FORMAT = 1
_RUN = "run"
_KEPT = (*KEY_COLUMNS, "item", "role", "score")
# The facts about a model that identify it, apart from its name.
_MODEL_FACTS = ("kind", "type", "architecture", "revision", "weights", "dtype", "base", "parameters")


# A path is a whole name, or a part of the name of a variant (`BASE+ADAPTER`) or of a scheme (`chat:MODEL`).
_PATH = re.compile(r"(?<![^+:])(?:\.{0,2}|~[^/+]*)/[^+]*")
_ADDRESS = re.compile(r"@?https?://[^\s\[]+")


@dataclass(frozen=True, slots=True)
class ReferenceHeader:
    """The description of a reference file: its runs without their scores, and the version that wrote it.

    `runs` maps the names of the runs to results whose table of scores is empty.
    """

    version: str
    runs: Mapping[str, Result]

    @property
    def portions(self) -> frozenset[tuple[str, str]]:
        """The pairs (benchmark, language) of all runs."""
        return frozenset().union(*(run.manifest.portions for run in self.runs.values()))

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models."""
        return tuple(dict.fromkeys(entry.model for run in self.runs.values() for entry in run.manifest.asked))


def strip_texts(result: Result) -> Result:
    """Return a result with only the ids, scores, records and conditions that a comparison needs."""
    _reject_equal_names(entry.model for entry in result.manifest.asked)
    manifest = Manifest(
        request={},
        models=tuple(_strip_model(entry) for entry in result.manifest.models),
        data=tuple(_strip_data(entry) for entry in result.manifest.data),
        asked=tuple(replace(entry, model=_shorten_name(entry.model)) for entry in result.manifest.asked),
        refused=(),
        skipped=(),
        statistics=result.manifest.statistics,
        versions=result.manifest.versions,
        finished=result.manifest.finished,
    )
    records = [record for record in result.records if record.view == "all"]
    return Result(
        scores=result.scores[list(_KEPT)].assign(model=lambda rows: rows["model"].astype(str).map(_shorten_name)),
        records=[replace(record, model=_shorten_name(record.model), label=None) for record in records],
        manifest=manifest,
    )


def write_reference_file(path: Path, runs: Sequence[tuple[str, Result]]) -> None:
    """Write a reference file atomically; texts are removed from the results."""
    stripped = [(name, strip_texts(result)) for name, result in runs]
    header = {
        "format": _FORMAT,
        "version": tiltmeter.__version__,
        "runs": [
            {"name": name, "manifest": to_json(result.manifest), "records": to_dicts(result.records)}
            for name, result in stripped
        ],
    }
    frame = pd.concat([result.scores.assign(**{_RUN: name}) for name, result in stripped], ignore_index=True)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    text = json.dumps(header, allow_nan=False, separators=(",", ":"))
    with write_atomically(path) as file:
        pq.write_table(table.replace_schema_metadata({_METADATA: text.encode()}), file, compression="zstd")


def read_reference_header(path: Path) -> ReferenceHeader:
    """Return the description of a reference file without reading its scores."""
    try:
        if path.is_file() and path.stat().st_size > LARGEST:
            raise DataError(f"it has more than the maximum of {LARGEST // 1_000_000} MB.")
        text = read_file_metadata(path, _METADATA)
        if text is None:
            raise DataError("it is a Parquet file, but Tiltmeter did not write it as a reference file.")
        values = check_type(parse_json(text, "its description"), (dict,), "its description")
        if values.get("format") != _FORMAT:
            raise DataError(f"it has the format {values.get('format')!r}; update Tiltmeter.")
        runs = check_type(values.get("runs"), (list,), "'runs'")
        return ReferenceHeader(str(values.get("version", "")), dict(map(_parse_run, runs)))
    except DataError as error:
        raise _build_error(path, error) from error


def read_reference_file(path: Path, portions: AbstractSet[tuple[str, str]] | None = None) -> list[tuple[str, Result]]:
    """Return the runs of a reference file: pairs (name, result without texts).

    With `portions`, return an empty list if the file has no result for one of these pairs (benchmark, language).
    """
    header = read_reference_header(path)
    if portions is not None and not header.portions & portions:
        return []
    try:
        table = read_table(path)
        if missing := [name for name in (*_KEPT, _RUN) if name not in table.columns]:
            raise DataError(f"it has no column {missing[0]!r}.")
        return [(name, _select_scores(result, table, name)) for name, result in header.runs.items()]
    except DataError as error:
        raise _build_error(path, error) from error


def _select_scores(result: Result, table: pd.DataFrame, run: str) -> Result:
    """Return a result with the scores of its run."""
    # Comparisons do not need the ids of candidates, which would take much space, but tables of scores have them.
    scores = table[table[_RUN] == run].drop(columns=_RUN).assign(candidate=lambda rows: rows["role"])
    # A translation without a determined gender has a missing score.
    validate_scores(scores.dropna(subset=["score"]))
    validate_consistency(result.manifest, scores, result.records)
    return replace(result, scores=scores.reset_index(drop=True))


def _parse_run(value: Any) -> tuple[str, Result]:
    values = check_type(value, (dict,), "an entry of 'runs'")
    name = check_type(values.get("name"), (str,), "'name' of a run")
    records = from_dicts(validate_rows(values.get("records")))
    return name, Result(pd.DataFrame(), records, parse_manifest(values.get("manifest")))


def _strip_model(entry: ModelEntry) -> ModelEntry:
    facts = {name: getattr(entry, name) for name in _MODEL_FACTS}
    if isinstance(facts["base"], str):
        facts["base"] = _shorten_name(facts["base"])
    name = _shorten_name(entry.name)
    return build_model_entry({"name": name, **{name: fact for name, fact in facts.items() if fact is not None}})


def _strip_data(entry: DataEntry) -> DataEntry:
    """Return the entry of a data set; the paths of its files are cut to their names."""
    return replace(entry, files={_shorten_name(name): digest for name, digest in entry.files.items()})


def _reject_equal_names(names: Iterable[str]) -> None:
    """Raise an error if two models of a run have the same name without folders and addresses."""
    found: dict[str, str] = {}
    for name in names:
        other = found.setdefault(_shorten_name(name), name)
        if other != name:
            raise UsageError(
                f"{other} and {name} would both be called {_shorten_name(name)} among reference results, which have no "
                "folders and addresses; measure them in separate runs."
            )


def _shorten_name(name: str) -> str:
    """Return a name without the folders of paths and without the addresses of servers, which identify a machine.

    >>> _shorten_name("/home/ada/models/bert-tiny"), _shorten_name("dbmdz/german-gpt2")
    ('bert-tiny', 'dbmdz/german-gpt2')
    >>> _shorten_name("./gpt2+/home/ada/fair.safetensors"), _shorten_name("chat:m@http://ada:8000/v1[thinking on]")
    ('gpt2+fair.safetensors', 'chat:m[thinking on]')
    """
    return _PATH.sub(lambda found: PurePath(found[0]).name, _ADDRESS.sub("", name))


def _build_error(path: Path, error: DataError) -> DataError:
    return DataError(
        f"{path} cannot be read as a reference file: {error} Copy the complete file again, or write a new one with "
        "`tiltmeter reference add`."
    )
