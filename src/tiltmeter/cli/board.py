"""`tiltmeter board`: many runs as a static site."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.output import print_note


def board(
    runs: Annotated[list[Path], typer.Argument(metavar="FOLDER", help="Folders with runs in them, at any depth.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the site; a board in it is replaced.")],
    reference: Annotated[
        str, typer.Option("--reference", help="The model that others are tested against; the least biased by default.")
    ] = "",
    attributes: Annotated[
        Path | None,
        typer.Option(
            "--attributes",
            help="A TOML file with attributes, series and steps of models; by default the plan of the runs.",
        ),
    ] = None,
    with_reports: Annotated[
        bool, typer.Option("--with-reports", help="Copy the reports of runs that have one, and link to them.")
    ] = False,
) -> None:
    """Write a site with the results of many runs: tables, a page per model and benchmark, trends, CSV and JSON.

    **Examples**

    `tiltmeter board runs/matrix --out site`

    `tiltmeter board runs/matrix runs/older --out site --reference google-bert/bert-base-cased --with-reports`

    The site needs no server and loads nothing: open `index.html` in a browser. Only numbers that can be compared share
    a column, and ranks are ranges that hold with 95% confidence. Runs that cannot be read are listed with the reason.
    """
    from tiltmeter.cluster.board.site_files import write_board

    written = write_board(runs, out, reference=reference, attributes=attributes, with_reports=with_reports)
    for run in written.broken[:10]:
        print_note(f"Not shown: {run.name}. {run.reason}")
    if len(written.broken) > 10:
        print_note(f"{len(written.broken) - 10} more runs are not shown; the page lists them.")
    for note in written.notes[:10]:
        print_note(note)
    if len(written.notes) > 10:
        print_note(f"{len(written.notes) - 10} more notes are on the page.")
    print_note(f"{len(written.models)} models in {len(written.columns)} columns; open {out / 'index.html'}")
