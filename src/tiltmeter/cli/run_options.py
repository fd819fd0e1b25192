"""Reject options that would have no effect, in particular of `tiltmeter run`."""

import typer

from tiltmeter.errors import UsageError
from tiltmeter.options import ChatOptions, ModelOptions, RunSettings, list_options

_OPTIONS = list_options(RunSettings, ModelOptions, ChatOptions)
_OF_LANGUAGE_MODELS = tuple(option.name for option in _OPTIONS if not option.for_translators)
_OF_TRANSLATION_SYSTEMS = ("system", "gender_from", "beams")
# Options for translating sentences; they do not apply if the translations are read from a file.
_OF_TRANSLATING = ("beams", "device", "dtype", "trust_remote_code", "yes")


def reject_unused_run_options(context: typer.Context, *, translating: bool, finished: bool) -> None:
    """Raise an error if the user has given an option that does not apply.

    `translating` is true if a translation system is measured; `finished` is true if its translations come from a file.
    """
    if translating:
        reject_given_options(context, ("columns",), "for files of items of language models")
    else:
        reject_given_options(context, _OF_TRANSLATION_SYSTEMS, "for translation systems, but no --translator is given")
        return
    reject_given_options(
        context, _OF_LANGUAGE_MODELS, "for language models, but this run measures a translation system"
    )
    if finished:
        reject_given_options(
            context, _OF_TRANSLATING, "for translating sentences, but --translations is a file of finished translations"
        )


def reject_given_options(context: typer.Context, names: tuple[str, ...], reason: str) -> None:
    """Raise an error if the user has given one of these options; `reason` says what they are for."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP"):
            raise UsageError(f"--{name.replace('_', '-')} is {reason}; leave out this option.")
