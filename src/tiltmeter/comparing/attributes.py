"""Attributes of models and languages, by which results can be grouped.

Attributes of models come from a file and from the manifests of runs. The file is not part of a run, so it can be
corrected later. It is the plan of a matrix, or any other TOML file with [[models]] tables like these:

    [[models]]
    name = "EleutherAI/pythia-160m"
    revision = "step1000"                # the table applies to runs of EleutherAI/pythia-160m@step1000
    series = "pythia-160m"               # series and step: the position of the model in a trend
    step = 1000
    attributes = { family = "pythia", instruct = false }
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tiltmeter.datasets.language_facts import get_language_facts
from tiltmeter.errors import DataError
from tiltmeter.runs.manifest import ModelEntry
from tiltmeter.text_files import read_toml

AttributeValue = str | bool | int | float

PLAN = "plan.toml"
# The number of folders above the folder of a run in which a plan is searched. A matrix (runs of several models) has its
# runs in OUT/MODEL/CELL and its plan in OUT.
_LEVELS = 3
_KEYS = ("name", "revision", "series", "step", "attributes")
# Minimum similarity at which an unknown key counts as a misspelling of a known key. Other unknown keys are allowed,
# because plans have more keys; they are checked when a plan is read.
_CLOSE = 0.8


@dataclass(frozen=True, slots=True)
class DescribedModel:
    """A model with its attributes. `series` and `step` are its position in a trend, such as a training."""

    name: str
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    series: str = ""
    step: float | None = None

    def get_attribute_texts(self) -> dict[str, str]:
        """Return the attributes as texts.

        >>> DescribedModel("bert", {"family": "bert", "multilingual": True, "layers": 12}).get_attribute_texts()
        {'family': 'bert', 'multilingual': 'true', 'layers': '12'}
        """
        return {name: format_attribute(value) for name, value in self.attributes.items()}


@dataclass(frozen=True, slots=True)
class ModelAttributes:
    """The attributes of models, read from files.

    `models` maps the name of a model, as it appears in runs, to its attributes. `sources` are the files.
    """

    models: Mapping[str, DescribedModel]
    sources: tuple[Path, ...] = ()

    def describe_model(self, model: str, measured: ModelEntry | None = None) -> DescribedModel:
        """Return a model with its attributes from the files and from its manifest entry (`measured`).

        If both have an attribute, the value in the files is used.
        """
        given = self.models.get(model) or DescribedModel(model)
        return DescribedModel(
            model, {**_get_manifest_attributes(measured), **given.attributes}, series=given.series, step=given.step
        )

    def list_unmeasured_models(self, models: Iterable[str]) -> list[str]:
        """Return the names of models in the files that are not among the measured `models`; they may be misspelt."""
        measured = set(models)
        return [name for name in self.models if name not in measured]


def read_attributes(path: Path) -> ModelAttributes:
    """Read the attributes of models from a plan (plan.toml) or another TOML file with [[models]]."""
    tables = read_toml(path).get("models")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise DataError(f'{path} has no [[models]] table; add one with [[models]] and name = "…".')
    models: dict[str, DescribedModel] = {}
    for number, table in enumerate(tables, 1):
        model = _parse_model(f"{path}, model {number}", table)
        if models.setdefault(model.name, model) != model:
            raise DataError(
                f"{path} describes {model.name} twice, with different attributes, series or steps; delete one table."
            )
    return ModelAttributes(models, (path,))


def find_run_attributes(folders: Iterable[Path], given: Path | None = None) -> ModelAttributes:
    """Return the attributes of models from the file `given`, or else from the plans in or above the folders of runs."""
    if given is not None:
        return read_attributes(given)
    known: dict[Path, bool] = {}
    plans = list(dict.fromkeys(plan for folder in folders if (plan := _find_plan(folder, known)) is not None))
    models: dict[str, DescribedModel] = {}
    named_in: dict[str, Path] = {}
    for path in plans:
        for name, model in read_attributes(path).models.items():
            if models.setdefault(name, model) != model:
                raise DataError(
                    f"{named_in[name]} and {path} describe {name} with different attributes, series or steps; make "
                    "them equal, or select one of the files with --attributes."
                )
            named_in.setdefault(name, path)
    return ModelAttributes(models, tuple(plans))


def get_language_attributes(code: str) -> dict[str, str]:
    """Return the attributes of a language as a mapping from attribute to value; `language` is its name.

    >>> get_language_attributes("de")["script"], get_language_attributes("xx")
    ('Latin', {'language': 'xx'})
    """
    known = get_language_facts(code)
    return {"language": known.name, **known.attributes()}


def format_attribute(value: AttributeValue) -> str:
    """Return the value of an attribute as a text, in the notation of TOML.

    >>> format_attribute(False), format_attribute(7_000_000_000), format_attribute(0.5)
    ('false', '7000000000', '0.5')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def _find_plan(folder: Path, known: dict[Path, bool]) -> Path | None:
    """Return the nearest plan in the folder of a run or above it; `known` caches for each file whether it is a plan."""
    folder = folder.resolve()
    for parent in (folder, *folder.parents[:_LEVELS]):
        path = parent / PLAN
        if path not in known:
            known[path] = path.is_file() and "models" in read_toml(path)
        if known[path]:
            return path
    return None


def _parse_model(where: str, table: Mapping[str, Any]) -> DescribedModel:
    for key in table:
        near = get_close_matches(key, _KEYS, n=1, cutoff=_CLOSE)
        if near and key not in _KEYS:
            raise DataError(f"{where}: the key {key!r} is not known (did you mean {near[0]}?).")
    name, revision, series = (_parse_text(where, table, key) for key in ("name", "revision", "series"))
    if not name:
        raise DataError(f'{where} has no name; add name = "…" with the name of the model in runs.')
    step = table.get("step")
    if step is not None and (isinstance(step, bool) or not isinstance(step, int | float) or not math.isfinite(step)):
        raise DataError(f"{where}: step is {step!r}; it must be a number.")
    if bool(series) != (step is not None):
        has, lacks = ("series", "step") if series else ("step", "series")
        raise DataError(f"{where} has a {has}, but no {lacks}; a trend needs both.")
    if revision and "@" in name:
        raise DataError(f"{where} has a revision in its name and a key revision; delete one of them.")
    named = f"{name}@{revision}" if revision else name
    return DescribedModel(
        named, _validate_attributes(where, table.get("attributes", {})), series, None if step is None else step
    )


def _parse_text(where: str, table: Mapping[str, Any], key: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise DataError(f"{where}: {key} is {value!r}; it must be a text in quotation marks.")
    return value


def _validate_attributes(where: str, attributes: Any) -> dict[str, AttributeValue]:
    if not isinstance(attributes, dict):
        raise DataError(f'{where}: attributes is {attributes!r}; it must be a table such as {{ family = "bert" }}.')
    for name, value in attributes.items():
        if not isinstance(value, str | bool | int | float) or (isinstance(value, float) and not math.isfinite(value)):
            raise DataError(f"{where}: the attribute {name} is {value!r}; it must be a text, a number, true or false.")
    return attributes


def _get_manifest_attributes(entry: ModelEntry | None) -> dict[str, AttributeValue]:
    """Return the attributes of a model that its manifest entry contains."""
    if entry is None:
        return {}
    attributes = {
        "kind": entry.kind,
        "model type": entry.type,
        "architecture": entry.architecture,
        "parameters": entry.parameters,
        "layers": entry.layers,
        "dtype": entry.dtype,
    }
    return {name: value for name, value in attributes.items() if value is not None}
