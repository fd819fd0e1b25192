"""Rejection of command-line options that have no effect on any model of a run."""

from collections.abc import Iterable

from tiltmeter.errors import UsageError
from tiltmeter.models.model_opener import AnyModel
from tiltmeter.models.scheme import Source, find_scheme
from tiltmeter.options import ModelOptions, list_options


def reject_unused_options(models: Iterable[str | AnyModel], options: ModelOptions) -> None:
    """Raise an error if the user set an option that has no effect on any of the models.

    >>> reject_unused_options(["bert-base-cased"], ModelOptions(per_minute=60))
    Traceback (most recent call last):
    tiltmeter.errors.UsageError: --per-minute is for models behind a server, but the run has none; omit it.
    """
    sources = {find_source(model) for model in models}
    if "plug-in" in sources:  # it is unknown which options a plug-in uses
        return
    for option in list_options(options):
        if option.is_given(getattr(options, option.field)) and not sources & set(option.sources):
            raise UsageError(f"{option.flag} is for {option.users}, but the run has none; omit it.")


def find_source(model: str | AnyModel) -> Source:
    """Return the place of a model: files or the hub ("named"), memory ("loaded"), a server, or a plug-in.

    >>> find_source("gpt2"), find_source("chat:m@http://localhost:8000/v1"), find_source("chat:embedded")
    ('named', 'chat server', 'named')
    """
    if not isinstance(model, str):
        return "loaded"
    scheme = find_scheme(model)
    return "named" if scheme is None else scheme.locate(model.partition(":")[2])
