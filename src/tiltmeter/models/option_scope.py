"""Which options have an effect on which models: an option without one is an error, not a silent wish."""

from collections.abc import Iterable

from tiltmeter.errors import UsageError
from tiltmeter.models.model_opener import AnyModel
from tiltmeter.models.scheme import Source, find_scheme
from tiltmeter.options import ModelOptions, list_options


def reject_unused_options(models: Iterable[str | AnyModel], options: ModelOptions) -> None:
    """Raise an error for an option that differs from its default and has no effect on any of the models.

    >>> reject_unused_options(["bert-base-cased"], ModelOptions(per_minute=60))
    Traceback (most recent call last):
    tiltmeter.errors.UsageError: --per-minute is for models behind a server, and none of the run's is one; leave it out.
    """
    sources = {find_source(model) for model in models}
    if "plug-in" in sources:  # nobody knows what it takes
        return
    for option in list_options(options):
        if option.is_given(getattr(options, option.field)) and not sources & set(option.sources):
            raise UsageError(f"{option.flag} is for {option.users}, and none of the run's is one; leave it out.")


def find_source(model: str | AnyModel) -> Source:
    """Where a model is.

    >>> find_source("gpt2"), find_source("chat:m@http://localhost:8000/v1"), find_source("chat:embedded")
    ('named', 'chat server', 'named')
    """
    if not isinstance(model, str):
        return "loaded"
    scheme = find_scheme(model)
    return "named" if scheme is None else scheme.locate(model.partition(":")[2])
