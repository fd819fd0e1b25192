"""`tiltmeter board`: write a static site about many runs."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.output import print_note


def board(
    runs: Annotated[
        list[Path], typer.Argument(metavar="FOLDER", help="Folders that contain runs, at most eight levels deep.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Write the site to this folder; an existing board in it is replaced.")
    ],
    reference: Annotated[
        str,
        typer.Option(
            "--reference",
            help="Test the differences between this model and each other model; the default is the least biased model.",
        ),
    ] = "",
    attributes: Annotated[
        Path | None,
        typer.Option(
            "--attributes",
            help="A TOML file with attributes of models; the attributes `series` and `step` (of training) are needed "
            "for trends. The default is the `plan.toml` of the runs.",
        ),
    ] = None,
    with_reports: Annotated[
        bool, typer.Option("--with-reports", help="Copy the existing reports of runs to the site, and link to them.")
    ] = False,
) -> None:
    """Write a site with the results of many runs: tables, a page per model and benchmark, trends, CSV and JSON.

    The site needs no server and no network: open `index.html` in a browser. A column contains only comparable values.
    The rank of a model is a range with 95% confidence. Runs that cannot be read are listed with the reason.

    **Examples**

    `tiltmeter board runs/matrix --out site`

    `tiltmeter board runs/matrix runs/older --out site --reference google-bert/bert-base-cased --with-reports`
    """
    from tiltmeter.cluster.board.site_files import write_board

    written = write_board(runs, out, reference=reference, attributes=attributes, with_reports=with_reports)
    for run in written.broken[:10]:
        print_note(f"Omitted: {run.name}. {run.reason}")
    if len(written.broken) > 10:
        print_note(f"{len(written.broken) - 10} more runs are omitted; the start page of the site lists them.")
    for note in written.notes[:10]:
        print_note(note)
    if len(written.notes) > 10:
        print_note(f"{len(written.notes) - 10} more notes are on the start page of the site.")
    print_note(f"{len(written.models)} models in {len(written.columns)} columns; open {out / 'index.html'}")
