"""Options of `tiltmeter run` that have no effect on what is measured: an error instead of silence."""

import typer

from tiltmeter.errors import UsageError

_OF_LANGUAGE_MODELS = (
    "protocol",
    "perturb",
    "keep_tokens",
    "kind",
    "devices",
    "batch_tokens",
    "tokenizer",
    "quantize",
    "split",
    "max_memory",
    "chat_template",
    "concurrency",
    "per_minute",
    "timeout",
    "full_design",
    "samples",
    "temperature",
    "max_tokens",
    "max_requests",
    "max_cost",
    "price_in",
    "price_out",
    "plain",
)
_OF_TRANSLATION_SYSTEMS = ("system", "gender_from", "beams", "yes")
# Of systems that translate, but not of finished translations.
_OF_TRANSLATING = ("beams", "device", "dtype", "trust_remote_code", "yes")


def reject_unused_run_options(context: typer.Context, *, translating: bool, finished: bool) -> None:
    """Raise an error for an option that was given and does not apply.

    `translating`: a translation system is measured; `finished`: its translations are in a file.
    """
    if not translating:
        _reject_given(context, _OF_TRANSLATION_SYSTEMS, "for translation systems, and the run has none (--translator)")
        return
    _reject_given(context, _OF_LANGUAGE_MODELS, "for language models, and this run measures a translation system")
    if finished:
        _reject_given(context, _OF_TRANSLATING, "for translating, and these translations are finished")


def _reject_given(context: typer.Context, names: tuple[str, ...], why: str) -> None:
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP"):
            raise UsageError(f"--{name.replace('_', '-')} is {why}; leave it out.")
