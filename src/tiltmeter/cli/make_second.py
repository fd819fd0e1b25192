"""`tiltmeter make second`: a second translation of each item, or its translation back."""

from typing import Annotated

import typer

from tiltmeter.cli.make_options import AcceptCost, Folder, TranslatorDevice
from tiltmeter.errors import UsageError


def second(
    folder: Folder,
    second: Annotated[
        str | None,
        typer.Option("--second", metavar="SYSTEM", help="Translate the source texts with this other system, too."),
    ] = None,
    back: Annotated[
        str | None,
        typer.Option(
            "--back",
            metavar="SYSTEM",
            help="Translate the texts back into the source language with this system, such as `apertium:spa-eng`.",
        ),
    ] = None,
    threshold: Annotated[
        float,
        typer.Option(
            help="Queue items if their similarity, or that of a sentence, is below this number (chrF, from 0 to 1)."
        ),
    ] = 0.4,
    yes: AcceptCost = False,
    device: TranslatorDevice = "auto",
) -> None:
    """Compare all translated items with a second translation, or with their translation back into the source language.

    Items with a low similarity are queued for review. The texts of the second system are proposals for reviewers. The
    similarities are part of the estimated quality, by which the review queue is ordered.

    **Example**

    `tiltmeter make second my-es --back apertium:spa-eng --threshold 0.3`
    """
    from tiltmeter.making.project import open_project
    from tiltmeter.making.quality.second_opinions import compare_translations
    from tiltmeter.progress.terminal_progress import show_in_terminal
    from tiltmeter.translators import open_translator

    with open_project(folder) as project, show_in_terminal("second") as report:
        if second is not None and second == project.settings.system:
            raise UsageError(f"{second} is the system of the project; choose another one for a second opinion.")
        done = compare_translations(
            project,
            second=open_translator(second, device=device) if second else None,
            back=open_translator(back, device=device) if back else None,
            threshold=threshold,
            yes=yes,
            report=report,
        )
    names = {"second": "to the second translation", "back": "of the source to the translation back"}
    typer.echo(f"{done.items:,} items compared in {done.seconds:,.0f} s, {done.queued:,} with a finding")
    for method, similarity in done.similarity.items():
        typer.echo(f"mean similarity {names[method]}: {similarity:.2f}")
