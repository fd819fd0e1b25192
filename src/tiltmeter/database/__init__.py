"""SQLite files that several processes can use at the same time."""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import quote

from tiltmeter.database.connection import Connection, StoreError, translate_errors
from tiltmeter.database.table_columns import list_table_columns
from tiltmeter.files import create_shared_folder, share_like_folder

# Seconds to wait for a lock held by another process.
_LOCK_TIMEOUT = 60.0
# The number of values per query; older versions of SQLite allow 999 variables in a statement.
_VALUES_PER_QUERY = 500

# The journal mode of SQLite. With a write-ahead log (WAL), other processes can read during a transaction, but it needs
# shared memory, which network file systems do not have. TRUNCATE works there, for one process at a time.
Journal = Literal["WAL", "TRUNCATE"]


class Database:
    """An open SQLite file with explicit transactions; errors are raised as StoreError.

    A file that cannot be written is opened for reading, and `is_read_only` is True.
    """

    def __init__(
        self,
        path: str,
        schema: str,
        *,
        synchronous: Literal["NORMAL", "FULL"],
        contents: str,
        remedy: str,
        journal: Journal = "WAL",
    ) -> None:
        """Open the file and create missing tables; error messages contain `contents` and `remedy`."""
        self.is_read_only = self._is_new = False
        self._file, self._schema, self._synchronous = path, schema, synchronous
        self.journal: Journal = journal
        self._labels = (path, contents, remedy)
        if path != ":memory:":
            create_shared_folder(Path(path).parent)
        try:
            self._open()
        except StoreError as error:
            self._open_otherwise(error)

    def _open_otherwise(self, error: StoreError) -> None:
        """Open the file for reading if it cannot be written; otherwise raise the error."""
        if not (error.is_not_writable and self._open_read_only()):
            raise error
        self._check_rows()

    def _open(self) -> None:
        self._is_new = self._file != ":memory:" and not Path(self._file).exists()
        self._db = self._connected(self._file)
        if self._is_new:
            share_like_folder(Path(self._file))
        self._choose_journal()
        self._db.execute(f"PRAGMA synchronous = {self._synchronous}")
        self._check_rows()
        self._db.executescript(self._schema)
        self._try_tables()

    def _connected(self, path: str, *, uri: bool = False) -> Connection:
        with translate_errors(self._labels):
            db = sqlite3.connect(path, timeout=_LOCK_TIMEOUT, isolation_level=None, factory=Connection, uri=uri)
        db.labels = self._labels
        return db

    def _open_read_only(self) -> bool:
        """Open a file for reading that cannot be written or whose disk is full; return whether that works."""
        self.close()
        if not Path(self._file).is_file():
            return False
        # Immutable: in a folder where SQLite cannot create its shared memory, no other process can write either.
        for mode in ("mode=ro", "mode=ro&immutable=1"):
            with suppress(StoreError):
                self._db = self._connected(f"file:{quote(str(Path(self._file).resolve()))}?{mode}", uri=True)
                self._try_tables()
                self.is_read_only = True
                return True
        return False

    def _check_rows(self) -> None:
        """Raise a StoreError if rows of the file are damaged; called before any change."""

    def _try_tables(self) -> None:
        """Read a row of each table, so that missing pages or columns are detected on opening."""
        for table, columns in list_table_columns(self._schema).items():
            self._db.execute(f"SELECT {', '.join(columns)} FROM {table} LIMIT 1").fetchall()

    def _choose_journal(self) -> None:
        """Set the journal mode.

        It is retried because SQLite's busy timeout does not apply here: the statement fails if another process is
        changing the mode of the same new file.
        """
        deadline = time.monotonic() + _LOCK_TIMEOUT
        while True:
            try:
                self._db.execute(f"PRAGMA journal_mode = {self.journal}")
            except StoreError as error:
                if not error.is_busy or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    def select_in(
        self, query: str, parameters: Sequence[object], values: Iterable[object]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query that ends in `column IN`, for any number of values; `parameters` precede them."""
        all_values = list(values)
        for start in range(0, len(all_values), _VALUES_PER_QUERY):
            chunk = all_values[start : start + _VALUES_PER_QUERY]
            yield from self._db.execute(f"{query} ({','.join('?' * len(chunk))})", [*parameters, *chunk])

    @contextmanager
    def begin_transaction(self, *, synced: bool = True) -> Iterator[None]:
        """Commit the statements of the block; roll them back on an exception.

        If not `synced`, the changes survive the end of the process, but maybe not a power failure.
        """
        if not synced:
            self._db.execute("PRAGMA synchronous = NORMAL")
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # a full disk ends the transaction
                    self._db.execute("ROLLBACK")
                raise
        finally:
            if not synced:
                self._db.execute(f"PRAGMA synchronous = {self._synchronous}")

    def reject_read_only(self, missing: int) -> None:
        """Raise a StoreError if the file cannot be written; `missing` is the number of rows that it lacks."""
        if self.is_read_only:
            reason = f"it is read-only, and {missing:,} {self._labels[1]} are missing"
            raise StoreError(reason, self._labels, sqlite3.SQLITE_READONLY)

    @property
    def is_writing(self) -> bool:
        """Whether a transaction is open."""
        return self._db.in_transaction

    def close(self) -> None:
        """Close the connection."""
        if hasattr(self, "_db"):  # missing if the file could not be opened
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
