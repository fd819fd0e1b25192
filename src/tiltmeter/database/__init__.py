"""SQLite files that several processes may use at once."""

import logging
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, Self, TypeVar
from urllib.parse import quote

from tiltmeter.database.connection import Connection, StoreError, translate_errors
from tiltmeter.database.rescue import finish_rescue, rescue
from tiltmeter.database.table_columns import has_columns, list_table_columns
from tiltmeter.files import create_shared_folder, share_like_folder

logger = logging.getLogger(__name__)

# Seconds to wait for a lock held by another process.
_LOCK_TIMEOUT = 60.0
# Values per query: below SQLite's oldest limit of 999 variables in a statement.
_AT_ONCE = 500

_Found = TypeVar("_Found")

# How SQLite keeps a transaction whole: a write-ahead log lets others read meanwhile, but needs shared memory, which
# network file systems do not have; a journal that is truncated at each commit works there, for one process at a time.
Journal = Literal["WAL", "TRUNCATE"]


class Database:
    """An open SQLite file with explicit transactions; its errors are `StoreError`s.

    A file that can be read but not written is opened for reading, and `is_read_only` is True.
    """

    def __init__(
        self,
        path: str,
        schema: str,
        *,
        synchronous: Literal["NORMAL", "FULL"],
        contents: str,
        remedy: str,
        is_cache: bool = False,
        journal: Journal = "WAL",
    ) -> None:
        """Open the file, creating its tables by `schema`; `contents` and `remedy` are words for the error message.

        What a cache holds can be had again: of a damaged one, what can be read is kept, and the file is set aside.
        """
        self.is_read_only = self._is_new = False
        self._file, self._schema, self._synchronous, self._is_cache = path, schema, synchronous, is_cache
        self.journal: Journal = journal
        self._words = (path, contents, remedy)
        if path != ":memory:":
            create_shared_folder(Path(path).parent)
        try:
            self._open()
        except StoreError as error:
            if is_cache and (error.is_damaged or error.is_of_schema):
                self._rescue(error)
            elif not (error.is_not_writable and self._open_read_only()):
                raise
            else:
                self._check_rows()

    def _open(self) -> None:
        if self._is_cache and self._file != ":memory:":
            finish_rescue(Path(self._file))
        self._is_new = self._file != ":memory:" and not Path(self._file).exists()
        self._db = self._connected(self._file)
        if self._is_new:
            share_like_folder(Path(self._file))
        self._choose_journal()
        self._db.execute(f"PRAGMA synchronous = {self._synchronous}")
        if self._is_cache:
            self._reject_foreign()
        self._check_rows()
        self._add_columns(self._schema)
        self._db.executescript(self._schema)
        self._try_tables()
        if self._is_cache and not has_columns(self._db, self._schema):
            raise StoreError("its tables are damaged", self._words, sqlite3.SQLITE_CORRUPT)

    def _connected(self, path: str, *, uri: bool = False) -> Connection:
        with translate_errors(self._words):
            db = sqlite3.connect(path, timeout=_LOCK_TIMEOUT, isolation_level=None, factory=Connection, uri=uri)
        db.words = self._words
        return db

    def _open_read_only(self) -> bool:
        """Open a file that cannot be written, or whose disk is full; whether that can be done."""
        self.close()
        if not Path(self._file).is_file():
            return False
        # Where SQLite cannot share memory with other processes beside the file, nobody else writes to it either.
        for how in ("mode=ro", "mode=ro&immutable=1"):
            with suppress(StoreError):
                self._db = self._connected(f"file:{quote(str(Path(self._file).resolve()))}?{how}", uri=True)
                self._try_tables()
                self.is_read_only = True
                return True
        return False

    def _rescue(self, error: StoreError) -> None:
        """Set the damaged file aside, keep what can be read of it, and open the new one."""
        self.close()
        logger.warning("%s", rescue(Path(self._file), self._schema, *self._words[1:2], str(error.reason)))
        self._open()

    def retry_after_rescue(self, work: Callable[[], _Found]) -> _Found:
        """What `work` returns; if it meets damage in a cache, what can be read is kept and it is done once more."""
        try:
            return work()
        except StoreError as error:
            if not (self._is_cache and error.is_damaged) or self.is_read_only:
                raise
            self._rescue(error)
            return work()

    def _check_rows(self) -> None:
        """A StoreError if the rows of the file are not as they were written; called before anything is changed."""

    def _try_tables(self) -> None:
        """Read a row of each table, so that a file that lacks pages or columns is found when it is opened."""
        for table, columns in list_table_columns(self._schema).items():
            self._db.execute(f"SELECT {', '.join(columns)} FROM {table} LIMIT 1").fetchall()

    def _reject_foreign(self) -> None:
        """A StoreError if the file belongs to another program: it has tables, and none of ours."""
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        there = {str(name) for (name,) in self._db.execute(query)}
        if there and not there & set(list_table_columns(self._schema)):
            raise StoreError("it is the database of another program", self._words, sqlite3.SQLITE_ERROR)

    def _choose_journal(self) -> None:
        """Switch to write-ahead logging, so that one process can read while another writes, or to the other journal.

        SQLite's busy timeout does not apply to this statement: it fails at once if another process is switching the
        same new file, so it is retried here.
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

    def _add_columns(self, schema: str) -> None:
        """Add the columns that the tables of a file from an earlier version lack."""
        for table, name, rules in self._list_missing_columns(schema):
            try:
                self._db.execute(f"ALTER TABLE {table} ADD COLUMN {name} {rules}")
            except StoreError:
                if name not in self._list_columns(table):  # another process may have added it meanwhile
                    raise

    def _list_missing_columns(self, schema: str) -> list[tuple[str, str, str]]:
        """Table, name and rules of the columns that the file lacks; not of tables that it lacks."""
        wanted = sqlite3.connect(":memory:")
        wanted.executescript(schema)
        missing = []
        for table in list_table_columns(schema):
            there = self._list_columns(table)
            for _, name, kind, required, default, _ in wanted.execute(f"PRAGMA table_info({table})").fetchall():
                if there and name not in there:
                    rules = (" NOT NULL" if required else "") + (f" DEFAULT {default}" if default is not None else "")
                    missing.append((table, str(name), f"{kind}{rules}"))
        wanted.close()
        return missing

    def _list_columns(self, table: str) -> set[str]:
        return {str(row[1]) for row in self._db.execute(f"PRAGMA table_info({table})")}

    def select_in(self, query: str, given: Sequence[object], values: Iterable[object]) -> Iterator[tuple[Any, ...]]:
        """The rows of a query that ends in `column IN`, for any number of values; `given` are its other parameters."""
        wanted = list(values)
        for start in range(0, len(wanted), _AT_ONCE):
            chunk = wanted[start : start + _AT_ONCE]
            yield from self._db.execute(f"{query} ({','.join('?' * len(chunk))})", [*given, *chunk])

    @contextmanager
    def begin_transaction(self, *, synced: bool = True) -> Iterator[None]:
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
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # a full disk has ended it already
                    self._db.execute("ROLLBACK")
                raise
        finally:
            if not synced:
                self._db.execute(f"PRAGMA synchronous = {self._synchronous}")

    def reject_read_only(self, missing: int) -> None:
        """A StoreError if the file cannot be written, to be called before what is `missing` in it is asked for."""
        if self.is_read_only:
            reason = f"it cannot be written, and {missing:,} {self._words[1]} are not in it"
            raise StoreError(reason, self._words, sqlite3.SQLITE_READONLY)

    @property
    def is_writing(self) -> bool:
        """Whether a transaction is open."""
        return self._db.in_transaction

    def close(self) -> None:
        """Close the connection."""
        if hasattr(self, "_db"):  # else the file could not be opened
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
