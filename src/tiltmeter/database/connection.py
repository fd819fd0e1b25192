"""SQLite connections whose errors contain the path of the file and a remedy."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from tiltmeter.errors import TiltmeterError

# The texts for error messages: the path of the file, a word for its rows (such as "answers"), and a remedy.
StoreLabels = tuple[str, str, str]

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)
_NOT_WRITABLE = (
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
)
# Errors whose cause is a wrong SQL statement, not a damaged file.
_STATEMENT_ERRORS = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.DataError)


class StoreError(TiltmeterError):
    """A database cannot be opened, read or written."""

    def __init__(self, reason: str, labels: StoreLabels, code: int) -> None:
        path, contents, remedy = labels
        self.reason, self.code = reason, code & 0xFF  # the lower 8 bits of an extended SQLite code are the primary code
        if self.code == sqlite3.SQLITE_FULL:
            remedy = "free disk space and run the same command again to continue"
        super().__init__(f"{path}, the store of {contents}, cannot be used ({reason}); {remedy}.")

    @property
    def is_damaged(self) -> bool:
        """Whether the file is damaged or is not a database."""
        return self.code in _DAMAGED

    @property
    def is_not_writable(self) -> bool:
        """Whether the file or its folder cannot be written, for example because the disk is full."""
        return self.code in _NOT_WRITABLE

    @property
    def is_busy(self) -> bool:
        """Whether another process has locked the file."""
        return self.code == sqlite3.SQLITE_BUSY

    @property
    def is_schema_error(self) -> bool:
        """Whether a statement failed because the file has other tables or columns than the statement."""
        return self.code == sqlite3.SQLITE_ERROR

    def __reduce__(self) -> tuple[Any, ...]:
        return TiltmeterError, (str(self),)  # a worker process sends the error as a TiltmeterError with this message


class Connection(sqlite3.Connection):
    """A connection that raises a StoreError if the file causes an error; errors of SQL statements are not changed."""

    labels: StoreLabels = ("", "", "")

    def cursor(self, factory: Any = None) -> Any:
        """Return a cursor that also raises errors of the file as StoreError."""
        return super().cursor(factory or _Cursor)

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Run an SQL statement, and return the cursor with its rows."""
        cursor: sqlite3.Cursor = self.cursor()
        return cursor.execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
        """Run an SQL statement once for each element of `parameters`."""
        cursor: sqlite3.Cursor = self.cursor()
        return cursor.executemany(sql, parameters)

    def executescript(self, script: str, /) -> sqlite3.Cursor:
        """Run several SQL statements."""
        cursor: sqlite3.Cursor = self.cursor()
        return cursor.executescript(script)


class _Cursor(sqlite3.Cursor):
    connection: Connection

    def execute(self, sql: str, parameters: Any = (), /) -> Self:
        with translate_errors(self.connection.labels):
            return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> Self:
        with translate_errors(self.connection.labels):
            return super().executemany(sql, parameters)

    def executescript(self, script: str, /) -> sqlite3.Cursor:
        with translate_errors(self.connection.labels):
            return super().executescript(script)

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise _build_store_error(error, self.connection.labels) from error

    def fetchone(self) -> Any:
        with translate_errors(self.connection.labels):
            return super().fetchone()

    def fetchmany(self, size: int | None = None) -> list[Any]:
        with translate_errors(self.connection.labels):
            return super().fetchmany(size)

    def fetchall(self) -> list[Any]:
        with translate_errors(self.connection.labels):
            return super().fetchall()


@contextmanager
def translate_errors(labels: StoreLabels) -> Iterator[None]:
    """Raise errors of a database file in the `with` block as StoreError; errors of SQL statements are not changed."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if isinstance(error, _STATEMENT_ERRORS):
            raise
        raise _build_store_error(error, labels) from error
    except UnicodeDecodeError as error:
        raise _build_store_error(error, labels) from error


def _build_store_error(error: sqlite3.Error | UnicodeDecodeError, labels: StoreLabels) -> StoreError:
    if isinstance(error, UnicodeDecodeError):  # raised if SQLite's own error message quotes a damaged schema
        return StoreError("the tables are damaged", labels, sqlite3.SQLITE_CORRUPT)
    return StoreError(str(error), labels, getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR))
