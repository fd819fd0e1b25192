"""The store of answers on disk, so that no question is asked of a model twice."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from tiltmeter.database import Database
from tiltmeter.questions import NUMBER, Answer

_SCHEMA = """
CREATE TABLE IF NOT EXISTS models (id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE IF NOT EXISTS answers (
    model INTEGER NOT NULL REFERENCES models (id),
    question BLOB NOT NULL,
    answer BLOB NOT NULL,
    PRIMARY KEY (model, question)
) STRICT, WITHOUT ROWID;
"""
# Inserts many answers of one length in one statement, which is twice as fast as one by one. An answer that exists is
# kept: those of two concurrent runs may differ in the last bit, and a score must not change.
_INSERT = """
WITH RECURSIVE indices (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM indices WHERE i + 1 < :count)
INSERT OR IGNORE INTO answers (model, question, answer)
SELECT :model, substr(:digests, 16 * i + 1, 16), substr(:numbers, :size * i + 1, :size) FROM indices
"""


class AnswerStore(Database):
    """Answers by model fingerprint and question digest, in one SQLite file that several runs can use at once.

    Each `put` is one transaction: a process killed at any moment loses only answers that it had not put yet.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        remedy = "delete it, or set TILTMETER_CACHE to another folder"
        super().__init__(self.path, _SCHEMA, synchronous="NORMAL", contents="answers", remedy=remedy, is_cache=True)

    def get(self, fingerprint: str, questions: Iterable[bytes]) -> dict[bytes, Answer]:
        """The answers to those of these questions (digests) that are stored."""
        wanted = list(questions)
        return self.undamaged(lambda: self._get(fingerprint, wanted))

    def _get(self, fingerprint: str, questions: Iterable[bytes]) -> dict[bytes, Answer]:
        if not self._db.execute("SELECT 1 FROM models WHERE fingerprint = ?", [fingerprint]).fetchone():
            return {}
        query = (
            "SELECT question, answer FROM answers JOIN models ON models.id = answers.model "
            "WHERE fingerprint = ? AND question IN"
        )
        found = self.select_in(query, [fingerprint], questions)
        return {question: np.frombuffer(answer, NUMBER) for question, answer in found}

    def put(self, fingerprint: str, answers: Mapping[bytes, Answer]) -> None:
        """Store answers: all of them or, if the process is killed, none."""
        self.undamaged(lambda: self._put(fingerprint, answers))

    def _put(self, fingerprint: str, answers: Mapping[bytes, Answer]) -> None:
        with self.transaction():
            self._db.execute("INSERT OR IGNORE INTO models (fingerprint) VALUES (?)", [fingerprint])
            (model,) = self._db.execute("SELECT id FROM models WHERE fingerprint = ?", [fingerprint]).fetchone()
            by_length: dict[int, list[bytes]] = {}
            for digest, answer in answers.items():
                by_length.setdefault(len(answer), []).append(digest)
            for length, digests in by_length.items():
                numbers = np.concatenate([answers[digest] for digest in digests]).astype(NUMBER)
                values = {"digests": b"".join(digests), "numbers": numbers.tobytes(), "size": 4 * length}
                self._db.execute(_INSERT, {"model": model, "count": len(digests), **values})
