"""SQLite files that several processes may use at once."""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Self

from tiltmeter.errors import TiltmeterError

# Seconds to wait for a lock held by another process.
_LOCK_TIMEOUT = 60.0
# Values per query: below SQLite's oldest limit of 999 variables in a statement.
_AT_ONCE = 500


class Database:
    """An open SQLite file with write-ahead logging and explicit transactions."""

    def __init__(
        self, path: str, schema: str, *, synchronous: Literal["NORMAL", "FULL"], contents: str, remedy: str
    ) -> None:
        """Open the file, creating its tables by `schema`; `contents` and `remedy` are words for the error message."""
        if path != ":memory:":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = sqlite3.connect(path, timeout=_LOCK_TIMEOUT, isolation_level=None)
            self._synchronous = synchronous
            self._enable_wal()
            self._db.execute(f"PRAGMA synchronous = {synchronous}")
            self._add_columns(schema)
            self._db.executescript(schema)
        except sqlite3.Error as error:
            raise TiltmeterError(f"The store of {contents} {path} cannot be opened ({error}); {remedy}.") from error

    def _enable_wal(self) -> None:
        """Switch to write-ahead logging, so that one process can read while another writes.

        SQLite's busy timeout does not apply to this statement: it fails at once if another process is switching the
        same new file, so it is retried here.
        """
        deadline = time.monotonic() + _LOCK_TIMEOUT
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                # The low byte of an extended result code is the primary result code.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    def _add_columns(self, schema: str) -> None:
        """Add the columns that the tables of a file from an earlier version lack."""
        wanted = sqlite3.connect(":memory:")
        wanted.executescript(schema)
        for (table,) in wanted.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            there = self._columns(table)
            for _, name, kind, required, default, _ in wanted.execute(f"PRAGMA table_info({table})").fetchall():
                if not there or name in there:
                    continue
                rules = (" NOT NULL" if required else "") + (f" DEFAULT {default}" if default is not None else "")
                try:
                    self._db.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind}{rules}")
                except sqlite3.OperationalError:
                    if name not in self._columns(table):  # another process may have added it meanwhile
                        raise
        wanted.close()

    def _columns(self, table: str) -> set[str]:
        return {str(row[1]) for row in self._db.execute(f"PRAGMA table_info({table})")}

    def select_in(self, query: str, given: Sequence[object], values: Iterable[object]) -> Iterator[tuple[Any, ...]]:
        """The rows of a query that ends in `column IN`, for any number of values; `given` are its other parameters."""
        wanted = list(values)
        for start in range(0, len(wanted), _AT_ONCE):
            chunk = wanted[start : start + _AT_ONCE]
            yield from self._db.execute(f"{query} ({','.join('?' * len(chunk))})", [*given, *chunk])

    @contextmanager
    def transaction(self, *, synced: bool = True) -> Iterator[None]:
        """Commit the statements of the block; roll them back on an exception.

        Of a file that is synced at every commit, one may be left to the next: what it writes survives the end of the
        process, but not that of the machine.
        """
        if not synced:
            self._db.execute("PRAGMA synchronous = NORMAL")
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
        finally:
            if not synced:
                self._db.execute(f"PRAGMA synchronous = {self._synchronous}")

    @property
    def is_writing(self) -> bool:
        """Whether a transaction is open."""
        return self._db.in_transaction

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
