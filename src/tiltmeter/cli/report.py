"""`tiltmeter report`: write an HTML report on one or more runs."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.printable_text import create_plain_console


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs, or folders that contain runs.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="The HTML file to write; the default for one run is `report.html` in its folder."
        ),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", help="Also save the figures to this folder as SVG, PNG and PDF files.")
    ] = None,
) -> None:
    """Write a report on one or more runs as one self-contained HTML file.

    The report contains the texts of items, after a content warning.

    **Examples**

    `tiltmeter report runs/demo`

    `tiltmeter report runs/gpt2 runs/bert --out both.html --figures figures`
    """
    from tiltmeter.api import load_named_runs
    from tiltmeter.reports.report_files import get_report_path, reject_unwritable_report, write_report
    from tiltmeter.runs.nested_runs import expand_run_folders

    runs = expand_run_folders(runs)
    path = get_report_path(runs, out)
    reject_unwritable_report(path, figures)
    written = write_report(load_named_runs(runs), path, figures)
    notes = create_plain_console(stderr=True, soft_wrap=True, highlight=False)
    notes.print(f"Written to {path} ({path.stat().st_size / 1e6:.1f} MB)", markup=False)
    if figures:
        notes.print(f"{len(written)} figure files written to {figures}", markup=False)
