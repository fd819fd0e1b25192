"""Replies of chat models on disk, so that no message is sent, or paid for, twice."""

import json
from collections.abc import Iterable
from pathlib import Path

from tiltmeter.database import Database
from tiltmeter.questions import Reply

_SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
    fingerprint TEXT NOT NULL,
    question BLOB NOT NULL,
    reply TEXT NOT NULL,
    PRIMARY KEY (fingerprint, question)
) STRICT, WITHOUT ROWID;
"""


class ReplyStore(Database):
    """Replies by the model's fingerprint and the question's digest, in one SQLite file that several runs may use.

    Each `put` is one transaction: a process killed at any moment loses at most the replies that were on their way.
    """

    def __init__(self, path: Path | str) -> None:
        # Servers answer faster than a disk can be synced for each reply; a process that is killed loses nothing so.
        remedy = "move it away, or set TILTMETER_CACHE to another folder"
        super().__init__(str(path), _SCHEMA, synchronous="NORMAL", contents="replies", remedy=remedy, is_cache=True)

    def get(self, fingerprint: str, questions: Iterable[bytes]) -> dict[bytes, Reply]:
        """The stored replies among those asked for."""
        query = "SELECT question, reply FROM replies WHERE fingerprint = ? AND question IN"
        found = self.select_in(query, [fingerprint], questions)
        return {question: Reply.from_dict(json.loads(reply)) for question, reply in found}

    def put(self, fingerprint: str, question: bytes, reply: Reply) -> None:
        """Keep a reply; the first one stays."""
        text = json.dumps(reply.to_dict(), ensure_ascii=False)
        with self.transaction():
            self._db.execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?)", [fingerprint, question, text])
