"""What a person asks for in the room New run, and what of it is checked before it is queued."""

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
from tiltmeter.studio.model_names import CHAT, validate_model
from tiltmeter.studio.studio_workspace import StudioWorkspace

_MOST_MODELS = 50
_MOST_BENCHMARKS = 100
_MOST_ITEMS = 1_000_000
_HIGHEST_PRICE = 1e6
_CASES = re.compile(r"/[a-z]")
CHAT_PROTOCOLS = ("forced-choice", "choice-probabilities")
PUBLISHED = "published"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A run to be made: `name` is that of its folder; the other fields are arguments of `evaluate`.

    `price_in` and `price_out` are for a million tokens, `max_requests` is the most that may be sent; all three are for
    chat models.
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
        """As JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "RunRequest":
        """The request with these JSON values."""
        known = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        try:
            return cls(**known | {"models": tuple(values["models"]), "on": tuple(values["on"])})
        except (KeyError, TypeError) as error:
            raise DataError(f"A stored request for a run cannot be read ({error}).") from error

    @property
    def chats(self) -> bool:
        """Whether its models are chat models."""
        return any(model.startswith(CHAT) for model in self.models)


def validate_request(request: RunRequest, workspace: StudioWorkspace) -> RunRequest:
    """The request with names as a run takes them; a UsageError for what cannot be run.

    Nothing is downloaded and no model is loaded.
    """
    if not request.models:
        raise UsageError("Choose at least one model.")
    if not request.on:
        raise UsageError("Choose at least one benchmark.")
    if len(request.models) > _MOST_MODELS or len(request.on) > _MOST_BENCHMARKS:
        raise UsageError(f"A run has at most {_MOST_MODELS} models and {_MOST_BENCHMARKS} benchmarks; make several.")
    models = tuple(validate_model(name, workspace) for name in request.models)
    if len(set(models)) < len(models):
        raise UsageError(f"{max(models, key=models.count)} is chosen twice.")
    if len({model.startswith(CHAT) for model in models}) > 1:
        raise UsageError(
            "What chat models choose and what language models find likely are different quantities; measure them in "
            "two runs."
        )
    if request.limit is not None and not 1 <= request.limit <= _MOST_ITEMS:
        raise UsageError(f"A limit of {request.limit} items cannot be; give at least 1.")
    forms = {spec: find_form(spec, workspace) for spec in request.on}
    _validate_protocol(request.protocol, forms, chats=models[0].startswith(CHAT))
    if request.tokenizer is not None:
        if request.tokenizer.startswith(CHAT) or ":" in request.tokenizer:
            raise UsageError(f"{request.tokenizer!r} is no tokenizer; give a folder in the workspace or a hub id.")
        validate_model(request.tokenizer, workspace)
    prices = [price for price in (request.price_in, request.price_out) if price is not None]
    if len(prices) == 1 or not all(0 <= price < _HIGHEST_PRICE for price in prices):
        raise UsageError("Give both prices for a million tokens, of messages and of answers, or none.")
    if request.max_requests is not None and request.max_requests < 1:
        raise UsageError("The most requests that may be sent are at least 1.")
    workspace.get_new_run(request.name)
    return RunRequest.from_dict(request.to_dict() | {"models": models})


def find_form(text: str, workspace: StudioWorkspace) -> str:
    """The form of the items of a specification, which must name a data set or a JSONL file in the workspace."""
    if ".jsonl" in text:
        name, _, languages = text.partition(":")
        items = read_jsonl(workspace.find_data_file(name))
        wanted = set(filter(None, languages.split(",")))
        if missing := wanted - {item.language for item in items}:
            raise UsageError(f"{name} has no language {min(missing)!r}.")
        if not items:
            raise UsageError(f"{name} has no items.")
        return get_item_form(items[0]).name
    if any(mark in text for mark in ("\\", "~", "..")) or text.count("/") > 1:
        raise UsageError(f"{text!r} is no data set.")
    name = text.partition(":")[0].partition("/")[0]
    found = get_dataset(name)
    spec = parse_spec(text)
    if spec.path is not None:
        raise UsageError(f"{text!r} is the name of a data set and of a file; move the file.")
    found.select(spec.part, spec.languages)
    return found.form


def list_protocols(form: str) -> Mapping[str, str]:
    """The protocols by which items of a form are asked."""
    return get_benchmark(form).protocols


def _validate_protocol(protocol: str, forms: Mapping[str, str], *, chats: bool) -> None:
    if chats:
        if protocol not in (PUBLISHED, *CHAT_PROTOCOLS):
            raise UsageError(
                f"Chat models are not asked by the protocol {protocol!r}; there is {', '.join(CHAT_PROTOCOLS)}."
            )
        return
    for spec, form in forms.items():
        known = list_protocols(form)
        plain = _CASES.sub("", protocol) if form == "association" else protocol
        if plain not in known:
            raise UsageError(f"{protocol!r} is no protocol of {spec}; there is {', '.join(known)}.")
