"""`tiltmeter board`: write a static site about many runs."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.output import print_note


def board(
    runs: Annotated[list[Path], typer.Argument(metavar="FOLDER", help="Folders that contain runs, at any depth.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Write the site to this folder; an existing board in it is replaced.")
    ],
    reference: Annotated[
        str,
        typer.Option(
            "--reference", help="The model against which all others are tested; the default is the least biased one."
        ),
    ] = "",
    attributes: Annotated[
        Path | None,
        typer.Option(
            "--attributes",
            help="A TOML file with attributes, series and steps of models; the default is the `plan.toml` of the runs.",
        ),
    ] = None,
    with_reports: Annotated[
        bool, typer.Option("--with-reports", help="Copy the existing reports of runs to the site, and link to them.")
    ] = False,
) -> None:
    """Write a site with the results of many runs: tables, a page per model and benchmark, trends, CSV and JSON.

    The site needs no server and no network: open `index.html` in a browser. Only comparable values share a column.
    Ranks are ranges with 95% confidence. Unreadable runs are listed with the reason.

    **Examples**

    `tiltmeter board runs/matrix --out site`

    `tiltmeter board runs/matrix runs/older --out site --reference google-bert/bert-base-cased --with-reports`
    """
    from tiltmeter.cluster.board.site_files import write_board

    written = write_board(runs, out, reference=reference, attributes=attributes, with_reports=with_reports)
    for run in written.broken[:10]:
        print_note(f"Omitted: {run.name}. {run.reason}")
    if len(written.broken) > 10:
        print_note(f"{len(written.broken) - 10} more runs are omitted; the page lists them.")
    for note in written.notes[:10]:
        print_note(note)
    if len(written.notes) > 10:
        print_note(f"{len(written.notes) - 10} more notes are on the page.")
    print_note(f"{len(written.models)} models in {len(written.columns)} columns; open {out / 'index.html'}")
