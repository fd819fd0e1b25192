"""Replies of chat models on disk, so that no message is sent, or paid for, twice."""

import json
from collections.abc import Iterable
from pathlib import Path

from tiltmeter.database import Journal
from tiltmeter.database.cache_database import CacheDatabase, compute_checksum
from tiltmeter.questions import Reply

_SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
    fingerprint TEXT NOT NULL,
    question BLOB NOT NULL,
    reply TEXT NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (fingerprint, question)
) STRICT, WITHOUT ROWID;
"""
_CHECKSUM = "checksum_of(CAST(fingerprint AS BLOB), question, CAST(reply AS BLOB))"
_SIGN = f"UPDATE replies SET checksum = {_CHECKSUM} WHERE checksum IS NULL"
# A sound reply that is there stays.
_INSERT = f"""
INSERT INTO replies VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET reply = excluded.reply, checksum = excluded.checksum
WHERE checksum IS NOT {_CHECKSUM}
"""

_MERGE = f"""
INSERT INTO replies SELECT fingerprint, question, reply, checksum FROM other.replies WHERE checksum = {_CHECKSUM}
ON CONFLICT DO UPDATE SET reply = excluded.reply, checksum = excluded.checksum WHERE checksum IS NOT {_CHECKSUM}
"""


class ReplyStore(CacheDatabase):
    """Replies by the model's fingerprint and the question's digest, in one SQLite file that several runs may use.

    Each `put` is one transaction: a process killed at any moment loses at most the replies that were on their way.
    """

    def __init__(self, path: Path | str, *, journal: Journal = "WAL") -> None:
        # Servers answer faster than a disk can be synced for each reply; a process that is killed loses nothing so.
        remedy = "move it away, or set TILTMETER_CACHE to another folder"
        super().__init__(
            str(path),
            _SCHEMA,
            sign=_SIGN,
            synchronous="NORMAL",
            contents="replies",
            remedy=remedy,
            is_cache=True,
            journal=journal,
        )

    def get(self, fingerprint: str, questions: Iterable[bytes]) -> dict[bytes, Reply]:
        """The stored and undamaged replies among those asked for."""
        query = f"SELECT question, reply FROM replies WHERE fingerprint = ? AND checksum = {_CHECKSUM} AND question IN"
        found = self.select_in(query, [fingerprint], questions)
        return {question: Reply.from_dict(json.loads(reply)) for question, reply in found}

    def merge(self, path: Path | str) -> None:
        """Add the replies of another store; of a question that is answered in both, the sound reply here is kept."""
        self._db.execute("ATTACH ? AS other", [str(path)])
        try:
            with self.begin_transaction():
                self._db.execute(_MERGE)
        finally:
            self._db.execute("DETACH other")

    def confirm(self, unconfirmed: str, fingerprint: str, questions: Iterable[bytes]) -> None:
        """Move replies from the key of unconfirmed ones to a model's own."""
        found = self.get(unconfirmed, questions)
        with self.begin_transaction():
            for question, reply in found.items():
                self._insert(fingerprint, question, reply)
        self.delete(unconfirmed, found)

    def delete(self, fingerprint: str, questions: Iterable[bytes]) -> None:
        """Delete the replies of a model to these questions."""
        with self.begin_transaction():
            for question in questions:
                self._db.execute("DELETE FROM replies WHERE fingerprint = ? AND question = ?", [fingerprint, question])

    def put(self, fingerprint: str, question: bytes, reply: Reply) -> None:
        """Keep a reply; the first one stays."""
        with self.begin_transaction():
            self._insert(fingerprint, question, reply)

    def _insert(self, fingerprint: str, question: bytes, reply: Reply) -> None:
        text = json.dumps(reply.to_dict(), ensure_ascii=False)
        row = (fingerprint, question, text)
        self._db.execute(_INSERT, [*row, compute_checksum(*row)])
