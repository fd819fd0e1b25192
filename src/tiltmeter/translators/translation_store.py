"""Translations on disk, so that no sentence is sent, or paid for, twice."""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock

from tiltmeter.database import Database

_SCHEMA = """
CREATE TABLE IF NOT EXISTS translations (
    system TEXT NOT NULL,
    language TEXT NOT NULL,
    source TEXT NOT NULL,
    translation TEXT NOT NULL,
    made TEXT NOT NULL,
    PRIMARY KEY (system, language, source)
) STRICT, WITHOUT ROWID;
"""
# SQLite's own limit on the variables of one statement is far higher; this keeps statements small.
_AT_ONCE = 500


class TranslationStore(Database):
    """Translations by system, language and sentence, in one SQLite file that several runs may use at once.

    Each `put` is one transaction: a process killed at any moment loses at most the request it was waiting for.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        # What was paid for is synced to the disk.
        super().__init__(str(path), _SCHEMA, synchronous="FULL", contents="translations", remedy="move it away")

    def get(self, system: str, language: str, sources: Iterable[str]) -> dict[str, str]:
        """The stored translations among those asked for."""
        wanted = list(sources)
        found: dict[str, str] = {}
        for start in range(0, len(wanted), _AT_ONCE):
            chunk = wanted[start : start + _AT_ONCE]
            query = (
                "SELECT source, translation FROM translations WHERE system = ? AND language = ? "
                f"AND source IN ({','.join('?' * len(chunk))})"
            )
            found.update(self._db.execute(query, [system, language, *chunk]))
        return found

    def put(self, system: str, language: str, translations: Mapping[str, str]) -> None:
        """Keep translations; all of them or, if the process dies now, none."""
        made = datetime.now(UTC).isoformat(timespec="seconds")
        rows = [(system, language, source, translation, made) for source, translation in translations.items()]
        with self.transaction():
            # The first translation stays: a result must not change because somebody asked again.
            self._db.executemany("INSERT OR IGNORE INTO translations VALUES (?, ?, ?, ?, ?)", rows)

    def creation_times(self, system: str, language: str) -> tuple[str, str] | None:
        """When the first and the last translation of a system into a language were made; None if there is none."""
        query = "SELECT min(made), max(made) FROM translations WHERE system = ? AND language = ?"
        first, last = self._db.execute(query, [system, language]).fetchone()
        return None if first is None else (first, last)

    def lock(self, system: str, language: str) -> FileLock:
        """A lock to be held from looking for translations to putting them: else two runs would pay for the same."""
        name = hashlib.sha256(f"{system}\n{language}".encode()).hexdigest()[:16]
        return FileLock(f"{self.path}.{name}.lock")
