"""Databases for caches, which can be rebuilt: a damaged file is renamed, and a new empty file replaces it.

SQLite does not detect a changed byte inside a value. Therefore each table has a column `checksum`, which the SQL
function `checksum_of` computes from the other columns. A row with a wrong checksum is treated as missing, and is
replaced when its value is computed again.
"""

import logging
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from filelock import FileLock

from tiltmeter.database import Database
from tiltmeter.database.connection import Connection, StoreError
from tiltmeter.database.table_columns import has_columns, list_table_columns
from tiltmeter.files import build_write_error, get_lock_mode

logger = logging.getLogger(__name__)

_Value = TypeVar("_Value")


def compute_checksum(*values: bytes | str | int | None) -> int:
    """Return the CRC-32 checksum of values; it detects every change of a single byte.

    >>> compute_checksum("a", b"bc") == compute_checksum("a", b"bd")
    False
    >>> compute_checksum("a", b"bc") == compute_checksum("ab", b"c")
    False
    """
    checksum = 0
    for value in values:
        content = value if isinstance(value, bytes) else str(value).encode(errors="surrogatepass")
        checksum = zlib.crc32(content, zlib.crc32(len(content).to_bytes(8, "little"), checksum))
    return checksum


class CacheDatabase(Database):
    """A database that can be rebuilt. A file that is damaged or belongs to another program is renamed and replaced.

    In SQL statements, pass texts to `checksum_of` as BLOB, because a damaged text may not be valid UTF-8.
    """

    # Device and inode number of the open file; another process may have replaced the file since it was opened.
    _opened: tuple[int, int] | None = None

    def _handle_open_error(self, error: StoreError) -> None:
        if error.is_damaged or error.is_schema_error:
            self._replace_damaged_file(error)
        else:
            super()._handle_open_error(error)

    def retry_if_damaged(self, work: Callable[[], _Value]) -> _Value:
        """Return the result of `work`; if the file is damaged, replace it with an empty file and call `work` again."""
        try:
            return work()
        except StoreError as error:
            if not error.is_damaged or self.is_read_only:
                raise
            self._replace_damaged_file(error)
            return work()

    def _merge_file(self, path: Path | str, statements: Sequence[str]) -> None:
        """Run statements that copy rows from another database file; the statements refer to that file as `other`."""
        self._db.execute("ATTACH ? AS other", [str(path)])
        try:
            with self.begin_transaction():
                for statement in statements:
                    self._db.execute(statement)
        finally:
            self._db.execute("DETACH other")

    def _open_connection(self, path: str, *, uri: bool = False) -> Connection:
        db = super()._open_connection(path, uri=uri)
        self._opened = _get_identity(Path(self._file))
        db.create_function("checksum_of", -1, compute_checksum, deterministic=True)
        return db

    def _check_rows(self) -> None:
        """Raise a StoreError if the file belongs to another program: it has tables, but none of the expected tables."""
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        names = {str(name) for (name,) in self._db.execute(query)}
        if names and not names & set(list_table_columns(self._schema)):
            raise StoreError("the file is the database of another program", self._labels, sqlite3.SQLITE_ERROR)

    def _open_file(self) -> None:
        super()._open_file()
        if not has_columns(self._db, self._schema):
            raise StoreError("the tables are damaged", self._labels, sqlite3.SQLITE_CORRUPT)

    def _replace_damaged_file(self, error: StoreError) -> None:
        """Rename the damaged file to `NAME.damaged-N`, unless another process has done this, and open a new file."""
        self.close()
        path, contents = Path(self._file), self._labels[1]
        try:
            with FileLock(f"{path}.lock", mode=get_lock_mode(path)):
                if _get_identity(path) == self._opened:
                    renamed = _rename_database(path)
                    text = "%s, the store of %s, cannot be used (%s). It is renamed to %s, and a new store is created."
                    logger.warning(text, path, contents, error.reason, renamed.name)
        except OSError as problem:
            raise build_write_error(path, problem) from problem
        self._open_file()


def _get_identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _rename_database(path: Path) -> Path:
    """Rename a database and its journal files, and return the new path of the database.

    The journal files are also renamed, because otherwise SQLite would apply an old journal to the new database.
    """
    renamed = next(name for number in range(1, 10_000) if not (name := Path(f"{path}.damaged-{number}")).exists())
    for suffix in ("-wal", "-shm", "-journal", ""):
        with suppress(FileNotFoundError):
            Path(f"{path}{suffix}").rename(f"{renamed}{suffix}")
    return renamed
