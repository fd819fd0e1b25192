"""Answers on disk, so that no question is ever asked of a model twice."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tiltmeter.errors import TiltmeterError
from tiltmeter.questions import Answer

_SCHEMA = """
CREATE TABLE IF NOT EXISTS models (id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE IF NOT EXISTS answers (
    model INTEGER NOT NULL REFERENCES models (id),
    question BLOB NOT NULL,
    answer BLOB NOT NULL,
    PRIMARY KEY (model, question)
) STRICT, WITHOUT ROWID;
"""
# SQLite's own limit on the variables of one statement is far higher; this keeps statements small.
_AT_ONCE = 500


class AnswerStore:
    """Answers by model fingerprint and question, in one SQLite file that several runs may use at once.

    Each `put` is one transaction: a process killed at any moment loses at most the answers it had not put yet.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        if self.path != ":memory:":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            # Write-ahead logging lets one run read while another writes.
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_SCHEMA)
        except sqlite3.Error as error:
            raise TiltmeterError(
                f"The store of answers {self.path} cannot be opened ({error}); delete it, or set TILTMETER_CACHE to "
                "another folder."
            ) from error

    def get(self, fingerprint: str, questions: Iterable[bytes]) -> dict[bytes, Answer]:
        """The stored answers among those asked for."""
        if not self._db.execute("SELECT 1 FROM models WHERE fingerprint = ?", [fingerprint]).fetchone():
            return {}
        digests = list(questions)
        found: dict[bytes, Answer] = {}
        for start in range(0, len(digests), _AT_ONCE):
            chunk = digests[start : start + _AT_ONCE]
            marks = ",".join("?" * len(chunk))
            query = (
                "SELECT question, answer FROM answers JOIN models ON models.id = answers.model "
                f"WHERE fingerprint = ? AND question IN ({marks})"
            )
            for question, answer in self._db.execute(query, [fingerprint, *chunk]):
                found[question] = np.frombuffer(answer, dtype="<f4")
        return found

    def put(self, fingerprint: str, answers: Mapping[bytes, Answer]) -> None:
        """Keep answers; all of them or, if the process dies now, none."""
        with self._transaction():
            self._db.execute("INSERT OR IGNORE INTO models (fingerprint) VALUES (?)", [fingerprint])
            (model,) = self._db.execute("SELECT id FROM models WHERE fingerprint = ?", [fingerprint]).fetchone()
            # The first answer stays: two runs at once may differ in the last bit, and a score must not change.
            self._db.executemany(
                "INSERT OR IGNORE INTO answers (model, question, answer) VALUES (?, ?, ?)",
                [(model, digest, answer.astype("<f4").tobytes()) for digest, answer in answers.items()],
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
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

    def __enter__(self) -> "AnswerStore":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
