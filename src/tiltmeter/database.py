"""A small SQLite file that several runs may use at once."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Self

from tiltmeter.errors import TiltmeterError

# How long one run waits for another that is writing.
_PATIENCE = 60.0


class Database:
    """An open SQLite file. What is written inside `transaction` is there whole or, if the process dies, not at all."""

    def __init__(
        self, path: str, schema: str, *, synchronous: Literal["NORMAL", "FULL"], what: str, way_out: str
    ) -> None:
        """Open the file, made by `schema` if need be; `what` and `way_out` are for the error where that fails."""
        if path != ":memory:":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
            self._log_ahead()
            self._db.execute(f"PRAGMA synchronous = {synchronous}")
            self._db.executescript(schema)
        except sqlite3.Error as error:
            raise TiltmeterError(
                f"The store of {what} {path} cannot be opened ({error}); {way_out}, or set TILTMETER_CACHE to another "
                "folder."
            ) from error

    def _log_ahead(self) -> None:
        """Write-ahead logging lets one run read while another writes.

        Two that open a new file at once both switch it over. There SQLite does not wait, as it does everywhere else,
        but says at once that the file is locked.
        """
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                # The low byte is the error, what stands above it its finer kind.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(0.01)
            else:
                return

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written in the block, or none of it."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
