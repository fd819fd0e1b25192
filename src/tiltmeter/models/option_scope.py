"""Which options have an effect on which models: an option without one is an error, not a silent wish."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Literal

from tiltmeter.errors import UsageError
from tiltmeter.models.chat import is_served
from tiltmeter.models.model_opener import AnyModel, find_scheme
from tiltmeter.models.model_protocol import ModelOptions
from tiltmeter.registry import find_plugins

# Where a model of a run is: on this machine by name, loaded already, behind a server, or of a plug-in.
ModelSource = Literal["named", "loaded", "endpoint", "chat server", "plug-in"]

_ON_THIS_MACHINE, _BEHIND_A_SERVER = "models on this machine", "models behind a server"
_NAMED, _LOADED = "models whose tokenizer is loaded here", "language models"
_USERS: dict[str, tuple[str, tuple[ModelSource, ...]]] = {
    **dict.fromkeys(("kind", "batch_tokens", "plain"), (_ON_THIS_MACHINE, ("named", "loaded"))),
    **dict.fromkeys(("device", "devices", "dtype", "quantize", "split", "max_memory"), (_ON_THIS_MACHINE, ("named",))),
    **dict.fromkeys(("tokenizer", "trust_remote_code"), (_NAMED, ("named", "endpoint"))),
    **dict.fromkeys(("concurrency", "per_minute", "timeout"), (_BEHIND_A_SERVER, ("endpoint", "chat server"))),
    "chat_template": (_LOADED, ("named", "loaded", "endpoint", "chat server")),
}


def reject_unused_options(models: Iterable[str | AnyModel], options: ModelOptions) -> None:
    """Raise an error for an option that differs from its default and has no effect on any of the models.

    >>> reject_unused_options(["bert-base-cased"], ModelOptions(per_minute=60))
    Traceback (most recent call last):
    tiltmeter.errors.UsageError: --per-minute is for models behind a server, and none of the run's is one; leave it out.
    """
    sources = {find_source(model) for model in models}
    if "plug-in" in sources:  # nobody knows what it takes
        return
    for field in fields(options):
        value = getattr(options, field.name)
        if field.name not in _USERS or value == field.default or value in ((), {}):
            continue
        users, where = _USERS[field.name]
        if not sources & set(where):
            flag = f"--{field.name.replace('_', '-')}"
            raise UsageError(f"{flag} is for {users}, and none of the run's is one; leave it out.")


def find_source(model: str | AnyModel) -> ModelSource:
    """Where a model is.

    >>> find_source("gpt2"), find_source("chat:m@http://localhost:8000/v1"), find_source("chat:embedded")
    ('named', 'chat server', 'named')
    """
    if not isinstance(model, str):
        return "loaded"
    scheme = find_scheme(model)
    if scheme is None:
        return "named"
    if scheme in find_plugins("models"):
        return "plug-in"
    if scheme != "chat":
        return "endpoint"
    return "chat server" if is_served(model.partition(":")[2]) else "named"
