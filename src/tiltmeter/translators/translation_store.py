"""A persistent store of translations, so that no sentence is sent to a service and paid for twice."""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock

from tiltmeter.database.cache_database import CacheDatabase, compute_checksum
from tiltmeter.files import get_lock_mode

_SCHEMA = """
CREATE TABLE IF NOT EXISTS translations (
    system TEXT NOT NULL,
    language TEXT NOT NULL,
    source TEXT NOT NULL,
    translation TEXT NOT NULL,
    made TEXT NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (system, language, source)
) STRICT, WITHOUT ROWID;
"""
_CHECKSUM = "checksum_of({})".format(
    ", ".join(f"CAST({name} AS BLOB)" for name in ("system", "language", "source", "translation", "made"))
)
# Keep an existing translation, so that results do not change if a sentence is sent again. Replace an existing
# translation only if it is damaged or empty.
_INSERT = f"""
INSERT INTO translations VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
SET translation = excluded.translation, made = excluded.made, checksum = excluded.checksum
WHERE checksum IS NOT {_CHECKSUM} OR trim(translation) = ''
"""


class TranslationStore(CacheDatabase):
    """Translations in one SQLite file; a key consists of the system, the target language and the sentence.

    Several runs can use the file at once. Each `put` is one transaction, so a killed process loses at most the
    translations of its current request.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        # Write every transaction to disk at once (FULL), because translations may have been paid for.
        remedy = "move it away, or set TILTMETER_CACHE to another folder"
        super().__init__(str(path), _SCHEMA, synchronous="FULL", contents="translations", remedy=remedy)

    def get(self, system: str, language: str, sources: Iterable[str]) -> dict[str, str]:
        """Return a dictionary from sentences to stored translations; omit missing and damaged translations."""
        query = (
            "SELECT source, translation FROM translations "
            f"WHERE system = ? AND language = ? AND checksum = {_CHECKSUM} AND trim(translation) <> '' AND source IN"
        )
        return dict(self.select_rows_with_values(query, [system, language], sources))

    def put(self, system: str, language: str, translations: Mapping[str, str]) -> None:
        """Store translations in one transaction; existing undamaged translations are kept."""
        made = datetime.now(UTC).isoformat(timespec="seconds")
        rows = [(system, language, source, translation, made) for source, translation in translations.items()]
        with self.begin_transaction():
            self._db.executemany(_INSERT, [(*row, compute_checksum(*row)) for row in rows])

    def find_creation_times(self, system: str, language: str) -> tuple[str, str] | None:
        """Return the times of a system's first and last stored translation into a language; None if none is stored."""
        query = "SELECT min(made), max(made) FROM translations WHERE system = ? AND language = ?"
        first, last = self._db.execute(query, [system, language]).fetchone()
        return None if first is None else (first, last)

    def lock(self, system: str, language: str) -> FileLock:
        """Return a file lock; runs hold it from `get` to `put`, so that no two runs pay for the same translations."""
        name = hashlib.sha256(f"{system}\n{language}".encode()).hexdigest()[:16]
        return FileLock(f"{self.path}.{name}.lock", mode=get_lock_mode(self.path))
