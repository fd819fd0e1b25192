"""Functions that find the folders of runs in a workspace."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.runs.run_files import MANIFEST, MEASURES, SCORES
from tiltmeter.studio.studio_workspace import DEPTH

_FILES = (MANIFEST, MEASURES, SCORES)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A folder with a finished or unfinished run. `path` is relative to the workspace; its separator is `/`.

    `changed` is the modification time of the manifest or, if it is missing, of another file of the run. `stamp` is a
    text that changes if the size or modification time of the manifest or of the measures file changes.
    """

    path: str
    changed: float
    stamp: str


def find_run_folders(workspace: Path) -> Iterator[RunFolder]:
    """Yield the runs in a workspace. Folders are searched to a depth of three; hidden folders and links are skipped."""
    yield from _walk_runs(str(workspace), "", DEPTH)


def find_run_folder(folder: Path) -> RunFolder | None:
    """Return the run in a folder; None if the folder contains no run."""
    try:
        with os.scandir(folder) as entries:
            return _read_run(folder.name, {entry.name: entry for entry in entries})
    except OSError:
        return None


def _walk_runs(folder: str, path: str, levels: int) -> Iterator[RunFolder]:
    try:
        with os.scandir(folder) as entries:
            inside = {entry.name: entry for entry in entries}
    except OSError:
        return
    if path and (run := _read_run(path, inside)):
        yield run
        return
    if levels == 0:
        return
    for name, entry in inside.items():
        if not name.startswith(".") and entry.is_dir(follow_symlinks=False):
            yield from _walk_runs(entry.path, f"{path}/{name}" if path else name, levels - 1)


def _read_run(path: str, inside: dict[str, "os.DirEntry[str]"]) -> RunFolder | None:
    files = [inside[name] for name in _FILES if name in inside]
    if not files:
        return None
    try:
        states = [(entry.name, entry.stat()) for entry in files]
    except OSError:
        # A file was removed after its name was read.
        return None
    stamp = " ".join(f"{name}:{state.st_mtime_ns}:{state.st_size}" for name, state in states if name != SCORES)
    return RunFolder(path, states[0][1].st_mtime, stamp)
