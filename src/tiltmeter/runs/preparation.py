"""A run before a model is opened: what is asked for, checked, and the items that models are asked about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from tiltmeter.benchmarks import get_benchmark
from tiltmeter.errors import UsageError
from tiltmeter.models.model_opener import AnyModel, get_public_name
from tiltmeter.models.model_protocol import CHAT_TEMPLATE, ChatModel, ModelOptions
from tiltmeter.models.option_scope import reject_unused_options
from tiltmeter.runs.chat_budget import ChatOptions
from tiltmeter.runs.duplicates import reject_same_names, reject_shared_items
from tiltmeter.runs.measurement import read_margins
from tiltmeter.runs.portions import Portion, load_portions

MIXED = (
    "What chat models choose and what language models find likely are different quantities; measure them in two runs."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How the models of a run are asked and measured; `tiltmeter.evaluate` describes each."""

    protocol: str = "published"
    perturb: str | None = None
    limit: int | None = None
    chat: ChatOptions | None = None
    margins: Mapping[str, float] = field(default_factory=dict)
    keep_tokens: bool = False
    every_item: bool = False


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A checked request with its items: `available` are those of the data, `chosen` those that are asked about."""

    request: dict[str, Any]
    settings: RunSettings
    options: ModelOptions
    is_chat: bool
    available: list[Portion]
    chosen: list[Portion]

    @property
    def suffixes(self) -> list[str]:
        """What is added to the names of protocols."""
        added = (self.settings.perturb, CHAT_TEMPLATE if self.options.chat_template else None)
        return [name for name in added if name]


def build_request(
    requested: Sequence[str | AnyModel], specs: Sequence[str], settings: RunSettings, options: ModelOptions
) -> dict[str, Any]:
    """The request as the manifest has it; an error for what cannot be asked. Nothing is opened or downloaded."""
    reject_unused_options(requested, options)
    # The name of a model behind a server may hold a password, which is nobody's business.
    names = [get_public_name(model) for model in requested]
    if not names or not specs:
        raise UsageError("A run needs at least one model and one benchmark.")
    if settings.limit is not None and settings.limit < 1:
        raise UsageError(f"A limit of {settings.limit} items leaves nothing to ask; give at least 1.")
    if options.batch_tokens is not None and options.batch_tokens < 1:
        raise UsageError(f"A batch of {options.batch_tokens} tokens holds nothing; give --batch-tokens at least 1.")
    reject_same_names(names)
    request: dict[str, Any] = {
        "models": names,
        "on": list(specs),
        "protocol": settings.protocol,
        "limit": settings.limit,
        "kind": options.kind,
        "dtype": options.dtype,
    }
    if settings.perturb is not None:
        request["perturb"] = settings.perturb
    if settings.keep_tokens:
        request["keep_tokens"] = True
    if options.plain:
        request["plain"] = True
    if options.tokenizer is not None:
        request["tokenizer"] = options.tokenizer
    if options.quantize is not None:
        request["quantize"] = options.quantize
    if options.chat_template:
        request["chat_template"] = True
    if margins := read_margins(settings.margins):
        request["margins"] = margins
    if settings.chat not in (None, ChatOptions()) and not are_chat_models(requested):
        raise UsageError("The design, sampling and cost of chat models are set for a run without one; name chat:MODEL.")
    chat = settings.chat or ChatOptions()
    # The name of a model object does not identify it, so its fingerprint is part of the request.
    if fingerprints := {m.name: _get_fingerprint(m, chat) for m in requested if not isinstance(m, str)}:
        request["fingerprints"] = fingerprints
    if are_chat_models(requested):
        request |= {"design": "full" if chat.full else "default", "samples": chat.samples}
        request |= {"temperature": chat.temperature, "max_tokens": chat.max_tokens}
        if settings.keep_tokens:
            raise UsageError("Chat models say nothing of single tokens; leave out --keep-tokens.")
    return request


def prepare_run(
    requested: Sequence[str | AnyModel],
    specs: Sequence[str],
    settings: RunSettings,
    options: ModelOptions,
    request: dict[str, Any],
) -> PreparedRun:
    """Load the items of a request that was checked; files that are not here are downloaded."""
    by_spec = [(spec, portion) for spec in specs for portion in load_portions(spec)]
    reject_shared_items(by_spec)
    available = [portion for _, portion in by_spec]
    chosen = [_perturb_items(limit_items(portion, settings.limit), settings.perturb) for portion in available]
    return PreparedRun(request, settings, options, are_chat_models(requested), available, chosen)


def are_chat_models(requested: Sequence[str | AnyModel]) -> bool:
    """Whether the models of a run are chat models; they are not measured together with others."""
    chats = {m.startswith("chat:") if isinstance(m, str) else isinstance(m, ChatModel) for m in requested}
    if len(chats) > 1:
        raise UsageError(MIXED)
    return chats.pop()


def limit_items(portion: Portion, limit: int | None) -> Portion:
    """The portion with at most `limit` items, chosen by a hash of their ids: the same in all languages."""
    if limit is None or limit >= len(portion.items):
        return portion
    kept = set(sorted((item.id for item in portion.items), key=lambda i: sha256(i.encode()).digest())[:limit])
    return portion.with_items([item for item in portion.items if item.id in kept])


def _perturb_items(portion: Portion, name: str | None) -> Portion:
    """The portion with this perturbation applied to every item."""
    if name is None:
        return portion
    perturbations = get_benchmark(portion.form).perturbations
    if name not in perturbations:
        known = f"there is {', '.join(perturbations)}" if perturbations else "there is none for its form of items"
        raise UsageError(f"{portion.name} has no perturbation {name!r}; {known}.")
    return portion.with_items([perturbations[name](item) for item in portion.items])


def _get_fingerprint(model: AnyModel, chat: ChatOptions) -> str:
    if isinstance(model, ChatModel):
        return model.chat_fingerprint(chat.build_sampling(probabilities=False))
    # A next-sentence head that was trained has weights of its own.
    return "+".join(model.fingerprint(kind) for kind in model.kinds)
