"""Read the runs of a board: their manifests and their values over all items, but not their tables of scores."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tiltmeter.errors import DataError, TiltmeterError, UsageError
from tiltmeter.measures.records import Record, from_dicts
from tiltmeter.reports.display_text import shorten_names
from tiltmeter.reports.formatting import format_count
from tiltmeter.reports.record_rows import ALL_MODELS
from tiltmeter.runs.file_digests import list_changed_files
from tiltmeter.runs.manifest import Manifest
from tiltmeter.runs.manifest_file import read_manifest
from tiltmeter.runs.nested_runs import list_nested_runs
from tiltmeter.runs.run_files import MANIFEST, MEASURES, SCORES, finish_save
from tiltmeter.runs.run_validation import validate_rows
from tiltmeter.text_files import expand_home, read_json


@dataclass(frozen=True, slots=True)
class BoardRun:
    """A run on the board.

    `name` is the name of the run on the board, and `finished` its finish time. `records` are the values over all items.
    `changed` are the names of files that were changed after the run.
    """

    folder: Path
    name: str
    finished: float
    manifest: Manifest
    records: Sequence[Record]
    changed: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class BrokenRun:
    """A run that cannot be read; `reason` is a sentence about the error."""

    name: str
    reason: str


def find_runs(folders: Sequence[Path | str]) -> tuple[list[BoardRun], list[BrokenRun]]:
    """Return all runs in these folders and their subfolders, and a list of the runs that cannot be read."""
    runs: list[BoardRun] = []
    broken: list[BrokenRun] = []
    for name, folder in _build_folder_names(folders):
        try:
            runs.append(_read_run(folder, name))
        except TiltmeterError as error:
            # Replace the path by the name, because the pages may be published and must not contain paths of this
            # machine.
            broken.append(BrokenRun(name, str(error).replace(str(folder), name)))
    if not runs:
        given = ", ".join(str(folder) for folder in folders)
        first = (
            f" {format_count(len(broken), 'run')} cannot be read; the first error: {broken[0].reason}" if broken else ""
        )
        raise UsageError(f"Found no finished run in {given}; create one with `tiltmeter run` or `matrix`.{first}")
    return runs, broken


def _build_folder_names(folders: Iterable[Path | str]) -> Iterator[tuple[str, Path]]:
    """Yield the name and the path of each folder that contains a run; names are unique, and no folder occurs twice."""
    seen: set[Path] = set()
    given = [expand_home(folder) for folder in folders]
    names = shorten_names(str(folder.resolve()) for folder in given)
    for folder in given:
        if not folder.is_dir():
            raise UsageError(f"{folder} is not a folder; give a folder that contains runs.")
        for path in list_nested_runs(folder):
            if path.resolve() not in seen:
                seen.add(path.resolve())
                inside = path.relative_to(folder).as_posix()
                name = names[str(folder.resolve())]
                yield name if inside == "." else f"{name}/{inside}" if len(names) > 1 else inside, path


def _read_run(folder: Path, name: str) -> BoardRun:
    finish_save(folder)
    if not (folder / MANIFEST).is_file():
        raise DataError(f"{folder} has no {MANIFEST}, so the run did not finish; start the run again.")
    manifest = read_manifest(folder)
    rows = validate_rows(read_json(folder / MEASURES))
    changed = list_changed_files(manifest, folder, (SCORES, MEASURES))
    over_all = [record for record in from_dicts(rows) if record.view == "all" and record.model != ALL_MODELS]
    if not over_all:
        raise DataError(f"{folder} has no values over all items; repeat the run.")
    return BoardRun(folder, name, _get_finish_time(manifest, folder), manifest, over_all, changed)


def _get_finish_time(manifest: Manifest, folder: Path) -> float:
    """Return the finish time of a run; if the manifest has no valid finish time, the manifest's modification time."""
    try:
        finished = datetime.fromisoformat(manifest.finished)
        return (finished if finished.tzinfo else finished.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return (folder / MANIFEST).stat().st_mtime
