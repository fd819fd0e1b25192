"""Replacement of all files of a run's folder together: a failed or killed save leaves the previous run unchanged.

New files are written to a temporary folder inside the run's folder. When all of them are on disk, the folder is renamed
to `.saved`, and the new run is complete. Its files are then moved to their places, by this process or, if it is killed,
by the next process that reads or writes the run.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tiltmeter.files import build_write_error, create_folder, create_temporary_folder, lock_folder, make_readable

MANIFEST, SCORES, MEASURES, ITEMS = "manifest.json", "scores.parquet", "measures.json", "items.parquet"
ANSWERS, TOKENS = "answers.parquet", "tokens.parquet"
# The manifest is moved last, so that a folder with a manifest is complete.
NAMES: Sequence[str] = (SCORES, ITEMS, ANSWERS, TOKENS, MEASURES, MANIFEST)
# `.saved`: all new files are written, and the old ones still exist. `.moving`: the old ones are deleted, and the new
# ones are being moved.
_SAVED, _MOVING = ".saved", ".moving"


@contextmanager
def replace_files(folder: Path) -> Iterator[Path]:
    """Yield a folder for the new files of a run; without an exception, they replace the files in `folder`.

    Other files, such as a report, are kept.
    """
    create_folder(folder)
    finish_save(folder)
    with create_temporary_folder(folder) as part:
        yield part
        try:
            make_readable(part)
            part.rename(folder / _SAVED)
        except OSError as error:
            raise build_write_error(folder, error) from error
    finish_save(folder)


def finish_save(folder: Path) -> None:
    """Move the files of a complete save to their places, if there is one."""
    saved, moving = folder / _SAVED, folder / _MOVING
    if not saved.is_dir() and not moving.is_dir():
        return
    with lock_folder(folder):
        try:
            if saved.is_dir() and not moving.is_dir():
                # Delete the manifest first, so that a mixture of old and new files is not read as a run.
                for name in reversed(NAMES):
                    (folder / name).unlink(missing_ok=True)
                saved.rename(moving)
            if moving.is_dir():
                for name in NAMES:
                    if (moving / name).is_file():
                        (moving / name).replace(folder / name)
                shutil.rmtree(moving, ignore_errors=True)
        except OSError as error:
            raise build_write_error(folder, error) from error
