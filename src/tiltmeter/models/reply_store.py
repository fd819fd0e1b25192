"""The store of chat replies on disk, so that each message is sent and paid for only once."""

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
# A stored reply is replaced only if it is damaged.
_INSERT = f"""
INSERT INTO replies VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET reply = excluded.reply, checksum = excluded.checksum
WHERE checksum IS NOT {_CHECKSUM}
"""

_MERGE = f"""
INSERT INTO replies SELECT fingerprint, question, reply, checksum FROM other.replies WHERE checksum = {_CHECKSUM}
ON CONFLICT DO UPDATE SET reply = excluded.reply, checksum = excluded.checksum WHERE checksum IS NOT {_CHECKSUM}
"""


class ReplyStore(CacheDatabase):
    """Chat replies in one SQLite file for several runs at once; the keys are model fingerprints and question digests.

    Each `put` is one transaction, so a killed process loses only the replies that had not yet arrived.
    """

    def __init__(self, path: Path | str, *, journal: Journal = "WAL") -> None:
        # `synchronous` is NORMAL, so the disk is not synced for each reply. Syncing would be slower than the servers,
        # and a killed process loses no replies without syncing.
        remedy = "move it away, or set TILTMETER_CACHE to another folder"
        super().__init__(str(path), _SCHEMA, synchronous="NORMAL", contents="replies", remedy=remedy, journal=journal)

    def get(self, fingerprint: str, questions: Iterable[bytes]) -> dict[bytes, Reply]:
        """Return a dictionary from question digests to stored replies; omit missing and damaged replies."""
        query = f"SELECT question, reply FROM replies WHERE fingerprint = ? AND checksum = {_CHECKSUM} AND question IN"
        rows = self.select_rows_with_values(query, [fingerprint], questions)
        return {question: Reply.from_dict(json.loads(reply)) for question, reply in rows}

    def merge(self, path: Path | str) -> None:
        """Add the replies of the store in the file `path`; replace an existing reply only if it is damaged."""
        self._merge_file(path, [_MERGE])

    def confirm_replies(self, unconfirmed: str, fingerprint: str, questions: Iterable[bytes]) -> None:
        """Move replies from the key `unconfirmed` to the key `fingerprint`, because they are now confirmed."""
        replies = self.get(unconfirmed, questions)
        with self.begin_transaction():
            for question, reply in replies.items():
                self._insert_reply(fingerprint, question, reply)
        self.delete(unconfirmed, replies)

    def delete(self, fingerprint: str, questions: Iterable[bytes]) -> None:
        """Delete the replies of the model with this fingerprint to these questions; `questions` are digests."""
        with self.begin_transaction():
            for question in questions:
                self._db.execute("DELETE FROM replies WHERE fingerprint = ? AND question = ?", [fingerprint, question])

    def put(self, fingerprint: str, question: bytes, reply: Reply) -> None:
        """Store a reply, unless an undamaged reply is already stored."""
        with self.begin_transaction():
            self._insert_reply(fingerprint, question, reply)

    def _insert_reply(self, fingerprint: str, question: bytes, reply: Reply) -> None:
        text = json.dumps(reply.to_dict(), ensure_ascii=False)
        row = (fingerprint, question, text)
        self._db.execute(_INSERT, [*row, compute_checksum(*row)])
