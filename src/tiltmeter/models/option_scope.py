"""Which options have an effect on which models: an option without one is an error, not a silent wish."""

from collections.abc import Iterable
from dataclasses import fields

from tiltmeter.errors import UsageError
from tiltmeter.models.opening import Opened
from tiltmeter.models.protocol import ModelOptions
from tiltmeter.models.scheme import Source, find_scheme

_ON_THIS_MACHINE, _BEHIND_A_SERVER = "models on this machine", "models behind a server"
_NAMED, _LOADED = "models whose tokenizer is loaded here", "language models"
_USERS: dict[str, tuple[str, tuple[Source, ...]]] = {
    **dict.fromkeys(("kind", "batch_tokens", "plain"), (_ON_THIS_MACHINE, ("named", "loaded"))),
    **dict.fromkeys(("device", "devices", "dtype", "quantize", "split", "max_memory"), (_ON_THIS_MACHINE, ("named",))),
    **dict.fromkeys(("tokenizer", "trust_remote_code"), (_NAMED, ("named", "endpoint"))),
    **dict.fromkeys(("concurrency", "per_minute", "timeout"), (_BEHIND_A_SERVER, ("endpoint", "chat server"))),
    "chat_template": (_LOADED, ("named", "loaded", "endpoint", "chat server")),
}


def refuse_idle_options(models: Iterable[str | Opened], options: ModelOptions) -> None:
    """Raise an error for an option that differs from its default and has no effect on any of the models.

    >>> refuse_idle_options(["bert-base-cased"], ModelOptions(per_minute=60))
    Traceback (most recent call last):
    tiltmeter.errors.UsageError: --per-minute is for models behind a server, and none of the run's is one; leave it out.
    """
    sources = {source_of(model) for model in models}
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


def source_of(model: str | Opened) -> Source:
    """Where a model is.

    >>> source_of("gpt2"), source_of("chat:m@http://localhost:8000/v1"), source_of("chat:embedded")
    ('named', 'chat server', 'named')
    """
    if not isinstance(model, str):
        return "loaded"
    scheme = find_scheme(model)
    return "named" if scheme is None else scheme.locate(model.partition(":")[2])
