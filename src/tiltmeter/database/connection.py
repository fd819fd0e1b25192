"""SQLite connections whose errors are sentences that name the file and a remedy."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from tiltmeter.errors import TiltmeterError

# The path of the file, what it holds, and a remedy.
StoreLabels = tuple[str, str, str]

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)
_NOT_WRITABLE = (
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
)
# Errors in a statement, not in the file.
_OF_STATEMENTS = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.DataError)


class StoreError(TiltmeterError):
    """A database cannot be opened, read or written."""

    def __init__(self, reason: str, words: StoreLabels, code: int) -> None:
        path, contents, remedy = words
        self.reason, self.code = reason, code & 0xFF  # the primary result code of an extended one
        if self.code == sqlite3.SQLITE_FULL:
            remedy = "make room on its disk and run the same command again, which goes on from what is stored"
        super().__init__(f"The store of {contents} {path} cannot be used ({reason}); {remedy}.")

    @property
    def is_damaged(self) -> bool:
        """Whether the file is damaged, or is no database."""
        return self.code in _DAMAGED

    @property
    def is_not_writable(self) -> bool:
        """Whether the file or its folder cannot be written, or the disk is full."""
        return self.code in _NOT_WRITABLE

    @property
    def is_busy(self) -> bool:
        """Whether another process holds a lock."""
        return self.code == sqlite3.SQLITE_BUSY

    @property
    def is_of_schema(self) -> bool:
        """Whether the tables are not those that a statement expects."""
        return self.code == sqlite3.SQLITE_ERROR

    def __reduce__(self) -> tuple[Any, ...]:
        return TiltmeterError, (str(self),)  # for the pipe of a worker process


class Connection(sqlite3.Connection):
    """A connection that raises a StoreError instead of SQLite's errors, except those that its caller has made."""

    words: StoreLabels = ("", "", "")

    def cursor(self, factory: Any = None) -> Any:
        """A cursor with the same errors."""
        return super().cursor(factory or _Cursor)

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Run a statement."""
        cursor: sqlite3.Cursor = self.cursor()
        return cursor.execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
        """Run a statement for each of the parameters."""
        cursor: sqlite3.Cursor = self.cursor()
        return cursor.executemany(sql, parameters)

    def executescript(self, script: str, /) -> sqlite3.Cursor:
        """Run several statements."""
        cursor: sqlite3.Cursor = self.cursor()
        return cursor.executescript(script)


class _Cursor(sqlite3.Cursor):
    connection: Connection

    def execute(self, sql: str, parameters: Any = (), /) -> Self:
        with translate_errors(self.connection.words):
            return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> Self:
        with translate_errors(self.connection.words):
            return super().executemany(sql, parameters)

    def executescript(self, script: str, /) -> sqlite3.Cursor:
        with translate_errors(self.connection.words):
            return super().executescript(script)

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise _build_store_error(error, self.connection.words) from error

    def fetchone(self) -> Any:
        with translate_errors(self.connection.words):
            return super().fetchone()

    def fetchmany(self, size: int | None = None) -> list[Any]:
        with translate_errors(self.connection.words):
            return super().fetchmany(size)

    def fetchall(self) -> list[Any]:
        with translate_errors(self.connection.words):
            return super().fetchall()


@contextmanager
def translate_errors(words: StoreLabels) -> Iterator[None]:
    """Raise a StoreError for an error in a database file."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if isinstance(error, _OF_STATEMENTS):
            raise
        raise _build_store_error(error, words) from error
    except UnicodeDecodeError as error:
        raise _build_store_error(error, words) from error


def _build_store_error(error: sqlite3.Error | UnicodeDecodeError, words: StoreLabels) -> StoreError:
    if isinstance(error, UnicodeDecodeError):  # SQLite's own message, which quotes a damaged schema
        return StoreError("its tables are damaged", words, sqlite3.SQLITE_CORRUPT)
    return StoreError(str(error), words, getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR))
