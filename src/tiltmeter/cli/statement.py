"""`tiltmeter statement`: write a page on a run for managers and auditors."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.output import print_note


def statement(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    by: Annotated[
        str, typer.Option(metavar="NAME", help="The person or organisation that made the run; the page names it.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="The HTML file to write; the default is `statement.html` in the run's folder."
        ),
    ] = None,
) -> None:
    """Write a page on a run for managers and auditors: the finding, its limits, data, protocol and hashes.

    An annex lists the provisions of the EU AI Act and the NIST AI Risk Management Framework for which the page can be
    evidence. The page contains no items. To get a PDF, print the page from any browser.

    **Example**

    `tiltmeter statement runs/bert --by "Example Ltd"`
    """
    from tiltmeter.api import statement as write

    print_note(f"Written to {write(run, by=by, out=out)}")
