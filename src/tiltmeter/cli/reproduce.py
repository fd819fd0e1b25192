"""`tiltmeter reproduce`: recompute the printed numbers of a paper."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.errors import UsageError
from tiltmeter.printable_text import create_plain_console

if TYPE_CHECKING:
    from tiltmeter.papers.reproduction import Reproduction

PAPERS = (
    "oeztuerk2023, oeztuerk2022, steinborn2022, gest2024, nadeem2021, stereoset-ptbr, strazda2025, grigoreva2024 or all"
)


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help=f"{PAPERS[0].upper()}{PAPERS[1:]}.")],
    table: Annotated[
        str | None, typer.Option(metavar="N", help="Only this table, such as 2 or 4.1, or `text`: numbers in the text.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="Only rows with this name in the tables.")] = None,
    language: Annotated[str | None, typer.Option(metavar="CODE", help="Only this language, such as de.")] = None,
    from_models: Annotated[
        bool, typer.Option("--from-models", help="Run the models instead of using released predictions.")
    ] = False,
    model_path: Annotated[
        list[str] | None,
        typer.Option("--model-path", metavar="NAME=FOLDER", help="Load the model with this hub id from a folder."),
    ] = None,
    head_path: Annotated[
        list[str] | None,
        typer.Option(
            "--head-path", metavar="NAME=FOLDER", help="The next-sentence head for the model with this hub id."
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="With --from-models: `auto`, `cpu`, `cuda`, `cuda:1` …")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print every number as JSON.")] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML page with all tables.")] = None,
    latex: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the tables as LaTeX.")] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the results as Markdown.")] = None,
) -> None:
    """Recompute the printed numbers of a paper and compare them.

    Released predictions and translations are downloaded at pinned commits, or read from the cache or a mirror
    (`TILTMETER_MIRROR`). Numbers whose files are missing count as not available, never as agreeing.

    The exit code is 0 if no number differs without a known reason, and 1 if one does.

    **Examples**

    `tiltmeter reproduce oeztuerk2023`

    `tiltmeter reproduce gest2024 --table 8 --model DeepL --language sk`

    `tiltmeter reproduce steinborn2022 --from-models --html steinborn.html`

    `tiltmeter reproduce oeztuerk2023 --table 7 --from-models --head-path t5-base=heads/t5`
    """
    from tiltmeter.cli.progress import show_answer_progress
    from tiltmeter.files import reject_unwritable_file
    from tiltmeter.papers.reproduction import reproduce
    from tiltmeter.papers.sources.recipe_context import RecipeContext

    for file in (html, latex, markdown):
        if file is not None:
            reject_unwritable_file(file)
    desk = RecipeContext(
        dict(_parse_path("--model-path", text) for text in model_path or []),
        head_paths=dict(_parse_path("--head-path", text) for text in head_path or []),
        device=device,
        watch=show_answer_progress,
    )
    reproduction = reproduce(paper, table=table, model=model, language=language, from_models=from_models, desk=desk)
    for file, write in ((html, _render_html), (latex, _render_latex), (markdown, _render_markdown)):
        if file is not None:
            _write_output(file, write, reproduction)
    if as_json:
        from tiltmeter.papers.output.reproduction_json import to_json

        typer.echo(to_json(reproduction))
    else:
        from tiltmeter.papers.output.reproduction_terminal import print_reproduction

        print_reproduction(reproduction, create_plain_console())
    if not reproduction.holds:
        raise typer.Exit(1)


def _parse_path(option: str, text: str) -> tuple[str, str]:
    name, equals, folder = text.partition("=")
    if not (name and equals and folder):
        raise UsageError(f"{option} {text} should be NAME=FOLDER, as in {option} gpt2=models/gpt2.")
    return name, folder


def _write_output(file: Path, write: "Callable[[Reproduction], str]", reproduction: "Reproduction") -> None:
    from tiltmeter.files import write_text

    write_text(file, write(reproduction))


def _render_html(reproduction: "Reproduction") -> str:
    from tiltmeter.papers.output.reproduction_html import to_html

    return to_html(reproduction)


def _render_latex(reproduction: "Reproduction") -> str:
    from tiltmeter.papers.output.reproduction_latex import to_latex

    return to_latex(reproduction)


def _render_markdown(reproduction: "Reproduction") -> str:
    from tiltmeter.papers.output.reproduction_markdown import to_markdown

    return to_markdown(reproduction)
