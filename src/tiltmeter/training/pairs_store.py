"""Sentences and pairs in a temporary SQLite file, so that memory use does not grow with the number of articles."""

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tiltmeter.errors import DataError
from tiltmeter.language_codes import get_base_code
from tiltmeter.training.articles_preparation import PreparedArticle
from tiltmeter.training.negative_pairs import StoredSentence, match_sentences

# Only one process uses the file, and it is deleted at the end. Therefore it needs neither a journal nor disk syncs.
_SETTINGS = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16384; PRAGMA temp_store = FILE;"
_SCHEMA = """
CREATE TABLE article (
    id INTEGER PRIMARY KEY, language TEXT, name TEXT, group_number INTEGER, held_out INTEGER, UNIQUE (language, name));
CREATE TABLE sentence (
    id INTEGER PRIMARY KEY, article INTEGER, language TEXT, position INTEGER, digest INTEGER,
    random_first INTEGER, random_second INTEGER, is_english INTEGER, text TEXT);
CREATE TABLE dropped (id INTEGER PRIMARY KEY, reason TEXT);
-- Two consecutive sentences; `key` is the position of the pair in the shuffled file.
CREATE TABLE pair (
    id INTEGER PRIMARY KEY, language TEXT, held_out INTEGER, article INTEGER, first INTEGER, second INTEGER,
    first_order INTEGER, second_order INTEGER, key INTEGER, negative_key INTEGER);
-- A sentence of another article, which forms a negative pair with the first sentence of the pair.
CREATE TABLE negative (pair INTEGER PRIMARY KEY, second INTEGER, rank INTEGER, key INTEGER);
"""
_RECURRING = """
INSERT INTO dropped
SELECT id, 'recurring' FROM (SELECT id, count(*) OVER (PARTITION BY language, digest) AS copies FROM sentence)
WHERE copies > 1 ORDER BY id
"""
_SAME_AS_ENGLISH = """
INSERT OR IGNORE INTO dropped
SELECT id, 'same as English' FROM sentence AS own WHERE language = ? AND EXISTS (
    SELECT 1 FROM sentence AS english WHERE english.language = ? AND english.digest = own.digest) ORDER BY id
"""
_ENGLISH = "INSERT OR IGNORE INTO dropped SELECT id, 'English' FROM sentence WHERE is_english"
_PAIRS = """
INSERT INTO pair (language, held_out, article, first, second, first_order, second_order, key, negative_key)
SELECT one.language, article.held_out, one.article, one.id, next.id,
    one.random_first, next.random_second, one.random_second, next.random_first
FROM sentence AS one
JOIN sentence AS next ON next.id = one.id + 1 AND next.article = one.article AND next.position = one.position + 1
JOIN article ON article.id = one.article
WHERE NOT EXISTS (SELECT 1 FROM dropped WHERE dropped.id = one.id)
    AND NOT EXISTS (SELECT 1 FROM dropped WHERE dropped.id = next.id)
"""
_CHOSEN = """
SELECT chosen.language, article.name, article.group_number, one.text, other.text, chosen.label FROM (
    SELECT pair.key, pair.language, pair.article, pair.first, pair.second, 1 AS label, negative.rank, held_out
    FROM pair JOIN negative ON negative.pair = pair.id
    UNION ALL
    SELECT negative.key, pair.language, pair.article, pair.first, negative.second, 0, negative.rank, held_out
    FROM pair JOIN negative ON negative.pair = pair.id
) AS chosen
JOIN article ON article.id = chosen.article
JOIN sentence AS one ON one.id = chosen.first
JOIN sentence AS other ON other.id = chosen.second
WHERE chosen.held_out = ? AND chosen.rank < ? ORDER BY chosen.key, chosen.label
"""


class PairRow(NamedTuple):
    """One sentence pair, as a row of the Parquet files."""

    language: str
    article: str
    group: int
    first: str
    second: str
    label: int


class PairStore:
    """A temporary file of sentences and sentence pairs."""

    def __init__(self, path: Path, *, held_out: float) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.executescript(_SETTINGS + _SCHEMA)
        # An article is held out if its random 64-bit number is below this limit.
        self._limit = int((held_out - 0.5) * 2**64)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def add_articles(self, articles: Iterable[PreparedArticle]) -> None:
        """Store the usable sentences of articles."""
        self._db.execute("BEGIN")
        for number, article in enumerate(articles, 1):
            held_out = article.side_number < self._limit
            try:
                self._db.execute(
                    "INSERT INTO article VALUES (?, ?, ?, ?, ?)",
                    (number, article.language, article.id, article.group_number, held_out),
                )
            except sqlite3.IntegrityError:
                raise DataError(
                    f"{article.location}: the id {article.id!r} occurs twice in {article.language}; give each article "
                    "a different id."
                ) from None
            self._db.executemany(
                "INSERT INTO sentence (article, language, position, digest, random_first, random_second, is_english, "
                "text) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                ((number, article.language, *sentence) for sentence in article.usable),
            )
        self._db.execute("COMMIT")

    def drop_sentences(self) -> None:
        """Mark the sentences to leave out: repeated sentences, and English sentences in articles of other languages."""
        self._db.execute("CREATE INDEX by_digest ON sentence (language, digest)")
        self._db.execute(_RECURRING)
        languages = [language for (language,) in self._db.execute("SELECT DISTINCT language FROM article")]
        english = [language for language in languages if get_base_code(language) == "en"]
        for language in sorted(set(languages) - set(english)):
            for one in english:
                self._db.execute(_SAME_AS_ENGLISH, (language, one))
        self._db.execute(_ENGLISH)

    def pair_sentences(self) -> None:
        """Make the positive and negative pairs of all sentences.

        A positive pair is a sentence and the next sentence. The second sentence of a negative pair is from another
        article of the same language and the same split (training or held-out).
        """
        self._db.execute(_PAIRS)
        sides = self._db.execute("SELECT DISTINCT language, held_out FROM pair ORDER BY 1, 2").fetchall()
        for side in sides:
            matched = match_sentences(self._stream_first_sentences(side), self._stream_second_sentences(side))
            self._db.execute("BEGIN")
            self._db.executemany(
                "INSERT INTO negative VALUES (?, ?, ?, ?)",
                ((first.id, second.id, rank, second.key) for rank, (first, second) in enumerate(matched)),
            )
            self._db.execute("COMMIT")

    def _stream_first_sentences(self, side: tuple[str, int]) -> Iterator[StoredSentence]:
        query = "SELECT article, id, 0 FROM pair WHERE language = ? AND held_out = ? ORDER BY first_order"
        return map(StoredSentence._make, self._db.execute(query, side))

    def _stream_second_sentences(self, side: tuple[str, int]) -> Iterator[StoredSentence]:
        query = (
            "SELECT article, second, negative_key FROM pair WHERE language = ? AND held_out = ? ORDER BY second_order"
        )
        return map(StoredSentence._make, self._db.execute(query, side))

    def count_pairs(self, *, held_out: bool) -> dict[str, int]:
        """Return the number of positive pairs for each language; the number of negative pairs is equal."""
        query = "SELECT language, count(*) FROM pair JOIN negative ON pair = pair.id WHERE held_out = ? GROUP BY 1"
        return dict(self._db.execute(query, (held_out,)))

    def read_pairs(self, *, held_out: bool, limit: int) -> Iterator[PairRow]:
        """Return the pairs of all languages in random order, at most `limit` pairs for each language and label."""
        return map(PairRow._make, self._db.execute(_CHOSEN, (held_out, limit)))

    def count_distinct_sentences(self) -> dict[str, int]:
        """Return the number of distinct sentences for each language."""
        return dict(self._db.execute("SELECT language, count(DISTINCT digest) FROM sentence GROUP BY 1"))

    def count_dropped_sentences(self) -> dict[tuple[str, str], int]:
        """Return the number of sentences that are not used, for each language and reason."""
        query = "SELECT language, reason, count(*) FROM dropped JOIN sentence USING (id) GROUP BY 1, 2"
        return {(language, reason): count for language, reason, count in self._db.execute(query)}

    def count_shared_articles(self) -> dict[str, int]:
        """Return for each language the number of articles that also exist in another language."""
        query = (
            "SELECT language, count(*) FROM article WHERE group_number IN (SELECT group_number FROM article GROUP BY 1 "
            "HAVING count(DISTINCT language) > 1) GROUP BY 1"
        )
        return dict(self._db.execute(query))

    def count_held_out_articles(self) -> dict[str, int]:
        """Return the number of held-out articles for each language."""
        return dict(self._db.execute("SELECT language, sum(held_out) FROM article GROUP BY 1"))
