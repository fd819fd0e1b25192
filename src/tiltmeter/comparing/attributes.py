"""Attributes of models and languages, by which results are grouped: given in a file, and measured.

Attributes are not part of a run, so that one can be corrected without another run. They are in the plan of a matrix, or
in any TOML file with the same tables:

    [[models]]
    name = "EleutherAI/pythia-160m"
    revision = "step1000"                # if the runs name one: EleutherAI/pythia-160m@step1000
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
from tiltmeter.text_files import read_toml

AttributeValue = str | bool | int | float

PLAN = "plan.toml"
# How many folders above a run's its plan may be: a run of a matrix is in OUT/MODEL/CELL, its plan in OUT.
_LEVELS = 3
_KEYS = ("name", "revision", "series", "step", "attributes")
# Other keys are those of a plan, and checked there; a key as close as this to one of ours is a misspelling.
_CLOSE = 0.8
# What a manifest says of a model, and the name of the attribute.
_MEASURED = {
    "kind": "kind",
    "type": "model type",
    "architecture": "architecture",
    "parameters": "parameters",
    "layers": "layers",
    "dtype": "dtype",
}


@dataclass(frozen=True, slots=True)
class DescribedModel:
    """A model with its attributes. `series` and `step` place it on a trend; without a series there is no step."""

    name: str
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    series: str = ""
    step: float | None = None

    def texts(self) -> dict[str, str]:
        """The attributes as texts.

        >>> DescribedModel("bert", {"family": "bert", "multilingual": True, "layers": 12}).texts()
        {'family': 'bert', 'multilingual': 'true', 'layers': '12'}
        """
        return {name: format_attribute(value) for name, value in self.attributes.items()}


@dataclass(frozen=True, slots=True)
class ModelAttributes:
    """The models that files describe, by the name that runs give them; `sources` are the files."""

    models: Mapping[str, DescribedModel]
    sources: tuple[Path, ...] = ()

    def of(self, model: str, measured: Mapping[str, Any] | None = None) -> DescribedModel:
        """A model with the attributes given for it and those that its entry in a manifest has; given ones win."""
        given = self.models.get(model) or DescribedModel(model)
        return DescribedModel(
            model,
            {**_get_manifest_attributes(measured or {}), **given.attributes},
            series=given.series,
            step=given.step,
        )

    def list_unmeasured(self, models: Iterable[str]) -> list[str]:
        """The described models that are not among these, as a misspelt name is."""
        measured = set(models)
        return [name for name in self.models if name not in measured]


def read_attributes(path: Path) -> ModelAttributes:
    """The models that a plan, or another TOML file with [[models]], describes; a DataError if it has none."""
    tables = read_toml(path).get("models")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise DataError(f'{path} has no [[models]] table; begin one with [[models]] and name = "…".')
    models: dict[str, DescribedModel] = {}
    for number, table in enumerate(tables, 1):
        model = _parse_model(f"{path}, model {number}", table)
        if models.setdefault(model.name, model) != model:
            raise DataError(
                f"{path} describes {model.name} twice, with different attributes, series or steps; give it the same."
            )
    return ModelAttributes(models, (path,))


def find_run_attributes(folders: Iterable[Path], given: Path | None = None) -> ModelAttributes:
    """The attributes of the models of runs: from a file that is given, or from the plans beside or above the runs."""
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
    """The attributes of a language that are known, with its name.

    >>> get_language_attributes("de")["script"], get_language_attributes("tlh")
    ('Latin', {'language': 'tlh'})
    """
    known = get_language_facts(code)
    return {"language": known.name, **known.attributes()}


def format_attribute(value: AttributeValue) -> str:
    """The value of an attribute as a text, as TOML writes it.

    >>> format_attribute(False), format_attribute(7_000_000_000), format_attribute(0.5)
    ('false', '7000000000', '0.5')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def _find_plan(folder: Path, known: dict[Path, bool]) -> Path | None:
    """The nearest plan in a run's folder or above it; `known` says of files of that name whether they are plans."""
    folder = folder.resolve()
    for place in (folder, *folder.parents[:_LEVELS]):
        path = place / PLAN
        if path not in known:
            known[path] = path.is_file() and "models" in read_toml(path)
        if known[path]:
            return path
    return None


def _parse_model(where: str, table: Mapping[str, Any]) -> DescribedModel:
    for key in table:
        near = get_close_matches(key, _KEYS, n=1, cutoff=_CLOSE)
        if near and key not in _KEYS:
            raise DataError(f"{where}: {key!r} is not known (did you mean {near[0]}?).")
    name, revision, series = (_parse_text(where, table, key) for key in ("name", "revision", "series"))
    if not name:
        raise DataError(f'{where} has no name; add name = "…", as the runs name the model.')
    step = table.get("step")
    if step is not None and (isinstance(step, bool) or not isinstance(step, int | float) or not math.isfinite(step)):
        raise DataError(f"{where}: step is {step!r}; it should be a number.")
    if bool(series) != (step is not None):
        has, lacks = ("series", "step") if series else ("step", "series")
        raise DataError(f"{where} has a {has} and no {lacks}; a trend needs both.")
    if revision and "@" in name:
        raise DataError(f"{where} has a revision in its name and another; leave one of them out.")
    named = f"{name}@{revision}" if revision else name
    return DescribedModel(
        named, _validate_attributes(where, table.get("attributes", {})), series, None if step is None else step
    )


def _parse_text(where: str, table: Mapping[str, Any], key: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise DataError(f"{where}: {key} is {value!r}; it should be a text in quotation marks.")
    return value


def _validate_attributes(where: str, attributes: Any) -> dict[str, AttributeValue]:
    if not isinstance(attributes, dict):
        raise DataError(f'{where}: attributes is {attributes!r}; it should be a table such as {{ family = "bert" }}.')
    for name, value in attributes.items():
        if not isinstance(value, str | bool | int | float) or (isinstance(value, float) and not math.isfinite(value)):
            raise DataError(
                f"{where}: the attribute {name} is {value!r}; it should be a text, a number, true or false."
            )
    return attributes


def _get_manifest_attributes(entry: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """What a manifest's entry of a model says of it."""
    found = {name: entry.get(key) for key, name in _MEASURED.items()}
    return {name: value for name, value in found.items() if isinstance(value, str | int | float)}
