"""Plans: the TOML files that name the models, benchmarks, languages and protocols of a matrix of runs."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import DataError, UsageError
from tiltmeter.models.model_protocol import DTYPES, ModelOptions
from tiltmeter.questions import KINDS
from tiltmeter.redaction import redact_model_name
from tiltmeter.runs.chat_budget import ChatOptions
from tiltmeter.text_files import expand_home, read_toml

PLAN_COPY = "plan.toml"

_TEXT, _COUNT, _NUMBER, _ABOVE, _FLAG, _SIZES, _ANY = (
    "a text",
    "a whole number from 1",
    "a number",
    "a number above 0",
    "true or false",
    "sizes",
    "",
)
# Keys of a model that are options of `tiltmeter run`, with what their values are; those of chat models apart.
_OPTIONS = {
    **dict.fromkeys(("kind", "device", "dtype", "tokenizer", "quantize"), _TEXT),
    **dict.fromkeys(("batch_tokens", "concurrency", "per_minute"), _COUNT),
    **dict.fromkeys(("trust_remote_code", "plain", "split", "chat_template"), _FLAG),
    "timeout": _ABOVE,
    "max_memory": _SIZES,
}
_CHAT_OPTIONS = {
    "full_design": _FLAG,
    **dict.fromkeys(("samples", "max_tokens", "max_requests"), _COUNT),
    **dict.fromkeys(("temperature", "max_cost", "price_in", "price_out"), _NUMBER),
}
_MODEL = {"name": _TEXT, "revision": _TEXT, "gpus": "a whole number from 0", "cpus": _COUNT, "memory_gb": _ABOVE}
# Read by `tiltmeter board` and `tiltmeter compare`; a change of these needs no new run.
_GROUPS = {"series": _TEXT, "step": _NUMBER, "attributes": _ANY}
_MODEL_KEYS = {**_MODEL, **_OPTIONS, **_CHAT_OPTIONS, **_GROUPS}
_PLAN_KEYS = ("benchmarks", "languages", "protocols", "limit", "models")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedModel:
    """A model of a plan: its name with the revision, options as `tiltmeter run` takes them, and what a job of it needs.

    `gpus` is None where the plan does not say: one if the machine has any, and none for a model behind a server.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    chat: dict[str, Any] = field(default_factory=dict)
    gpus: int | None = None
    cpus: int = 1
    memory_gb: float | None = None

    def build_model_options(self, cache: Path) -> ModelOptions:
        """The options with which it is opened."""
        return ModelOptions(**self.options, cache=cache, keep_heads=True)

    def build_chat_options(self) -> ChatOptions | None:
        """How it is asked if it is a chat model; None if the plan sets nothing of that."""
        values = {("full" if key == "full_design" else key): value for key, value in self.chat.items()}
        return ChatOptions(**values) if values else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan as its file says; `languages` are for benchmarks that name none, and empty for all of a benchmark's."""

    path: Path
    benchmarks: tuple[str, ...]
    languages: tuple[str, ...]
    protocols: tuple[str, ...]
    limit: int | None
    models: tuple[PlannedModel, ...]


def read_plan(path: Path) -> Plan:
    """Read and check a plan; whether its benchmarks exist is checked by `plan_cells`. Nothing is downloaded."""
    values = read_toml(expand_home(path))
    _reject_unknown(path, values, _PLAN_KEYS)
    tables = values.get("models", [])
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise DataError(f'{path} names no model; add a table [[models]] with name = "bert-base-cased".')
    limit = values.get("limit")
    if limit is not None:
        _validate(f"{path}: limit", limit, _COUNT)
    benchmarks = _parse_texts(path, values, "benchmarks")
    if not benchmarks:
        raise DataError(f'{path} names no benchmark; add benchmarks = ["stereoset", "starter"].')
    models = tuple(_parse_model(f"{path}, model {number}", table) for number, table in enumerate(tables, 1))
    return Plan(
        Path(path),
        benchmarks,
        _parse_texts(path, values, "languages"),
        _parse_texts(path, values, "protocols") or ("published",),
        limit,
        models,
    )


def _parse_model(where: str, table: Mapping[str, Any]) -> PlannedModel:
    _reject_unknown(where, table, _MODEL_KEYS)
    if "name" not in table:
        raise DataError(f'{where} has no name; add name = "bert-base-cased".')
    for key, value in table.items():
        _validate(f"{where}: {key}", value, _MODEL_KEYS[key])
    for key, known in (("kind", KINDS), ("dtype", DTYPES)):
        if table.get(key) is not None and table[key] not in known:
            raise DataError(f"{where}: {key} {table[key]!r} is not known; choose {', '.join(known)}.")
    if not isinstance(table.get("attributes", {}), dict):
        raise DataError(f'{where}: attributes should be a table, as in attributes = {{ family = "bert" }}.')
    name = table["name"]
    if redact_model_name(name) != name:
        raise DataError(
            f"{where}: the address of its server holds a password or key, which would be copied to all jobs; take it "
            "out, and set TILTMETER_API_KEY."
        )
    if "revision" in table:
        if "@" in name:
            raise DataError(f"{where}: {name} has a revision or address after @ already; leave out `revision`.")
        name = f"{name}@{table['revision']}"
    given = {key: table[key] for key in _OPTIONS if key in table}
    chat = {key: table[key] for key in _CHAT_OPTIONS if key in table}
    model = PlannedModel(
        name=name,
        options=given,
        chat=chat,
        **{key: table[key] for key in ("gpus", "cpus", "memory_gb") if key in table},
    )
    try:
        model.build_chat_options()
    except UsageError as error:
        raise DataError(f"{where}: {error}") from error
    return model


def _reject_unknown(where: object, table: Mapping[str, Any], known: Iterable[str]) -> None:
    known = list(known)
    for key in table:
        if key not in known:
            raise DataError(f"{where}: {key!r} is not known{suggest_name(key, known)}; there is {', '.join(known)}.")


def _parse_texts(path: Path, values: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """A list of texts, each once."""
    found = values.get(key, [])
    if not isinstance(found, list) or not all(isinstance(text, str) and text.strip() for text in found):
        raise DataError(f'{path}: {key} should be a list of texts, as in {key} = ["a", "b"], and is {found!r}.')
    for text in found:
        if found.count(text) > 1:
            raise DataError(f"{path}: {key} names {text!r} twice; leave one of them out.")
    return tuple(found)


def _validate(where: str, value: object, wanted: str) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    whole = isinstance(value, int) and not isinstance(value, bool)
    fine = {
        _TEXT: isinstance(value, str) and bool(value.strip()) and value.isprintable(),
        _COUNT: whole and value >= 1,  # type: ignore[operator]
        "a whole number from 0": whole and value >= 0,  # type: ignore[operator]
        _NUMBER: number,
        _ABOVE: number and value > 0,  # type: ignore[operator]
        _FLAG: isinstance(value, bool),
        _SIZES: isinstance(value, dict) and all(isinstance(size, str) for size in value.values()),
        _ANY: True,
    }[wanted]
    if not fine:
        told = 'a table of sizes, as in { "0" = "10GiB", cpu = "4GiB" }' if wanted == _SIZES else wanted
        raise DataError(f"{where} should be {told}, and is {value!r}.")


def build_planned_model(values: Mapping[str, Any]) -> PlannedModel:
    """The model with these JSON values, as `PlannedModel.to_dict` gives them."""
    return PlannedModel(**{known.name: values[known.name] for known in fields(PlannedModel) if known.name in values})
