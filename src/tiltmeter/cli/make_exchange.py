"""`tiltmeter make export` and `make import`: review in a spreadsheet or a translation program."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.make_options import By, Folder
from tiltmeter.cli.output import print_note
from tiltmeter.errors import UsageError


def export(
    folder: Folder,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")],
    to: Annotated[
        str | None,
        typer.Option("--to", help="The format: `csv`, `xlsx` or `xliff`; by default, the suffix of the file decides."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Write all translated items, not only items with open problems.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write the items with open problems to a file, for review in a spreadsheet or a translation program.

    In a spreadsheet, reviewers fill in the columns `corrected`, `decision` (`accept` or `drop` the item) and `comment`.
    In XLIFF, they edit the target and set its state to final. Read the file back with `make import`.

    **Example**

    `tiltmeter make export my-es --out review.xlsx`
    """
    from tiltmeter.making.exchange import detect_format, export_project
    from tiltmeter.making.project import open_project

    if out.exists() and not force:
        raise UsageError(f"{out} already exists; choose another file, or replace it with --force.")
    with open_project(folder) as project:
        rows = export_project(project, out, format=detect_format(out, to), everything=everything)
    typer.echo(f"{rows:,} rows")
    print_note(f"Written to {out}")


def import_(
    folder: Folder,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file of `make export` that reviewers have filled in.")
    ],
    by: By,
    format: Annotated[
        str | None,
        typer.Option(
            "--from", help="The format: `csv`, `xlsx` or `xliff`; by default, the suffix of the file decides."
        ),
    ] = None,
) -> None:
    """Read the decisions and corrections of a reviewer from a file of `make export`.

    Items with contradictory rows, and items that were changed in the project since the export, are listed as conflicts
    and not imported; the exit code is then 1.

    **Example**

    `tiltmeter make import my-es review.xlsx --by Ana`
    """
    from tiltmeter.making.exchange import detect_format, import_project
    from tiltmeter.making.project import open_project

    with open_project(folder) as project:
        done = import_project(project, file, format=detect_format(file, format), reviewer=by)
    typer.echo(
        f"{done.accepted:,} items accepted, {done.edited:,} edited ({done.texts:,} texts), {done.dropped:,} dropped, "
        f"{done.undecided:,} without a decision, {len({conflict.item for conflict in done.conflicts}):,} in conflict"
    )
    for conflict in done.conflicts:
        typer.echo(f"conflict in {conflict}")
    if done.conflicts:
        raise typer.Exit(1)
