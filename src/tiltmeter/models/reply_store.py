"""Replies of chat models on disk, so that no message is sent, or paid for, twice."""

import json
from collections.abc import Iterable
from pathlib import Path

from tiltmeter.database import Journal
from tiltmeter.database.checked import CheckedDatabase, checksum
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
INSERT INTO replies (fingerprint, question, reply, checksum) VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET reply = excluded.reply, checksum = excluded.checksum WHERE checksum IS NOT {_CHECKSUM}
"""

_MERGE = f"""
INSERT INTO replies (fingerprint, question, reply, checksum)
SELECT fingerprint, question, reply, checksum FROM other.replies WHERE checksum = {_CHECKSUM}
ON CONFLICT DO UPDATE SET reply = excluded.reply, checksum = excluded.checksum WHERE checksum IS NOT {_CHECKSUM}
"""


class ReplyStore(CheckedDatabase):
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
            with self.transaction():
                self._db.execute(_MERGE)
        finally:
            self._db.execute("DETACH other")

    def put(self, fingerprint: str, question: bytes, reply: Reply) -> None:
        """Keep a reply; the first one stays."""
        text = json.dumps(reply.to_dict(), ensure_ascii=False)
        row = (fingerprint, question, text)
        with self.transaction():
            self._db.execute(_INSERT, [*row, checksum(*row)])
