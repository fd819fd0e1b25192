"""SQLite files whose content can be made again: a damaged one is set aside, and a new one takes its place.

SQLite does not notice a changed byte inside a value. Tables of values have a column `checksum`, the SQL function
`checksum_of` of the other columns: a row with a wrong checksum counts as missing, and is replaced by the next write.
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

_Found = TypeVar("_Found")


def compute_checksum(*values: bytes | str | int | None) -> int:
    """The CRC-32 of values, which finds every change of a single byte.

    >>> compute_checksum("a", b"bc") == compute_checksum("a", b"bd")
    False
    >>> compute_checksum("a", b"bc") == compute_checksum("ab", b"c")
    False
    """
    found = 0
    for value in values:
        content = value if isinstance(value, bytes) else str(value).encode(errors="surrogatepass")
        found = zlib.crc32(content, zlib.crc32(len(content).to_bytes(8, "little"), found))
    return found


class CacheDatabase(Database):
    """A database that may be lost: a file that is damaged or belongs to another program is renamed and replaced.

    Texts are to be given to `checksum_of` as BLOB: after damage they may not be valid UTF-8.
    """

    # Identifies the file that is open, which another process may replace by a new one.
    _opened: tuple[int, int] | None = None

    def _open_otherwise(self, error: StoreError) -> None:
        if error.is_damaged or error.is_of_schema:
            self._replace(error)
        else:
            super()._open_otherwise(error)

    def retry_if_damaged(self, work: Callable[[], _Found]) -> _Found:
        """Return the result of `work`; if the file is damaged, replace it by an empty one and do the work again."""
        try:
            return work()
        except StoreError as error:
            if not error.is_damaged or self.is_read_only:
                raise
            self._replace(error)
            return work()

    def _merge(self, path: Path | str, statements: Sequence[str]) -> None:
        """Run statements that copy the rows of another file, the database `other`, to this one."""
        self._db.execute("ATTACH ? AS other", [str(path)])
        try:
            with self.begin_transaction():
                for statement in statements:
                    self._db.execute(statement)
        finally:
            self._db.execute("DETACH other")

    def _connected(self, path: str, *, uri: bool = False) -> Connection:
        db = super()._connected(path, uri=uri)
        self._opened = _get_identity(Path(self._file))
        db.create_function("checksum_of", -1, compute_checksum, deterministic=True)
        return db

    def _check_rows(self) -> None:
        """Raise a StoreError for a file with tables none of which is ours."""
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        there = {str(name) for (name,) in self._db.execute(query)}
        if there and not there & set(list_table_columns(self._schema)):
            raise StoreError("it is the database of another program", self._words, sqlite3.SQLITE_ERROR)

    def _open(self) -> None:
        super()._open()
        if not has_columns(self._db, self._schema):
            raise StoreError("its tables are damaged", self._words, sqlite3.SQLITE_CORRUPT)

    def _replace(self, error: StoreError) -> None:
        """Rename the file to `NAME.damaged-N`, unless another process has done so meanwhile, and open a new one."""
        self.close()
        path, contents = Path(self._file), self._words[1]
        try:
            with FileLock(f"{path}.lock", mode=get_lock_mode(path)):
                if _get_identity(path) == self._opened:
                    aside = _rename(path)
                    text = "The store of %s %s is damaged (%s). It is now %s; a new one is used, and %s are made again."
                    logger.warning(text, contents, path, error.reason, aside.name, contents)
        except OSError as problem:
            raise build_write_error(path, problem) from problem
        self._open()


def _get_identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _rename(path: Path) -> Path:
    """Rename a database and its journals, which would be taken for those of the new file."""
    aside = next(name for number in range(1, 10_000) if not (name := Path(f"{path}.damaged-{number}")).exists())
    for suffix in ("-wal", "-shm", "-journal", ""):
        with suppress(FileNotFoundError):
            Path(f"{path}{suffix}").rename(f"{aside}{suffix}")
    return aside
