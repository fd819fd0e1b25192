"""Plan files: TOML files with the models, benchmarks, languages and protocols of a matrix of runs."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import DataError, UsageError
from tiltmeter.options import ChatOptions, ModelOptions, list_options
from tiltmeter.options.option_values import ABOVE_ZERO, COUNT, COUNT_OR_ZERO, FLAG, NUMBER, TEXT, ValueKind
from tiltmeter.redaction import redact_model_name
from tiltmeter.text_files import expand_home, read_toml

PLAN_COPY = "plan.toml"

_OPTIONS = {option.name: option for option in list_options(ModelOptions) if option.in_plan}
_CHAT_OPTIONS = {option.name: option for option in list_options(ChatOptions)}
_MODEL = {"name": TEXT, "revision": TEXT, "gpus": COUNT_OR_ZERO, "cpus": COUNT, "memory_gb": ABOVE_ZERO}
# Keys that only `tiltmeter board` and `tiltmeter compare` use; if they are changed, no run has to be repeated.
_DESCRIPTIONS = {"series": TEXT, "step": NUMBER, "attributes": ValueKind("a table", lambda _value: True, dict)}
_MODEL_KEYS = {
    **_MODEL,
    **{name: option.kind for name, option in {**_OPTIONS, **_CHAT_OPTIONS}.items()},
    **_DESCRIPTIONS,
}
_TRANSLATION = {"beams": COUNT, "edition": TEXT, "yes": FLAG}
_TRANSLATOR_OPTIONS = {name: option.kind for name, option in _OPTIONS.items() if option.for_translators}
_TRANSLATOR_KEYS = {
    **{key: _MODEL[key] for key in ("name", "gpus", "cpus", "memory_gb")},
    **_TRANSLATOR_OPTIONS,
    **_TRANSLATION,
    **_DESCRIPTIONS,
}
_PLAN_KEYS = ("benchmarks", "languages", "protocols", "limit", "models", "translators")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedModel:
    """A model of a plan: its name with the revision, its options of `tiltmeter run`, and the resources of its job.

    `translation` has the options of a translation system (`beams`, `edition`, `yes`); it is None for a language model.
    `training` says how to train the next-sentence head of the model, if this is part of its job.

    If `gpus` is None, the job gets one GPU if the machine or cluster has GPUs; the job of a model on a server gets no
    GPU.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    chat: dict[str, Any] = field(default_factory=dict)
    translation: dict[str, Any] | None = None
    training: dict[str, Any] | None = None
    gpus: int | None = None
    cpus: int = 1
    memory_gb: float | None = None

    def build_model_options(self, cache: Path) -> ModelOptions:
        """Return the options for opening the model."""
        return ModelOptions(**self.options, cache=cache, keep_heads=True)

    def build_chat_options(self) -> ChatOptions | None:
        """Return the chat options of the model; None if the plan sets no chat option."""
        values = {_CHAT_OPTIONS[key].field: value for key, value in self.chat.items()}
        return ChatOptions(**values) if values else None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Plan:
    """The content of a plan file.

    `languages` applies to benchmarks that are listed without a language. If it is empty, all languages of these
    benchmarks are measured.
    """

    path: Path
    benchmarks: tuple[str, ...]
    languages: tuple[str, ...]
    protocols: tuple[str, ...]
    limit: int | None
    models: tuple[PlannedModel, ...]


def read_plan(path: Path) -> Plan:
    """Read and check a plan file; `make_matrix` checks later whether the benchmarks exist."""
    values = read_toml(expand_home(path))
    _reject_unknown_keys(path, values, _PLAN_KEYS)
    tables, systems = values.get("models", []), values.get("translators", [])
    is_list = isinstance(tables, list) and isinstance(systems, list)
    if not is_list or not (tables or systems) or not all(isinstance(table, dict) for table in [*tables, *systems]):
        raise DataError(f'{path} has no models; add a table [[models]], for example with name = "bert-base-cased".')
    limit = values.get("limit")
    if limit is not None:
        _validate_value(f"{path}: limit", limit, COUNT)
    benchmarks = _parse_texts(path, values, "benchmarks")
    if not benchmarks:
        raise DataError(f'{path} has no benchmarks; add them, for example benchmarks = ["stereoset", "starter"].')
    models = [_parse_model(f"{path}, model {number}", table) for number, table in enumerate(tables, 1)]
    models += [_parse_translator(f"{path}, translator {number}", table) for number, table in enumerate(systems, 1)]
    return Plan(
        Path(path),
        benchmarks,
        _parse_texts(path, values, "languages"),
        _parse_texts(path, values, "protocols") or ("published",),
        limit,
        tuple(models),
    )


def _parse_translator(where: str, table: Mapping[str, Any]) -> PlannedModel:
    _validate_table(where, table, _TRANSLATOR_KEYS, "nllb:facebook/nllb-200-distilled-600M")
    return PlannedModel(
        name=table["name"],
        options={key: table[key] for key in _TRANSLATOR_OPTIONS if key in table},
        translation={key: table[key] for key in _TRANSLATION if key in table},
        **{key: table[key] for key in ("gpus", "cpus", "memory_gb") if key in table},
    )


def _validate_table(where: str, table: Mapping[str, Any], kinds: Mapping[str, ValueKind], example: str) -> None:
    _reject_unknown_keys(where, table, kinds)
    if "name" not in table:
        raise DataError(f'{where} has no name; add one, for example name = "{example}".')
    for key, value in table.items():
        _validate_value(f"{where}: {key}", value, kinds[key])


def _parse_model(where: str, table: Mapping[str, Any]) -> PlannedModel:
    _validate_table(where, table, _MODEL_KEYS, "bert-base-cased")
    for key, option in _OPTIONS.items():
        known = option.choices() if option.choices is not None and key in table else ()
        if known and table[key] not in known:
            raise DataError(f"{where}: unknown {key} {table[key]!r}; choose one of {', '.join(known)}.")
    if not isinstance(table.get("attributes", {}), dict):
        raise DataError(f'{where}: attributes must be a table, for example attributes = {{ family = "bert" }}.')
    name = table["name"]
    if redact_model_name(name) != name:
        raise DataError(
            f"{where}: the server address contains a password or key, which would be copied to all jobs; remove it and "
            "set the environment variable TILTMETER_API_KEY."
        )
    if "revision" in table:
        if "@" in name:
            raise DataError(f"{where}: {name} already has a revision or address after @; remove `revision`.")
        name = f"{name}@{table['revision']}"
    model = PlannedModel(
        name=name,
        options={key: table[key] for key in _OPTIONS if key in table},
        chat={key: table[key] for key in _CHAT_OPTIONS if key in table},
        **{key: table[key] for key in ("gpus", "cpus", "memory_gb") if key in table},
    )
    try:
        model.build_chat_options()
    except UsageError as error:
        raise DataError(f"{where}: {error}") from error
    return model


def _reject_unknown_keys(where: object, table: Mapping[str, Any], known: Iterable[str]) -> None:
    known = list(known)
    for key in table:
        if key not in known:
            raise DataError(
                f"{where}: unknown key {key!r}{suggest_name(key, known)}; allowed keys are {', '.join(known)}."
            )


def _parse_texts(path: Path, values: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return the list of texts that a plan has for a key; raise a DataError if it is not a list of different texts."""
    texts = values.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) and text.strip() for text in texts):
        raise DataError(f'{path}: {key} must be a list of texts, for example {key} = ["a", "b"], but is {texts!r}.')
    for text in texts:
        if texts.count(text) > 1:
            raise DataError(f"{path}: {key} contains {text!r} twice; remove one of them.")
    return tuple(texts)


def _validate_value(where: str, value: object, kind: ValueKind) -> None:
    if not kind.is_valid(value):
        raise DataError(f"{where} must be {kind.words}, but is {value!r}.")


def build_planned_model(values: Mapping[str, Any]) -> PlannedModel:
    """Create a model from the JSON values that `PlannedModel.to_dict` returns."""
    return PlannedModel(**{known.name: values[known.name] for known in fields(PlannedModel) if known.name in values})
