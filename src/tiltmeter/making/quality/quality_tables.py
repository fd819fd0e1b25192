"""The database tables of the quality of translations: unknown words, and second opinions."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tiltmeter.database.row_checksum_database import RowChecksumDatabase

QUALITY_SCHEMA = """
CREATE TABLE IF NOT EXISTS unknown_words (  -- words that the translation system marked as unknown
    item TEXT PRIMARY KEY,
    words TEXT NOT NULL       -- a JSON list; empty if the system knew all words
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS second_opinions (  -- similarity of the translation to a second one, or to the source
    item TEXT NOT NULL,
    method TEXT NOT NULL,     -- second (another system) or back (translated back)
    system TEXT NOT NULL,
    similarity REAL NOT NULL, -- chrF, from 0 to 1
    texts TEXT NOT NULL,      -- a JSON object: the texts of the second system, or the texts translated back, by field
    PRIMARY KEY (item, method)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS estimated_qualities (  -- at the end of the last step; items that are not listed have 1
    item TEXT PRIMARY KEY,
    quality REAL NOT NULL
) STRICT, WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """The similarity of an item to a second translation (`second`), or of its source to a translation back (`back`)."""

    item: str
    method: str
    system: str
    similarity: float
    texts: dict[str, str]


class QualityTables(RowChecksumDatabase):
    """The methods of a project's database for the quality of translations."""

    def set_unknown_words(self, item: str, words: Iterable[str]) -> None:
        """Store the words of an item that the translation system marked as unknown."""
        content = json.dumps(sorted(set(words)), ensure_ascii=False)
        self._db.execute("INSERT OR REPLACE INTO unknown_words VALUES (?, ?)", [item, content])

    def list_unknown_words(self) -> dict[str, list[str]]:
        """Return the marked words by item; items whose translation system marks no words are missing."""
        return {item: json.loads(words) for item, words in self._db.execute("SELECT item, words FROM unknown_words")}

    def set_estimated_qualities(self, qualities: Mapping[str, float]) -> None:
        """Replace the estimated qualities of all items."""
        self._db.execute("DELETE FROM estimated_qualities")
        self._db.executemany("INSERT INTO estimated_qualities VALUES (?, ?)", list(qualities.items()))

    def list_estimated_qualities(self) -> dict[str, float]:
        """Return the estimated quality of each item at the end of the last step; items without problems have 1."""
        return dict(self._db.execute("SELECT item, quality FROM estimated_qualities"))

    def set_second_opinion(self, opinion: SecondOpinion) -> None:
        """Store a second opinion; it replaces an earlier one of the same method."""
        texts = json.dumps(opinion.texts, ensure_ascii=False)
        row = [opinion.item, opinion.method, opinion.system, opinion.similarity, texts]
        self._db.execute("INSERT OR REPLACE INTO second_opinions VALUES (?, ?, ?, ?, ?)", row)

    def list_second_opinions(self, item: str | None = None) -> list[SecondOpinion]:
        """Return the second opinions about one item, or about all items."""
        query = f"SELECT * FROM second_opinions {'' if item is None else 'WHERE item = ?'} ORDER BY item, method"
        rows = self._db.execute(query, [] if item is None else [item])
        return [SecondOpinion(row[0], row[1], row[2], row[3], json.loads(row[4])) for row in rows]
