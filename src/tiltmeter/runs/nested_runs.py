"""The folders of runs below a folder, such as that of a matrix."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tiltmeter.runs.run_files import MANIFEST, MEASURES, SCORES
from tiltmeter.text_files import expand_home

# A run of a matrix is two levels down; deeper folders are somebody's archive. Links may be circles, or lead to a whole
# disk, and are followed only to a run.
_DEPTH = 8


def list_nested_runs(folder: Path) -> list[Path]:
    """The folder itself if it is a run, else all runs below it, in the order of their names."""
    return sorted(_scan_folder(folder, _DEPTH))


def expand_run_folders(folders: Sequence[Path]) -> list[Path]:
    """The runs that these folders are or hold; a folder without any stays, to be refused by who reads it."""
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
