"""Find the runs inside a folder, for example in the folder of a matrix (runs of several models and data sets)."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tiltmeter.runs.run_files import MANIFEST, MEASURES, SCORES
from tiltmeter.text_files import expand_home

# The maximum depth of the search. Runs of a matrix are two levels below its folder; archives may be deeper. A symbolic
# link is followed only if its target is a run, because links could form a loop or lead to a whole disk.
_DEPTH = 8


def list_nested_runs(folder: Path) -> list[Path]:
    """Return the folder itself if it is a run, otherwise all runs inside it, sorted by path."""
    return sorted(_scan_folder(folder, _DEPTH))


def expand_run_folders(folders: Sequence[Path]) -> list[Path]:
    """Return the runs in these folders; a folder without runs is returned itself, so that reading it fails later."""
    return [path for folder in folders for path in list_nested_runs(expand_home(folder)) or [folder]]


def _scan_folder(folder: Path, levels: int) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            inside = list(entries)
    except OSError:
        return
    if any(entry.name in (MANIFEST, MEASURES, SCORES) for entry in inside):
        yield folder
    elif levels:
        for entry in inside:
            path = Path(entry.path)
            if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                yield from _scan_folder(path, levels - 1)
            elif entry.is_symlink() and (path / MANIFEST).is_file():
                yield path
