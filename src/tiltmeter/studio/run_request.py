"""Requests for runs from the page "New run", and the checks of a request before it is queued."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from tiltmeter.benchmarks import get_benchmark
from tiltmeter.datasets.dataset_loader import get_dataset
from tiltmeter.datasets.dataset_spec import parse_spec
from tiltmeter.datasets.readers.jsonl import read_jsonl
from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms import get_item_form
from tiltmeter.models.model_opener import is_chat_model
from tiltmeter.options import ChatOptions, ModelOptions, RunSettings, build_options
from tiltmeter.studio.model_names import validate_model
from tiltmeter.studio.studio_workspace import StudioWorkspace

_MAX_MODELS = 50
_MAX_BENCHMARKS = 100
_MAX_ITEMS = 1_000_000
_MAX_PRICE = 1e6
# The suffix that selects one variant of a protocol, as in `published/d`.
_CASES = re.compile(r"/[a-z]")
CHAT_PROTOCOLS = ("forced-choice", "choice-probabilities")
PUBLISHED = "published"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A request for a run. `name` is the name of the folder of the run; `on` are the benchmarks.

    The fields after `on` are the options that the studio offers for a run.
    """

    name: str
    models: tuple[str, ...]
    on: tuple[str, ...]
    protocol: str = PUBLISHED
    limit: int | None = None
    tokenizer: str | None = None
    price_in: float | None = None
    price_out: float | None = None
    max_requests: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "RunRequest":
        """Return the request with these JSON values; raise a DataError if a value is missing or wrong."""
        known = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        try:
            return cls(**known | {"models": tuple(values["models"]), "on": tuple(values["on"])})
        except (KeyError, TypeError) as error:
            raise DataError(f"A stored request for a run cannot be read ({error}).") from error

    def build_settings(self) -> RunSettings:
        """Return the settings of the run."""
        chat = build_options(ChatOptions, self.to_dict()) if self.is_for_chat_models else None
        return build_options(RunSettings, self.to_dict(), chat=chat)

    def build_model_options(self) -> ModelOptions:
        """Return the options for loading the models."""
        return build_options(ModelOptions, self.to_dict())

    @property
    def is_for_chat_models(self) -> bool:
        """Return whether the run measures chat models; a valid request does not mix chat models with other models."""
        return any(map(is_chat_model, self.models))


def validate_request(request: RunRequest, workspace: StudioWorkspace) -> RunRequest:
    """Return the request with normalised model names; raise a UsageError if the request is not valid.

    Nothing is downloaded and no model is loaded.
    """
    if not request.models:
        raise UsageError("Choose at least one model.")
    if not request.on:
        raise UsageError("Choose at least one benchmark.")
    if len(request.models) > _MAX_MODELS or len(request.on) > _MAX_BENCHMARKS:
        raise UsageError(
            f"A run can have at most {_MAX_MODELS} models and {_MAX_BENCHMARKS} benchmarks; start several runs."
        )
    models = tuple(validate_model(name, workspace) for name in request.models)
    if len(set(models)) < len(models):
        raise UsageError(f"The model {max(models, key=models.count)} is chosen twice; remove it once.")
    if len(set(map(is_chat_model, models))) > 1:
        raise UsageError(
            "Chat models and language models are measured differently and cannot be in one run; start two runs."
        )
    if request.limit is not None and not 1 <= request.limit <= _MAX_ITEMS:
        raise UsageError(f"The maximum number of items is {request.limit}; choose a number from 1 to {_MAX_ITEMS:,}.")
    forms = {spec: find_form(spec, workspace) for spec in request.on}
    _validate_protocol(request.protocol, forms, chats=is_chat_model(models[0]))
    if request.tokenizer is not None:
        if ":" in request.tokenizer:
            raise UsageError(f"{request.tokenizer!r} is not a tokenizer; give a folder in the workspace or a hub id.")
        validate_model(request.tokenizer, workspace)
    prices = [price for price in (request.price_in, request.price_out) if price is not None]
    if len(prices) == 1 or not all(0 <= price < _MAX_PRICE for price in prices):
        raise UsageError(
            "Give both prices per million tokens (of messages and of answers) as numbers below 1,000,000, or leave "
            "both empty."
        )
    if request.max_requests is not None and request.max_requests < 1:
        raise UsageError("The maximum number of requests must be at least 1.")
    workspace.get_new_run(request.name)
    return RunRequest.from_dict(request.to_dict() | {"models": models})


def find_form(text: str, workspace: StudioWorkspace) -> str:
    """Return the name of the form of the items that a specification selects.

    The specification `text` names a data set, or a JSONL file in the workspace.
    """
    if ".jsonl" in text:
        name, _, languages = text.partition(":")
        items = read_jsonl(workspace.find_data_file(name))
        wanted = set(filter(None, languages.split(",")))
        if missing := wanted - {item.language for item in items}:
            raise UsageError(f"{name} has no items in the language {min(missing)!r}.")
        if not items:
            raise UsageError(f"{name} has no items.")
        return get_item_form(items[0]).name
    if any(mark in text for mark in ("\\", "~", "..")) or text.count("/") > 1:
        raise UsageError(f"{text!r} is not a data set; choose a data set from the page “Data”.")
    name = text.partition(":")[0].partition("/")[0]
    dataset = get_dataset(name)
    spec = parse_spec(text)
    if spec.path is not None:
        raise UsageError(f"{text!r} is the name of a data set and of a file; rename the file.")
    dataset.select(spec.part, spec.languages)
    return dataset.form


def _validate_protocol(protocol: str, forms: Mapping[str, str], *, chats: bool) -> None:
    if chats:
        if protocol not in (PUBLISHED, *CHAT_PROTOCOLS):
            raise UsageError(
                f"Chat models have no protocol {protocol!r}; choose one of {', '.join((PUBLISHED, *CHAT_PROTOCOLS))}."
            )
        return
    for spec, form in forms.items():
        known = get_benchmark(form).protocols
        plain = _CASES.sub("", protocol) if form == "association" else protocol
        if plain not in known:
            raise UsageError(f"{spec} has no protocol {protocol!r}; choose one of {', '.join(known)}.")
