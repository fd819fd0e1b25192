"""The runs below folders, each with what its manifest and its numbers over all items say; its tables are not read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tiltmeter.errors import DataError, TiltmeterError, UsageError
from tiltmeter.measures.records import Record, from_dicts
from tiltmeter.reports.display_text import shorten_names
from tiltmeter.reports.record_rows import ALL_MODELS
from tiltmeter.runs.file_digests import list_changed_files
from tiltmeter.runs.nested_runs import list_nested_runs
from tiltmeter.runs.over_all import only_over_all
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_files import MANIFEST, MEASURES, SCORES, finish_save
from tiltmeter.runs.run_validation import validate_manifest, validate_rows
from tiltmeter.text_files import expand_home, parse_json, read_bytes, read_json


@dataclass(frozen=True, slots=True)
class BoardRun:
    """A run: its folder, its name on the board, when it was finished, its manifest and its records over all items."""

    folder: Path
    name: str
    finished: float
    manifest: Mapping[str, Any]
    records: Sequence[Record]
    changed: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class BrokenRun:
    """A run that cannot be shown, and the reason in a sentence."""

    name: str
    reason: str


def find_runs(folders: Sequence[Path | str]) -> tuple[list[BoardRun], list[BrokenRun]]:
    """The runs in folders and below them, each once, by name, and those that cannot be read."""
    runs: list[BoardRun] = []
    broken: list[BrokenRun] = []
    for name, folder in _name_folders(folders):
        try:
            runs.append(_read_run(folder, name))
        except TiltmeterError as error:
            # Pages are shown to others, so they do not show the folders of this machine.
            broken.append(BrokenRun(name, str(error).replace(str(folder), name)))
    if not runs:
        given = ", ".join(str(folder) for folder in folders)
        first = f" The first of {len(broken)} that cannot be read: {broken[0].reason}" if broken else ""
        raise UsageError(f"There is no finished run in {given}; make some with `tiltmeter run` or `matrix`.{first}")
    return runs, broken


def _name_folders(folders: Iterable[Path | str]) -> Iterator[tuple[str, Path]]:
    """The folders of runs, each once, with names that are different where folders of the same name are given."""
    seen: set[Path] = set()
    given = [expand_home(folder) for folder in folders]
    names = shorten_names(str(folder.resolve()) for folder in given)
    for folder in given:
        if not folder.is_dir():
            raise UsageError(f"{folder} is not a folder; name a folder with runs in it.")
        for path in list_nested_runs(folder):
            if path.resolve() not in seen:
                seen.add(path.resolve())
                inside = path.relative_to(folder).as_posix()
                name = names[str(folder.resolve())]
                yield name if inside == "." else f"{name}/{inside}" if len(names) > 1 else inside, path


def _read_run(folder: Path, name: str) -> BoardRun:
    finish_save(folder)
    if not (folder / MANIFEST).is_file():
        raise DataError(f"{folder} has no {MANIFEST}, so it was not finished; start the run again.")
    manifest = validate_manifest(read_json(folder / MANIFEST))
    content = read_bytes(folder / MEASURES)
    rows = validate_rows(parse_json(_decode(folder, only_over_all(content)), str(folder / MEASURES)))
    changed = list_changed_files(manifest, folder, (SCORES, MEASURES))
    # Rows without verdicts are of earlier versions, and are measured again from the scores.
    records = from_dicts(rows) if all("verdict" in row for row in rows) else Result.load(folder).records
    over_all = [record for record in records if record.view == "all" and record.model != ALL_MODELS]
    if not over_all:
        raise DataError(f"{folder} has no numbers over all items; make the run again.")
    return BoardRun(folder, name, _get_finish_time(manifest, folder), manifest, over_all, changed)


def _decode(folder: Path, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{folder / MEASURES} is not UTF-8 (byte {error.start}); make the run again.") from error


def _get_finish_time(manifest: Mapping[str, Any], folder: Path) -> float:
    """When a run was finished; when its manifest was written, if it does not say so."""
    try:
        finished = datetime.fromisoformat(str(manifest.get("finished")))
        return (finished if finished.tzinfo else finished.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return (folder / MANIFEST).stat().st_mtime
