"""The store of answers on disk, so that the answer to a question is computed only once."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from tiltmeter.database import Journal
from tiltmeter.database.cache_database import CacheDatabase
from tiltmeter.questions import NUMBER, Answer

_SCHEMA = """
CREATE TABLE IF NOT EXISTS models (
    id INTEGER PRIMARY KEY,
    fingerprint TEXT NOT NULL UNIQUE,
    loading TEXT
) STRICT;
CREATE TABLE IF NOT EXISTS answers (
    model INTEGER NOT NULL REFERENCES models (id),
    question BLOB NOT NULL,
    answer BLOB NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (model, question)
) STRICT, WITHOUT ROWID;
"""
# Inserts many answers of equal length in one statement, which is twice as fast as single inserts. An undamaged answer
# that is already stored is not replaced: the answers of two concurrent runs may differ in the last bit, and a score
# must not change.
_INSERT = """
WITH RECURSIVE indices (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM indices WHERE i + 1 < :count),
new (question, answer) AS (
    -- For an empty BLOB, substr returns NULL.
    SELECT substr(:digests, 16 * i + 1, 16), coalesce(substr(:numbers, :size * i + 1, :size), x'') FROM indices
)
INSERT INTO answers (model, question, answer, checksum)
SELECT :model, question, answer, checksum_of(:fingerprint, question, answer) FROM new WHERE true
ON CONFLICT DO UPDATE SET answer = excluded.answer, checksum = excluded.checksum
WHERE checksum IS NOT checksum_of(:fingerprint, question, answer)
"""

_MERGE = (
    "INSERT OR IGNORE INTO models (fingerprint) SELECT fingerprint FROM other.models",
    """
    UPDATE models SET loading = (SELECT loading FROM other.models AS o WHERE o.fingerprint = models.fingerprint)
    WHERE loading IS NULL AND fingerprint IN (SELECT fingerprint FROM other.models)
    """,
    """
    INSERT INTO answers (model, question, answer, checksum)
    SELECT m.id, a.question, a.answer, a.checksum
    FROM other.answers AS a JOIN other.models AS o ON o.id = a.model JOIN models AS m ON m.fingerprint = o.fingerprint
    WHERE a.checksum = checksum_of(CAST(o.fingerprint AS BLOB), a.question, a.answer)
    ON CONFLICT DO UPDATE SET answer = excluded.answer, checksum = excluded.checksum
    WHERE checksum IS NOT checksum_of(
        (SELECT CAST(fingerprint AS BLOB) FROM models WHERE id = model), question, answer
    )
    """,
)


@dataclass(frozen=True, slots=True)
class LoadFindings:
    """Findings from loading a model.

    `unused_modules` are modules of the checkpoint that the loaded model does not have. `disabled` contains the
    speed-ups and batch layouts that are not used, because they would change answers; each name is mapped to the reason.
    """

    unused_modules: list[str] = field(default_factory=list)
    disabled: dict[str, str] = field(default_factory=dict)


class AnswerStore(CacheDatabase):
    """Answers in one SQLite file for several runs at once; the keys are model fingerprints and question digests.

    Each `put` is one transaction, so a killed process loses only the answers that it had not yet stored.
    """

    def __init__(self, path: Path | str, *, journal: Journal = "WAL") -> None:
        self.path = str(path)
        remedy = "delete it, or set TILTMETER_CACHE to another folder"
        super().__init__(self.path, _SCHEMA, synchronous="NORMAL", contents="answers", remedy=remedy, journal=journal)

    def get(self, fingerprint: str, questions: Iterable[bytes]) -> dict[bytes, Answer]:
        """Return a dictionary from question digests to stored answers; omit missing and damaged answers."""
        wanted = list(questions)
        return self.retry_if_damaged(lambda: self._read_answers(fingerprint, wanted))

    def _read_answers(self, fingerprint: str, questions: Iterable[bytes]) -> dict[bytes, Answer]:
        model = self._db.execute("SELECT id FROM models WHERE fingerprint = ?", [fingerprint]).fetchone()
        if not model:
            return {}
        query = (
            "SELECT question, answer FROM answers "
            "WHERE model = ? AND checksum = checksum_of(?, question, answer) AND question IN"
        )
        rows = self.select_rows_with_values(query, [model[0], fingerprint.encode()], questions)
        return {question: np.frombuffer(answer, NUMBER) for question, answer in rows}

    def put(self, fingerprint: str, answers: Mapping[bytes, Answer]) -> None:
        """Store all answers in one transaction; a process that is killed meanwhile stores none of these answers."""
        self.retry_if_damaged(lambda: self._write_answers(fingerprint, answers))

    def _write_answers(self, fingerprint: str, answers: Mapping[bytes, Answer]) -> None:
        with self.begin_transaction():
            model = self._get_model_number(fingerprint)
            by_length: dict[int, list[bytes]] = {}
            for digest, answer in answers.items():
                by_length.setdefault(len(answer), []).append(digest)
            for length, digests in by_length.items():
                numbers = np.concatenate([answers[digest] for digest in digests]).astype(NUMBER)
                values = {"digests": b"".join(digests), "numbers": numbers.tobytes(), "size": 4 * length}
                owner = {"model": model, "fingerprint": fingerprint.encode()}
                self._db.execute(_INSERT, {"count": len(digests), **owner, **values})

    def delete(self, fingerprint: str, questions: Iterable[bytes]) -> None:
        """Delete the answers of the model with this fingerprint to these questions; `questions` are digests."""
        query = "DELETE FROM answers WHERE model = (SELECT id FROM models WHERE fingerprint = ?) AND question = ?"
        with self.begin_transaction():
            for question in questions:
                self._db.execute(query, [fingerprint, question])

    def merge(self, path: Path | str) -> None:
        """Add the answers of the store in the file `path`; replace an existing answer only if it is damaged."""
        self._merge_file(path, _MERGE)

    def put_load_findings(self, fingerprint: str, loading: LoadFindings) -> None:
        """Store the `LoadFindings` of a model, for later runs that do not load the model."""
        self.retry_if_damaged(lambda: self._write_load_findings(fingerprint, loading))

    def _write_load_findings(self, fingerprint: str, loading: LoadFindings) -> None:
        with self.begin_transaction():
            values = [json.dumps(asdict(loading)), self._get_model_number(fingerprint)]
            self._db.execute("UPDATE models SET loading = ? WHERE id = ?", values)

    def get_load_findings(self, fingerprint: str) -> LoadFindings:
        """Return the `LoadFindings` of a model; they are empty if no undamaged findings are stored."""
        query = "SELECT CAST(loading AS BLOB) FROM models WHERE fingerprint = ? AND loading IS NOT NULL"
        for (content,) in self.retry_if_damaged(lambda: self._db.execute(query, [fingerprint]).fetchall()):
            with suppress(ValueError, TypeError, AttributeError, KeyError):
                values = json.loads(content)
                disabled = {str(name): str(reason) for name, reason in values["disabled"].items()}
                return LoadFindings([str(name) for name in values["unused_modules"]], disabled)
        return LoadFindings()

    def _get_model_number(self, fingerprint: str) -> int:
        self._db.execute("INSERT OR IGNORE INTO models (fingerprint) VALUES (?)", [fingerprint])
        (model,) = self._db.execute("SELECT id FROM models WHERE fingerprint = ?", [fingerprint]).fetchone()
        return int(model)
