"""Preparation of a run before a model is opened: check the request and load the items."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from tiltmeter.benchmarks import get_benchmark
from tiltmeter.errors import UsageError
from tiltmeter.models.model_opener import AnyModel, get_public_name, is_chat_model
from tiltmeter.models.model_protocol import CHAT_TEMPLATE, ChatModel
from tiltmeter.models.option_scope import reject_unused_options
from tiltmeter.options import ChatOptions, ModelOptions, RunSettings, list_options
from tiltmeter.options.chat_options import SHORT_REPLY
from tiltmeter.runs.duplicates import reject_same_names, reject_shared_items
from tiltmeter.runs.fixed_factors import read_fixed_factors
from tiltmeter.runs.measurement import read_families, read_margins
from tiltmeter.runs.portions import Portion, load_portions

MIXED = (
    "Choices of chat models and likelihoods of language models are different quantities; measure them in separate runs."
)


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A checked request with its items: `available` are all items of the data sets, `chosen` the items to ask about."""

    request: dict[str, Any]
    settings: RunSettings
    options: ModelOptions
    is_chat: bool
    available: list[Portion]
    chosen: list[Portion]

    @property
    def suffixes(self) -> list[str]:
        """The suffixes of protocol names: the perturbation, and whether the chat template is used."""
        added = (self.settings.perturb, CHAT_TEMPLATE if self.options.chat_template else None)
        return [name for name in added if name]


def build_request(
    requested: Sequence[str | AnyModel], specs: Sequence[str], settings: RunSettings, options: ModelOptions
) -> dict[str, Any]:
    """Build the manifest's entry `request`; raise an error if the request is invalid. No model or data is loaded."""
    reject_unused_options(requested, options)
    # The name of a model on a server may contain a password, which must not be stored.
    names = [get_public_name(model) for model in requested]
    if not names or not specs:
        raise UsageError("A run needs at least one model and one benchmark.")
    if settings.limit is not None and settings.limit < 1:
        raise UsageError(f"The limit is {settings.limit} items; --limit must be at least 1.")
    if options.batch_tokens is not None and options.batch_tokens < 1:
        raise UsageError(f"The batch size is {options.batch_tokens} tokens; --batch-tokens must be at least 1.")
    reject_same_names(names)
    read_families(settings.family)
    request: dict[str, Any] = {"models": names, "on": list(specs)}
    request |= list_requested_values(settings) | list_requested_values(options)
    if margins := read_margins(settings.margins):
        request["margins"] = margins
    if settings.chat not in (None, ChatOptions()) and not are_chat_models(requested):
        raise UsageError(
            "The run has options of chat models, such as --samples, but no chat model; remove these options, or use a "
            "chat model with chat:MODEL."
        )
    chat = settings.chat or ChatOptions()
    # The name of a model object does not identify it, so its fingerprint is part of the request.
    if fingerprints := {m.name: _get_fingerprint(m, chat) for m in requested if not isinstance(m, str)}:
        request["fingerprints"] = fingerprints
    if are_chat_models(requested):
        request |= {"design": "full" if chat.full else "default", "samples": chat.samples}
        request |= {"temperature": chat.temperature, "max_tokens": chat.max_tokens or SHORT_REPLY}
        request |= {"frames": list(chat.frames)} if chat.frames else {}
        if settings.keep_tokens:
            raise UsageError("Chat models have no log-probabilities of single tokens; remove --keep-tokens.")
    return request


def list_requested_values(group: RunSettings | ModelOptions) -> dict[str, Any]:
    """Return a mapping from option to value, for options that can change results; most default values are omitted."""
    values = [(option, getattr(group, option.field)) for option in list_options(group) if option.changes_results]
    return {option.field: value for option, value in values if option.always_requested or option.is_given(value)}


def prepare_run(
    requested: Sequence[str | AnyModel],
    specs: Sequence[str],
    settings: RunSettings,
    options: ModelOptions,
    request: dict[str, Any],
) -> PreparedRun:
    """Load the items of a checked request; missing files are downloaded."""
    by_spec = [(spec, portion) for spec in specs for portion in load_portions(spec)]
    reject_shared_items(by_spec)
    available = [portion for _, portion in by_spec]
    read_fixed_factors(settings.fixed, {portion.form for portion in available})
    chosen = [_perturb_items(limit_items(portion, settings.limit), settings.perturb) for portion in available]
    return PreparedRun(request, settings, options, are_chat_models(requested), available, chosen)


def are_chat_models(requested: Sequence[str | AnyModel]) -> bool:
    """Return whether the models of a run are chat models; raise a UsageError if only some are."""
    chats = {is_chat_model(model) for model in requested}
    if len(chats) > 1:
        raise UsageError(MIXED)
    return chats.pop()


def limit_items(portion: Portion, limit: int | None) -> Portion:
    """Return the portion (data set, part, language) with at most `limit` items, chosen by a hash of their ids.

    Therefore a sample has the same items in all languages.
    """
    if limit is None or limit >= len(portion.items):
        return portion
    kept = set(sorted((item.id for item in portion.items), key=lambda i: sha256(i.encode()).digest())[:limit])
    return replace(portion, items=[item for item in portion.items if item.id in kept])


def _perturb_items(portion: Portion, name: str | None) -> Portion:
    if name is None:
        return portion
    perturbations = get_benchmark(portion.form).perturbations
    if name not in perturbations:
        known = f"choose {' or '.join(perturbations)}" if perturbations else "this type of items has no perturbations"
        raise UsageError(f"{portion.name} has no perturbation {name!r}; {known}.")
    return replace(portion, items=[perturbations[name](item) for item in portion.items])


def _get_fingerprint(model: AnyModel, chat: ChatOptions) -> str:
    if isinstance(model, ChatModel):
        return model.chat_fingerprint(chat.build_sampling(probabilities=False))
    # Each kind of head has its own fingerprint, because a trained next-sentence head has separate weights.
    return "+".join(model.fingerprint(kind) for kind in model.kinds)
