"""The tables of rating tasks: the units that are rated, and the ratings."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tiltmeter.database import Database

RATING_SCHEMA = """
CREATE TABLE IF NOT EXISTS rating_units (
    id TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    texts TEXT NOT NULL,      -- a JSON object: what is rated
    label TEXT NOT NULL,      -- what is hidden at first: a stereotype, or what a rule said
    fitting TEXT NOT NULL,    -- a JSON list: the steps of the first task that go with the label
    part TEXT NOT NULL,       -- a language, or another group
    facts TEXT NOT NULL       -- a JSON object
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ratings (  -- every one kept
    id INTEGER PRIMARY KEY,
    unit TEXT NOT NULL,
    task TEXT NOT NULL,
    rater TEXT NOT NULL,
    step INTEGER NOT NULL,    -- from 1
    comment TEXT NOT NULL,
    shown TEXT NOT NULL,      -- identifies the texts that were rated
    at TEXT NOT NULL,
    undone_at TEXT
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS standing_ratings ON ratings (unit, task, rater) WHERE undone_at IS NULL;
"""


@dataclass(frozen=True, slots=True)
class RatingUnit:
    """What is rated: its texts, the label that is hidden at first, and the steps of the first task that go with it."""

    id: str
    texts: dict[str, str]
    label: str
    fitting: tuple[int, ...] = ()
    part: str = ""
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """Identifies the texts and the label."""
        content = json.dumps([self.texts, self.label], ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class StoredRating:
    """A rating of a unit in a task: a step of its scale, counted from 1."""

    unit: str
    task: str
    rater: str
    step: int
    comment: str
    shown: str
    number: int


class RatingTables(Database):
    """Units and ratings. Methods that write do so inside `transaction()` of the caller."""

    def set_units(self, units: Iterable[RatingUnit]) -> None:
        """Replace the units that are rated; ratings are kept, and count for those whose texts are the same."""
        self._db.execute("DELETE FROM rating_units")
        rows = [
            (unit.id, position, _json(unit.texts), unit.label, json.dumps(unit.fitting), unit.part, _json(unit.facts))
            for position, unit in enumerate(units)
        ]
        self._db.executemany("INSERT INTO rating_units VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def units(self) -> list[RatingUnit]:
        """The units, in their order."""
        rows = self._db.execute("SELECT id, texts, label, fitting, part, facts FROM rating_units ORDER BY position")
        return [
            RatingUnit(name, json.loads(texts), label, tuple(json.loads(fitting)), part, json.loads(facts))
            for name, texts, label, fitting, part, facts in rows
        ]

    def add_rating(self, unit: RatingUnit, task: str, rater: str, step: int, comment: str) -> None:
        """Record a rating; one on texts that have changed since gives way, and is kept."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._db.execute(
            "UPDATE ratings SET undone_at = ? WHERE unit = ? AND task = ? AND rater = ? AND undone_at IS NULL",
            [now, unit.id, task, rater],
        )
        self._db.execute(
            "INSERT INTO ratings (unit, task, rater, step, comment, shown, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [unit.id, task, rater, step, comment, unit.shown, now],
        )

    def undo_rating(self, number: int) -> None:
        """Withdraw a rating; it is kept, but no longer counts."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._db.execute("UPDATE ratings SET undone_at = ? WHERE id = ?", [now, number])

    def ratings(self) -> list[StoredRating]:
        """The ratings that stand, in order."""
        query = "SELECT unit, task, rater, step, comment, shown, id FROM ratings WHERE undone_at IS NULL ORDER BY id"
        return [StoredRating(*row) for row in self._db.execute(query)]


class RatingStore(RatingTables):
    """The SQLite file of rating tasks that belong to no project."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), RATING_SCHEMA, synchronous="FULL", contents="ratings", remedy="restore it")


def _json(values: dict[str, str]) -> str:
    return json.dumps(values, ensure_ascii=False, sort_keys=True)
