"""SQLite files whose rows have checksums.

SQLite does not notice a changed byte inside a value. A row whose checksum is wrong is treated as missing: it is asked
for again, and replaced when the new one is stored.
"""

import zlib
from typing import Literal

from tiltmeter.database import Database, Journal
from tiltmeter.database.connection import Connection

# The version of files all of whose rows have checksums.
_SIGNED = 1


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
    """A database with a table whose column `checksum` is the SQL function `checksum_of` of its other columns.

    Texts are to be given to `checksum_of` as BLOB: after damage they may not be valid UTF-8.
    """

    def __init__(
        self,
        path: str,
        schema: str,
        *,
        sign: str,
        synchronous: Literal["NORMAL", "FULL"],
        contents: str,
        remedy: str,
        is_cache: bool = False,
        journal: Journal = "WAL",
    ) -> None:
        """Open the file. `sign` is the statement that adds the checksums to the rows of earlier versions."""
        self._sign = sign
        super().__init__(
            path, schema, synchronous=synchronous, contents=contents, remedy=remedy, is_cache=is_cache, journal=journal
        )

    def _connected(self, path: str, *, uri: bool = False) -> Connection:
        db = super()._connected(path, uri=uri)
        db.create_function("checksum_of", -1, compute_checksum, deterministic=True)
        return db

    def _open(self) -> None:
        super()._open()
        if self._version() < _SIGNED:
            with self.begin_transaction():
                if self._version() < _SIGNED:  # another process may have done it meanwhile
                    self._db.execute(self._sign)
                    self._db.execute(f"PRAGMA user_version = {_SIGNED}")

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])
