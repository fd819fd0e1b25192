"""Write a board to a folder; an existing board is replaced completely or, after an error, not at all."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

from tiltmeter.cluster.board.board_content import Board, make_board
from tiltmeter.cluster.board.number_tables import FORMAT, format_board_csv, format_board_json
from tiltmeter.cluster.board.site_pages import render_pages
from tiltmeter.cluster.board.view_models import build_slug
from tiltmeter.errors import UsageError
from tiltmeter.files import (
    build_write_error,
    create_temporary_folder,
    make_readable,
    reject_unwritable_folder,
    write_text,
)
from tiltmeter.reports.report_files import REPORT
from tiltmeter.text_files import expand_home

_NUMBERS_CSV, _NUMBERS_JSON = "board.csv", "board.json"
# The names of all files and folders in the folder of a board.
_CONTENT = ("index.html", "benchmarks", "models", "trends", "reports", _NUMBERS_CSV, _NUMBERS_JSON)


def write_board(
    folders: Sequence[Path | str],
    out: Path | str,
    *,
    reference: str = "",
    attributes: Path | str | None = None,
    with_reports: bool = False,
) -> Board:
    """Write the board for all runs in these folders and their subfolders to the folder `out`, and return the board.

    An existing board in `out` is replaced; if `out` has other content, a UsageError is raised. `reference` and
    `attributes` are passed to `make_board`. With `with_reports`, the reports of the runs are copied to the site.
    """
    out = expand_home(out)
    reject_unwritable_site(out, folders)
    # If `out` is a symbolic link, the site is written to the target of the link.
    out = out.resolve()
    described = None if attributes is None else expand_home(attributes)
    board = make_board(folders, reference=reference, attributes=described)
    with create_temporary_folder(out.parent) as part:
        site = part / "site"
        reports = dict(_copy_reports(board, site)) if with_reports else {}
        for path, text in render_pages(board, reports):
            write_text(site / path, text)
        write_text(site / _NUMBERS_CSV, format_board_csv(board))
        write_text(site / _NUMBERS_JSON, format_board_json(board))
        make_readable(site)
        _replace_site(site, out, part / "old")
    return board


def reject_unwritable_site(out: Path, folders: Sequence[Path | str]) -> None:
    """Raise a UsageError if a board for the runs in `folders` cannot be written to the folder `out`."""
    reject_unwritable_folder(out)
    if any(expand_home(folder).resolve().is_relative_to(out.resolve()) for folder in folders):
        raise UsageError(f"{out} contains the runs, which would be lost; choose another folder with --out.")
    inside = [path.name for path in out.iterdir()] if out.is_dir() else []
    if inside and not _is_board(out):
        raise UsageError(f"{out} is not empty and is not a board; choose another folder with --out, or empty it.")
    if others := sorted(name for name in inside if name not in _CONTENT):
        raise UsageError(
            f"{out} is a board but also contains {others[0]}, which would be lost; choose another folder with --out."
        )


def _is_board(folder: Path) -> bool:
    path = folder / _NUMBERS_JSON
    try:
        with path.open(encoding="utf-8") if path.is_file() else nullcontext() as file:
            return file is not None and FORMAT in file.read(len(FORMAT) + 40)
    except (OSError, UnicodeDecodeError):
        return False


def _copy_reports(board: Board, site: Path) -> Iterator[tuple[str, str]]:
    """Copy the reports of the runs to the site; yield the name of each run and the path of its report in the site."""
    runs = {cell.run.name: cell.run for column in board.columns for cell in column.cells}
    for name, run in runs.items():
        report = run.folder / REPORT
        if report.is_file() and not report.is_symlink():
            path = f"reports/{build_slug(name)}.html"
            write_text(site / path, report.read_text(encoding="utf-8", errors="replace"))
            yield name, path


def _replace_site(site: Path, out: Path, old: Path) -> None:
    """Move the existing site to `old` and the new site to `out`; if the second move fails, move the old site back."""
    try:
        if out.exists():
            out.rename(old)
        try:
            site.rename(out)
        except OSError:
            if old.exists():
                old.rename(out)
            raise
    except OSError as error:
        raise build_write_error(out, error) from error
