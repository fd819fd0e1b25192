"""Attributes of models and languages for grouping results: from a file, and from the manifests of runs.

Attributes are not part of a run, so that they can be corrected later. They are in the plan of a matrix, or in any TOML
file with the same tables:

    [[models]]
    name = "EleutherAI/pythia-160m"
    revision = "step1000"                # for runs of EleutherAI/pythia-160m@step1000
    series = "pythia-160m"               # with step: a point of a trend
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
# The maximum number of folders between a plan and a run: a matrix has its runs in OUT/MODEL/CELL and its plan in OUT.
_LEVELS = 3
_KEYS = ("name", "revision", "series", "step", "attributes")
# Other keys belong to plans, which check them; a key with this similarity to one of ours is a misspelling.
_CLOSE = 0.8


@dataclass(frozen=True, slots=True)
class DescribedModel:
    """A model with its attributes. `series` and `step` are its position in a trend; both or neither are given."""

    name: str
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    series: str = ""
    step: float | None = None

    def texts(self) -> dict[str, str]:
        """Return the attributes as texts.

        >>> DescribedModel("bert", {"family": "bert", "multilingual": True, "layers": 12}).texts()
        {'family': 'bert', 'multilingual': 'true', 'layers': '12'}
        """
        return {name: format_attribute(value) for name, value in self.attributes.items()}


@dataclass(frozen=True, slots=True)
class ModelAttributes:
    """The models described in files, by their names in runs; `sources` are the files."""

    models: Mapping[str, DescribedModel]
    sources: tuple[Path, ...] = ()

    def of(self, model: str, measured: ModelEntry | None = None) -> DescribedModel:
        """Return a model with its given attributes and those of its manifest entry; given ones have priority."""
        given = self.models.get(model) or DescribedModel(model)
        return DescribedModel(
            model, {**_get_manifest_attributes(measured), **given.attributes}, series=given.series, step=given.step
        )

    def list_unmeasured(self, models: Iterable[str]) -> list[str]:
        """Return the described models that are not among the measured ones; their names may be misspelt."""
        measured = set(models)
        return [name for name in self.models if name not in measured]


def read_attributes(path: Path) -> ModelAttributes:
    """Read the models of a plan, or of another TOML file with [[models]]."""
    tables = read_toml(path).get("models")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise DataError(f'{path} has no [[models]] table; add one with [[models]] and name = "…".')
    models: dict[str, DescribedModel] = {}
    for number, table in enumerate(tables, 1):
        model = _parse_model(f"{path}, model {number}", table)
        if models.setdefault(model.name, model) != model:
            raise DataError(
                f"{path} describes {model.name} twice, with different attributes, series or steps; delete one."
            )
    return ModelAttributes(models, (path,))


def find_run_attributes(folders: Iterable[Path], given: Path | None = None) -> ModelAttributes:
    """Return the attributes of models: from a given file, or from the plans in or above the folders of runs."""
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
                    "them equal, or name one of them with --attributes."
                )
            named_in.setdefault(name, path)
    return ModelAttributes(models, tuple(plans))


def get_language_attributes(code: str) -> dict[str, str]:
    """Return the name and the known attributes of a language.

    >>> get_language_attributes("de")["script"], get_language_attributes("tlh")
    ('Latin', {'language': 'tlh'})
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
    """Return the nearest plan in the folder of a run or above it; `known` caches whether a file is a plan."""
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
    """Return the attributes of a model in its manifest entry."""
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
