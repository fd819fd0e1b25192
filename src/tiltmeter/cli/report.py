"""`tiltmeter report`: one page about one or more runs."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The file to write; `report.html` in the run's folder if there is one run."),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", help="A folder for the figures as SVG, PNG and PDF files.")
    ] = None,
) -> None:
    """Write a report: one HTML file with everything in it, to look at, print or send.

    **Examples**

    `tiltmeter report runs/demo`

    `tiltmeter report runs/gpt2 runs/bert --out both.html --figures figures`

    The sentences of the items are in it, behind a warning, if their files are on this machine.
    """
    from tiltmeter.api import named_runs
    from tiltmeter.reports.write import report_path, write_report

    path = report_path(runs, out)
    written = write_report(named_runs(runs), path, figures)
    notes = Console(stderr=True, soft_wrap=True, highlight=False)
    notes.print(f"Written to {path} ({path.stat().st_size / 1e6:.1f} MB)", markup=False)
    if figures:
        notes.print(f"{len(written)} files of figures are in {figures}", markup=False)
