"""SQLite files whose rows have checksums.

SQLite does not notice a changed byte inside a value. A row whose checksum is wrong is treated as missing: it is asked
for again, and replaced when the new one is stored.
"""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from tiltmeter.database import Database

# The version of files all of whose rows have checksums.
_SIGNED = 1


def checksum(*values: bytes | str | int | None) -> int:
    """The CRC-32 of values, which finds every change of a single byte.

    >>> checksum("a", b"bc") == checksum("a", b"bd"), checksum("a", b"bc") == checksum("ab", b"c")
    (False, False)
    """
    found = 0
    for value in values:
        content = value if isinstance(value, bytes) else str(value).encode(errors="surrogatepass")
        found = zlib.crc32(content, zlib.crc32(len(content).to_bytes(8, "little"), found))
    return found


class CheckedDatabase(Database):
    """A database with a table whose column `checksum` is the SQL function `checksum_of` of its other columns.

    Texts are to be given to `checksum_of` as BLOB: after damage they may not be valid UTF-8.
    """

    def __init__(
        self,
        path: Path | str,
        schema: str,
        *,
        sign: str,
        synchronous: Literal["NORMAL", "FULL"],
        contents: str,
        remedy: str,
    ) -> None:
        """Open the file. `sign` is the statement that adds the checksums to the rows of earlier versions."""
        super().__init__(str(path), schema, synchronous=synchronous, contents=contents, remedy=remedy)
        with self.checking():
            if self._version() < _SIGNED:
                with self.transaction():
                    if self._version() < _SIGNED:  # another process may have done it meanwhile
                        self._db.execute(sign)
                        self._db.execute(f"PRAGMA user_version = {_SIGNED}")

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Provide `checksum_of` to the statements of the block."""
        self._db.create_function("checksum_of", -1, checksum, deterministic=True)
        yield

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])
