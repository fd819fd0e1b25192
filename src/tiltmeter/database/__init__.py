"""Databases in SQLite files that several processes can use at the same time."""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import quote

from tiltmeter.database.connection import Connection, StoreError, translate_errors
from tiltmeter.database.table_columns import list_table_columns
from tiltmeter.files import copy_folder_permissions, create_shared_folder

# Maximum number of seconds to wait for a lock that another process has.
_LOCK_TIMEOUT = 60.0
# Maximum number of values in one query. Older versions of SQLite allow only 999 variables in a statement.
_VALUES_PER_QUERY = 500

# The journal mode of SQLite. With a write-ahead log (WAL), other processes can read during a transaction, but WAL needs
# shared memory, which network file systems do not have. TRUNCATE works on network file systems, for one process at a
# time.
Journal = Literal["WAL", "TRUNCATE"]


class Database:
    """An open SQLite file with explicit transactions; database errors are raised as StoreError.

    If the file cannot be written, it is opened for reading, and `is_read_only` is True.
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
        """Open the file and create missing tables.

        Error messages contain `contents`, a word for the rows such as "answers", and `remedy`, what the user can do
        about an error. `synchronous` is the SQLite pragma of this name: with FULL, each transaction is synced to disk.
        """
        self.is_read_only = self._is_new = False
        self._file, self._schema, self._synchronous = path, schema, synchronous
        self.journal: Journal = journal
        self._labels = (path, contents, remedy)
        if path != ":memory:":
            create_shared_folder(Path(path).parent)
        try:
            self._open_file()
        except StoreError as error:
            self._handle_open_error(error)

    def _handle_open_error(self, error: StoreError) -> None:
        """Open the file read-only if `error` says that the file cannot be written; otherwise raise `error`."""
        if not (error.is_not_writable and self._open_read_only()):
            raise error
        self._check_rows()

    def _open_file(self) -> None:
        self._is_new = self._file != ":memory:" and not Path(self._file).exists()
        self._db = self._open_connection(self._file)
        if self._is_new:
            copy_folder_permissions(Path(self._file))
        self._set_journal_mode()
        self._db.execute(f"PRAGMA synchronous = {self._synchronous}")
        self._check_rows()
        self._db.executescript(self._schema)
        self._read_each_table()

    def _open_connection(self, path: str, *, uri: bool = False) -> Connection:
        with translate_errors(self._labels):
            db = sqlite3.connect(path, timeout=_LOCK_TIMEOUT, isolation_level=None, factory=Connection, uri=uri)
        db.labels = self._labels
        return db

    def _open_read_only(self) -> bool:
        """Open the file read-only, because it cannot be written or the disk is full; return whether this works."""
        self.close()
        if not Path(self._file).is_file():
            return False
        # `immutable` is for folders where SQLite cannot create the file for its shared memory. It is safe, because no
        # other process can write in such a folder either.
        for mode in ("mode=ro", "mode=ro&immutable=1"):
            with suppress(StoreError):
                self._db = self._open_connection(f"file:{quote(str(Path(self._file).resolve()))}?{mode}", uri=True)
                self._read_each_table()
                self.is_read_only = True
                return True
        return False

    def _check_rows(self) -> None:
        """Raise a StoreError if rows of the file are damaged. Subclasses implement this check.

        This method is called before the object changes the file.
        """

    def _read_each_table(self) -> None:
        """Read one row of each table, so that missing pages or columns are detected when the file is opened."""
        for table, columns in list_table_columns(self._schema).items():
            self._db.execute(f"SELECT {', '.join(columns)} FROM {table} LIMIT 1").fetchall()

    def _set_journal_mode(self) -> None:
        """Set the journal mode.

        The SQL statement is retried until a timeout, because it fails if another process changes the mode of the same
        new file at this moment. SQLite itself does not wait in this case.
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

    def select_rows_with_values(
        self, query: str, parameters: Sequence[object], values: Iterable[object]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query that ends in `column IN`, for any number of values of this column.

        `parameters` are the values for the query's question marks.
        """
        all_values = list(values)
        for start in range(0, len(all_values), _VALUES_PER_QUERY):
            chunk = all_values[start : start + _VALUES_PER_QUERY]
            yield from self._db.execute(f"{query} ({','.join('?' * len(chunk))})", [*parameters, *chunk])

    @contextmanager
    def begin_transaction(self, *, synced: bool = True) -> Iterator[None]:
        """Run the block as one transaction: commit its statements at the end, or roll them back after an exception.

        If `synced` is False, the changes are not synced to disk: they survive the end of the process, but perhaps not a
        power failure.
        """
        if not synced:
            self._db.execute("PRAGMA synchronous = NORMAL")
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # if the disk is full, SQLite has already ended the transaction
                    self._db.execute("ROLLBACK")
                raise
        finally:
            if not synced:
                self._db.execute(f"PRAGMA synchronous = {self._synchronous}")

    def reject_read_only(self, missing: int) -> None:
        """Raise a StoreError if the file is read-only; `missing` is the number of rows that cannot be added."""
        if self.is_read_only:
            reason = f"it is read-only, and {missing:,} {self._labels[1]} are missing"
            raise StoreError(reason, self._labels, sqlite3.SQLITE_READONLY)

    @property
    def is_writing(self) -> bool:
        """Whether a transaction is open."""
        return self._db.in_transaction

    def close(self) -> None:
        """Close the connection."""
        if hasattr(self, "_db"):  # the attribute is missing if the file could not be opened
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
