"""The lock of a project: only one step can run at a time. The lock is released when its process ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from tiltmeter.errors import UsageError

_LOCK = ".lock"


class BusyProjectError(UsageError):
    """Another process is running a step of the project."""

    on_page = "Another user or command is working on this project; wait a moment and try again."


@contextmanager
def lock_project(folder: Path) -> Iterator[None]:
    """Lock a project for one step; raise a BusyProjectError if another process has locked it.

    Decisions, ratings and written items do not need the lock, because each of them is stored in one transaction.
    """
    try:
        with FileLock(folder / _LOCK, timeout=0):
            yield
    except Timeout as error:
        raise BusyProjectError(
            f"Another command is working on {folder}; wait until it has finished, then try again."
        ) from error
