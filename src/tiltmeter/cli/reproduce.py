"""`tiltmeter reproduce`: recompute the published numbers of a paper."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.errors import UsageError
from tiltmeter.printable_text import create_plain_console

PAPERS = (
    "oeztuerk2023, oeztuerk2022, steinborn2022, gest2024, nadeem2021, stereoset-ptbr, strazda2025, grigoreva2024 or all"
)


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help=f"The paper: {PAPERS}.")],
    table: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Recompute only this table of the paper, such as 2 or 4.1; `text` means the numbers in running text.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Recompute only the rows of this model; use the name from the paper's table."
        ),
    ] = None,
    language: Annotated[
        str | None, typer.Option(metavar="CODE", help="Recompute only this language, such as de.")
    ] = None,
    from_models: Annotated[
        bool, typer.Option("--from-models", help="Run the models instead of using released predictions.")
    ] = False,
    model_path: Annotated[
        list[str] | None,
        typer.Option(
            "--model-path",
            metavar="NAME=FOLDER",
            help="Load the model NAME (a hub id) from this local folder; repeat the option for more models.",
        ),
    ] = None,
    head_path: Annotated[
        list[str] | None,
        typer.Option(
            "--head-path",
            metavar="NAME=FOLDER",
            help="Load the next-sentence head of the model NAME (a hub id) from this local folder; repeat the option "
            "for more models.",
        ),
    ] = None,
    device: Annotated[
        str, typer.Option(help="With --from-models: the device, `auto`, `cpu`, `cuda`, `cuda:1` …")
    ] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print every number as JSON.")] = False,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the results to this Markdown file.")
    ] = None,
) -> None:
    """Recompute the numbers of a paper and compare them with the published ones.

    The exit code is 1 if a difference has no known explanation. The predictions and translations that the authors
    released are downloaded at pinned commits, or read from the cache or a mirror (`TILTMETER_MIRROR`). Numbers whose
    files are missing are counted as not available.

    **Examples**

    `tiltmeter reproduce oeztuerk2023`

    `tiltmeter reproduce gest2024 --table 8 --model DeepL --language sk`

    `tiltmeter reproduce steinborn2022 --from-models --markdown steinborn.md`

    `tiltmeter reproduce oeztuerk2023 --table 7 --from-models --head-path t5-base=heads/t5`
    """
    from tiltmeter.files import reject_unwritable_file, write_text
    from tiltmeter.papers.reproduction import reproduce
    from tiltmeter.papers.sources.recipe_context import RecipeContext
    from tiltmeter.progress.terminal_progress import show_in_terminal

    if markdown is not None:
        reject_unwritable_file(markdown)
    context = RecipeContext(
        dict(_parse_path("--model-path", text) for text in model_path or []),
        head_paths=dict(_parse_path("--head-path", text) for text in head_path or []),
        device=device,
        watch=show_in_terminal,
    )
    reproduction = reproduce(paper, table=table, model=model, language=language, from_models=from_models, desk=context)
    if markdown is not None:
        from tiltmeter.papers.output.reproduction_markdown import to_markdown

        write_text(markdown, to_markdown(reproduction))
    if as_json:
        from tiltmeter.papers.output.reproduction_json import to_json

        typer.echo(to_json(reproduction))
    else:
        from tiltmeter.papers.output.reproduction_terminal import print_reproduction

        print_reproduction(reproduction, create_plain_console())
    if not reproduction.has_only_known_differences:
        raise typer.Exit(1)


def _parse_path(option: str, text: str) -> tuple[str, str]:
    name, equals, folder = text.partition("=")
    if not (name and equals and folder):
        raise UsageError(f"{option} {text} is not NAME=FOLDER, as in {option} gpt2=models/gpt2.")
    return name, folder
