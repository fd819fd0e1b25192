"""SQLite files with people's work: changes soon leave the write-ahead log, and a loss of changes is noticed.

After a synced transaction, the log is copied into the database file, so that a log that is lost or damaged later takes
nothing with it. This syncs the disk twice more, so it is not done after each of many changes in a short time: these are
copied together, the last of them by `copy_log` or when the file is closed. While another process reads an older state,
part of the log has to stay. Until then, the change count (`change_count.py`) shows whether the log has everything.
"""

import logging
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from filelock import FileLock

from tiltmeter.database import Database
from tiltmeter.database.change_count import (
    ChangeCount,
    confirm_changes,
    count_file_changes,
    get_count_path,
    get_log_path,
    is_database,
    read_count,
    write_count,
)
from tiltmeter.database.connection import StoreError
from tiltmeter.database.table_columns import list_table_columns
from tiltmeter.files import get_lock_mode

logger = logging.getLogger(__name__)

_RESTORE = "restore it from a copy"


class ChangeCountDatabase(Database):
    """A database whose changes are counted; a StoreError when it is opened if confirmed changes are missing."""

    # The log is copied again after so many times the time that the last copying took: at most a twentieth of all time.
    pause_between_copies = 20.0
    # Whether the log has changes that are not known to be in the file.
    is_log_ahead = False
    _next_copy = 0.0

    def _open(self) -> None:
        if Path(self._file).exists():
            self._reject_empty()
            self._check_changes()
        super()._open()

    def _open_read_only(self) -> bool:
        if not super()._open_read_only():
            return False
        path = Path(self._file)
        count, in_file = read_count(path), count_file_changes(path)
        # A file that was replaced by an older copy is accepted; `_check_changes` describes the cases.
        if in_file >= count.in_file and (known := self._count_changes()) < count.confirmed:
            raise self._build_loss_error(count.confirmed, known)
        return True

    @contextmanager
    def begin_transaction(self, *, synced: bool = True) -> Iterator[None]:
        """Commit the statements of the block as one change; roll them back on an exception.

        A synced change is counted at the end. `synced` is as in `Database.transaction`.
        """
        with super().begin_transaction(synced=synced):
            yield
            changes = self._count_changes() + 1
            self._db.execute(f"PRAGMA user_version = {changes}")
        if synced:
            self.is_log_ahead = True
            self._confirm(ChangeCount(changes, 0))
            if time.monotonic() >= self._next_copy:
                self.copy_log()

    def copy_log(self) -> None:
        """Copy the log into the file, without waiting for readers, and count the changes."""
        began = time.monotonic()
        try:
            changes = self._count_changes()
            busy, in_log, copied = self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except StoreError as error:
            self.is_log_ahead = False  # it is not tried again before the next change
            logger.warning("The last changes to %s are stored in its log only (%s).", self._file, error)
            return
        self.is_log_ahead = bool(busy) or in_log != copied
        self._confirm(ChangeCount(changes, 0 if self.is_log_ahead else changes))
        took = time.monotonic() - began
        self._next_copy = began + took * (1 + self.pause_between_copies)

    def _confirm(self, count: ChangeCount) -> None:
        """Count changes, which are stored already."""
        try:
            confirm_changes(Path(self._file), count)
        except OSError as error:
            logger.warning("The changes to %s are stored, but not counted (%s).", self._file, error)

    def _count_changes(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def _reject_empty(self) -> None:
        """A StoreError for a file that is empty or cut off within its first page, which SQLite takes for a new one."""
        try:
            is_sound = is_database(Path(self._file))
        except OSError:
            return  # SQLite's own error says more
        if not is_sound:
            raise self._build_error_with_remedy("it is empty or cut off, or is no database")

    def _check_rows(self) -> None:
        """A StoreError for a file without any of the tables; called before missing tables are created."""
        names = {str(name) for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not self._is_new and not names & set(list_table_columns(self._schema)):
            raise self._build_error_with_remedy("it has none of the tables that it should have")
        super()._check_rows()

    def _check_changes(self) -> None:
        """Compare file, log and count before SQLite may write: closing the file would make a damaged log final.

        A file with fewer changes than it is known to have had is an older copy that somebody has put there; a log with
        fewer changes than the file is one of an earlier time. In both cases the log does not belong to the file.
        """
        path = Path(self._file)
        # Other processes may be writing, and numbers only grow; so they are read in this order.
        count, in_file, known = read_count(path), count_file_changes(path), self._count_changes_with_log()
        if known is None:
            return
        is_older_copy = in_file < count.in_file
        if max(in_file, known) < count.confirmed and not is_older_copy:
            raise self._build_loss_error(count.confirmed, known)
        if is_older_copy or known < in_file:
            self._set_log_aside()

    def _count_changes_with_log(self) -> int | None:
        """The number of changes in the file and its log, read without changing either; None if it cannot be read."""
        path = Path(self._file)
        if not _has_content(get_log_path(path)):
            return count_file_changes(path)
        try:
            address = f"file:{quote(str(path.resolve()))}?mode=ro"
            with closing(self._connected(address, uri=True)) as db:
                return int(db.execute("PRAGMA user_version").fetchone()[0])
        except StoreError as error:
            if error.is_not_writable:  # SQLite cannot make its shared memory; the file will be opened for reading only
                return None
            raise

    def _set_log_aside(self) -> None:
        """Rename a log that does not belong to the file, and count the changes of the file from now on."""
        path = Path(self._file)
        with FileLock(f"{path}.rescue.lock", mode=get_lock_mode(path)):
            count, in_file, known = read_count(path), count_file_changes(path), self._count_changes_with_log()
            if in_file >= count.in_file and (known is None or known >= in_file):
                return  # another process has done it meanwhile
            if _has_content(log := get_log_path(path)):
                aside = next(name for number in range(1, 10_000) if not (name := _get_aside_path(log, number)).exists())
                log.rename(aside)
                path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
                logger.warning("%s does not belong to %s and is now %s.", log.name, path, aside.name)
            if in_file < count.in_file:
                logger.warning(
                    "%s is an older copy: it has %s of the %s changes that were stored here.",
                    path,
                    f"{in_file:,}",
                    f"{count.confirmed:,}",
                )
            write_count(path, ChangeCount(in_file, in_file))

    def _build_loss_error(self, confirmed: int, known: int) -> StoreError:
        path = Path(self._file)
        return self._build_error_with_remedy(
            f"its log {get_log_path(path).name} is damaged or missing: "
            f"{confirmed - known:,} of {confirmed:,} changes that "
            "were stored are lost",
            f"restore both files from a copy, or delete {get_count_path(path).name} to go on without these changes",
        )

    def _build_error_with_remedy(self, reason: str, remedy: str = _RESTORE) -> StoreError:
        path, contents, _ = self._words
        return StoreError(reason, (path, contents, remedy), sqlite3.SQLITE_CORRUPT)


def _has_content(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _get_aside_path(log: Path, number: int) -> Path:
    return log.with_name(f"{log.name}.damaged-{number}")
