"""`tiltmeter run` for translation systems."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tiltmeter.errors import UsageError

if TYPE_CHECKING:
    from tiltmeter.progress.progress import ShowProgress
    from tiltmeter.runs.result import Result


def run_translations(
    translator: str | None,
    translations: Path | None,
    *,
    models: Sequence[str],
    on: Sequence[str],
    system: str | None,
    edition: str | None,
    gender_from: str,
    limit: int | None,
    beams: int | None,
    device: str,
    dtype: str,
    trust_remote_code: bool,
    yes: bool,
    margins: dict[str, float],
    family: str,
    fixed: Sequence[str],
    out: Path | None,
    force: bool,
    watch: "ShowProgress",
) -> "Result":
    """Measure a translation system, or a file of translations, and return the result."""
    from tiltmeter.runs.translation_run import evaluate_translator, score_translations

    if models:
        raise UsageError(f"A run measures language models or a translation system, not both; leave out {models[0]}.")
    if len(on) != 1:
        raise UsageError("A translation system is measured on exactly one benchmark; name it as in --on gest-mt:sk,uk.")
    if translator and translations:
        raise UsageError("--translator and --translations cannot be combined; choose one of them.")
    if translations is not None:
        if system is None:
            raise UsageError(f"--system is missing; give the name of the system that produced {translations}.")
        return score_translations(
            translations,
            system=system,
            on=on[0],
            edition=edition,
            gender_from=gender_from,
            limit=limit,
            margins=margins,
            family=family,
            fixed=fixed,
            out=out,
            force=force,
        )
    if translator is None:
        raise UsageError(
            f"{on[0]} is for translation systems; name a translation system with --translator, or give finished "
            "translations with --translations FILE.csv and --system NAME."
        )
    return evaluate_translator(
        translator,
        on=on[0],
        system=system,
        edition=edition,
        gender_from=gender_from,
        yes=yes,
        limit=limit,
        beams=beams,
        device=device,
        dtype=dtype,
        trust_remote_code=trust_remote_code,
        margins=margins,
        family=family,
        fixed=fixed,
        out=out,
        force=force,
        watch=watch,
    )
