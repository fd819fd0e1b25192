"""Replace all files of a run's folder together, so that a failed or killed save leaves the previous run unchanged.

New files are written to a temporary folder inside the run's folder. When all new files are on disk, the temporary
folder is renamed to `.saved`, and the new run is complete. Then this process moves the new files into the run's folder.
If this process is killed, the next process that reads or writes the run moves them.
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
# Names of the temporary folder. `.saved`: all new files are written, and the old files still exist. `.moving`: the old
# files are deleted, and the new files are being moved.
_SAVED, _MOVING = ".saved", ".moving"


@contextmanager
def replace_files(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder for the new files of a run; they replace the run's files in `folder` at the end.

    After an exception, nothing is replaced. Other files in `folder`, such as a report, are kept.
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
    """If the folder contains a complete but interrupted save, move its files into the folder."""
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
