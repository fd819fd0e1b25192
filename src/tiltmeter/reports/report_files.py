"""Functions that choose the path of a report, check that it can be written, and write it."""

from collections.abc import Sequence
from pathlib import Path

from tiltmeter.errors import UsageError
from tiltmeter.files import reject_unwritable_file, reject_unwritable_folder, write_text
from tiltmeter.reports.figure_files import save_figures
from tiltmeter.reports.report_page import make_report
from tiltmeter.runs.result import Result

REPORT = "report.html"


def get_report_path(runs: Sequence[Path], out: Path | None) -> Path:
    """Return the path of the report: `out`, or report.html in the folder of the run if there is only one run."""
    if out is not None:
        if out.is_dir():
            raise UsageError(f"{out} is a folder; pass a file to --out, such as {out / REPORT}.")
        return out
    if len(runs) > 1:
        raise UsageError(f"A report on several runs needs an output file; pass one with --out, such as --out {REPORT}.")
    return runs[0] / REPORT


def reject_unwritable_report(path: Path, figures: Path | None = None) -> None:
    """Raise an error if the report or its figures cannot be written; this is checked before the report is made."""
    reject_unwritable_file(path)
    if figures is not None:
        reject_unwritable_folder(figures)


def write_report(runs: Sequence[tuple[str, Result]], path: Path, figures: Path | None = None) -> list[Path]:
    """Write the report on `runs` to `path`, and its figures to the folder `figures`; return the paths of the figures.

    `runs` are pairs (name of the run, result).
    """
    html, drawings = make_report(runs)
    write_text(path, html)
    return save_figures(drawings, figures) if figures is not None else []
