"""Databases with user data: the write-ahead log is soon copied into the database file, and lost changes are detected.

After a synced transaction, the log is copied into the database file, so that no change is lost if the log is lost
later. Copying needs two more disk syncs. Therefore changes that follow each other quickly are copied together; the last
of them are copied by `copy_log` or when the file is closed. While another process reads an older state of the database,
a part of the log cannot be copied. Until the log is copied, the change count (`change_count.py`) shows whether the log
is complete.
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

_RESTORE = "restore it from a backup"


class ChangeCountDatabase(Database):
    """A database that counts its changes; opening it raises a StoreError if confirmed changes are missing."""

    # The minimum pause after copying the log, as a multiple of the time that copying took. With 20, copying takes at
    # most 5% of the time of the process.
    pause_between_copies = 20.0
    # Whether the log may contain changes that are not in the database file.
    is_log_ahead = False
    _next_copy = 0.0

    def _open_file(self) -> None:
        if Path(self._file).exists():
            self._reject_empty_file()
            self._check_changes()
        super()._open_file()

    def _open_read_only(self) -> bool:
        if not super()._open_read_only():
            return False
        path = Path(self._file)
        count, in_file = read_count(path), count_file_changes(path)
        # If the file has fewer changes than the count file says, the user has restored an older copy of the file, which
        # is accepted; see `_check_changes`. Otherwise, missing changes are an error.
        if in_file >= count.in_file and (found := self._count_changes()) < count.confirmed:
            raise self._build_loss_error(count.confirmed, found)
        return True

    @contextmanager
    def begin_transaction(self, *, synced: bool = True) -> Iterator[None]:
        """Run the `with` block as one transaction: commit it at the end, or roll it back after an exception.

        A transaction counts as one change; only synced changes are counted. For `synced` see
        `Database.begin_transaction`.
        """
        with super().begin_transaction(synced=synced):
            yield
            changes = self._count_changes() + 1
            self._db.execute(f"PRAGMA user_version = {changes}")
        if synced:
            self.is_log_ahead = True
            self._confirm_change_count(ChangeCount(changes, 0))
            if time.monotonic() >= self._next_copy:
                self.copy_log()

    def copy_log(self) -> None:
        """Copy the write-ahead log into the database file without waiting for readers, and update the count file."""
        began = time.monotonic()
        try:
            changes = self._count_changes()
            busy, in_log, copied = self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except StoreError as error:
            self.is_log_ahead = False  # so that copying is not tried again before the next change
            logger.warning("The last changes to %s are in its write-ahead log only (%s).", self._file, error)
            return
        self.is_log_ahead = bool(busy) or in_log != copied
        self._confirm_change_count(ChangeCount(changes, 0 if self.is_log_ahead else changes))
        took = time.monotonic() - began
        self._next_copy = began + took * (1 + self.pause_between_copies)

    def _confirm_change_count(self, count: ChangeCount) -> None:
        """Write `count` to the count file; call this only after the changes are on disk."""
        try:
            confirm_changes(Path(self._file), count)
        except OSError as error:
            logger.warning("The changes to %s are stored, but cannot be counted (%s).", self._file, error)

    def _count_changes(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def _reject_empty_file(self) -> None:
        """Raise a StoreError if the file is empty or shorter than a page; SQLite would treat it as a new file."""
        try:
            is_valid = is_database(Path(self._file))
        except OSError:
            return  # SQLite will raise a more specific error
        if not is_valid:
            raise self._build_error_with_remedy("the file is empty, truncated or not a database")

    def _check_rows(self) -> None:
        """Raise a StoreError if the file has none of the expected tables."""
        names = {str(name) for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not self._is_new and not names & set(list_table_columns(self._schema)):
            raise self._build_error_with_remedy("the file has none of the expected tables")
        super()._check_rows()

    def _check_changes(self) -> None:
        """Raise a StoreError if confirmed changes are missing; rename a log that does not belong to the database file.

        This check comes before SQLite writes, because closing the file would make a loss of changes permanent. If the
        file has fewer changes than were confirmed to be in it, it is an older copy that the user restored. If the log
        has fewer changes than the file, it is an older log. In both cases the log does not belong to the file.
        """
        path = Path(self._file)
        # Read the count file first and the log last: other processes may be writing, and the numbers only increase. So
        # a change of another process cannot look like a lost change.
        count, in_file, with_log = read_count(path), count_file_changes(path), self._count_changes_with_log()
        if with_log is None:
            return
        is_older_copy = in_file < count.in_file
        if max(in_file, with_log) < count.confirmed and not is_older_copy:
            raise self._build_loss_error(count.confirmed, with_log)
        if is_older_copy or with_log < in_file:
            self._rename_log()

    def _count_changes_with_log(self) -> int | None:
        """Return the number of changes in the database file and its log; None if they cannot be read.

        The database is opened read-only, so that SQLite does not copy the log.
        """
        path = Path(self._file)
        if not _has_content(get_log_path(path)):
            return count_file_changes(path)
        try:
            address = f"file:{quote(str(path.resolve()))}?mode=ro"
            with closing(self._open_connection(address, uri=True)) as db:
                return int(db.execute("PRAGMA user_version").fetchone()[0])
        except StoreError as error:
            if error.is_not_writable:  # SQLite cannot create its shared memory; the file will be opened read-only
                return None
            raise

    def _rename_log(self) -> None:
        """Rename a log that does not belong to the database file, and write the file's own count to the count file."""
        path = Path(self._file)
        with FileLock(f"{path}.rescue.lock", mode=get_lock_mode(path)):
            count, in_file, with_log = read_count(path), count_file_changes(path), self._count_changes_with_log()
            if in_file >= count.in_file and (with_log is None or with_log >= in_file):
                return  # another process has already renamed the log
            if _has_content(log := get_log_path(path)):
                names = (log.with_name(f"{log.name}.damaged-{number}") for number in range(1, 10_000))
                renamed = next(name for name in names if not name.exists())
                log.rename(renamed)
                path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
                logger.warning("%s does not belong to %s and is renamed to %s.", log.name, path, renamed.name)
            if in_file < count.in_file:
                logger.warning(
                    "%s is an older copy of the database: it has %s of %s changes.",
                    path,
                    f"{in_file:,}",
                    f"{count.confirmed:,}",
                )
            write_count(path, ChangeCount(in_file, in_file))

    def _build_loss_error(self, confirmed: int, found: int) -> StoreError:
        path = Path(self._file)
        return self._build_error_with_remedy(
            f"{get_log_path(path).name} is damaged or missing: {confirmed - found:,} of {confirmed:,} changes are lost",
            f"restore {path.name} and its log from a backup, or, if there is no backup, "
            f"delete {get_count_path(path).name} to continue without the lost changes",
        )

    def _build_error_with_remedy(self, reason: str, remedy: str = _RESTORE) -> StoreError:
        path, contents, _ = self._labels
        return StoreError(reason, (path, contents, remedy), sqlite3.SQLITE_CORRUPT)


def _has_content(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0
