"""One step at a time: a lock on a project's folder, which the system takes back when a process ends or is killed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from tiltmeter.errors import UsageError

_LOCK = ".lock"


class BusyProjectError(UsageError):
    """Another step of a project is under way."""

    on_page = "Somebody else is publishing this project, or working on it by a command; wait a moment and try again."


@contextmanager
def lock_project(folder: Path) -> Iterator[None]:
    """Hold a project for one step; a UsageError if another process has it.

    Decisions, ratings and written items are single transactions, and do not need it.
    """
    try:
        with FileLock(folder / _LOCK, timeout=0):
            yield
    except Timeout as error:
        raise BusyProjectError(
            f"Another command is at work on {folder}; wait until it has ended, and run this one again."
        ) from error
