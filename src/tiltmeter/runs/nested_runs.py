"""The folders of runs below a folder, such as that of a matrix."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tiltmeter.reading import home_path
from tiltmeter.runs.run_files import MANIFEST, MEASURES, SCORES

# A run of a matrix is two levels down; deeper folders are somebody's archive. Links may be circles, or lead to a whole
# disk, and are followed only to a run.
_DEPTH = 8


def runs_below(folder: Path) -> list[Path]:
    """The folder itself if it is a run, else all runs below it, in the order of their names."""
    return sorted(_below(folder, _DEPTH))


def each_run(folders: Sequence[Path]) -> list[Path]:
    """The runs that these folders are or hold; a folder without any stays, to be refused by who reads it."""
    return [path for folder in folders for path in runs_below(home_path(folder)) or [folder]]


def _below(folder: Path, levels: int) -> Iterator[Path]:
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
                yield from _below(path, levels - 1)
            elif entry.is_symlink() and (path / MANIFEST).is_file():
                yield path
