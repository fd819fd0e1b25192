"""Answers on disk, so that no question is ever asked of a model twice."""

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
# Many answers of one length in one statement: twice as fast as one by one. The first answer stays: two runs at once may
# differ in the last bit, and a score must not change.
_INSERT = """
WITH RECURSIVE places (place) AS (SELECT 0 UNION ALL SELECT place + 1 FROM places WHERE place + 1 < :count)
INSERT OR IGNORE INTO answers (model, question, answer)
SELECT :model, substr(:digests, 16 * place + 1, 16), substr(:numbers, :size * place + 1, :size) FROM places
"""
# SQLite's own limit on the variables of one statement is far higher; this keeps statements small.
_AT_ONCE = 500


class AnswerStore(Database):
    """Answers by model fingerprint and question, in one SQLite file that several runs may use at once.

    Each `put` is one transaction: a process killed at any moment loses at most the answers it had not put yet.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        super().__init__(self.path, _SCHEMA, synchronous="NORMAL", contents="answers", remedy="delete it")

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
                found[question] = np.frombuffer(answer, NUMBER)
        return found

    def put(self, fingerprint: str, answers: Mapping[bytes, Answer]) -> None:
        """Keep answers; all of them or, if the process dies now, none."""
        with self.transaction():
            self._db.execute("INSERT OR IGNORE INTO models (fingerprint) VALUES (?)", [fingerprint])
            (model,) = self._db.execute("SELECT id FROM models WHERE fingerprint = ?", [fingerprint]).fetchone()
            of_length: dict[int, list[bytes]] = {}
            for digest, answer in answers.items():
                of_length.setdefault(len(answer), []).append(digest)
            for length, digests in of_length.items():
                numbers = np.concatenate([answers[digest] for digest in digests]).astype(NUMBER)
                several = {"digests": b"".join(digests), "numbers": numbers.tobytes(), "size": 4 * length}
                self._db.execute(_INSERT, {"model": model, "count": len(digests), **several})
