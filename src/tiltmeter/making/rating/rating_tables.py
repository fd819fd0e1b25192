"""The tables of rating tasks: the units that are rated, and the ratings."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tiltmeter.database.row_checksum_database import RowChecksumDatabase

# What to do about a file that cannot be opened.
REMEDY = "restore it, or copy the folder to a place where you may write"

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
    findings TEXT NOT NULL DEFAULT '[]',  -- a JSON list: the findings that hold what the rater proposes
    at TEXT NOT NULL,
    undone_at TEXT
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS standing_ratings ON ratings (unit, task, rater) WHERE undone_at IS NULL;
CREATE TABLE IF NOT EXISTS rating_slots (  -- a unit that a rater has in hand
    unit TEXT NOT NULL,
    slot INTEGER NOT NULL,
    rater TEXT NOT NULL,
    expires REAL NOT NULL,    -- seconds since 1970
    PRIMARY KEY (unit, slot)
) STRICT, WITHOUT ROWID;
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
    def writer(self) -> str:
        """Who wrote it; empty if nobody of the project did."""
        return self.facts.get("writer", "")

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


class RatingTables(RowChecksumDatabase):
    """Units and ratings. Methods that write do so inside `transaction()` of the caller."""

    def set_units(self, units: Iterable[RatingUnit]) -> None:
        """Replace the units that are rated; ratings are kept, and count for those whose texts are the same."""
        self._db.execute("DELETE FROM rating_units")
        rows = [
            (
                unit.id,
                position,
                _to_json(unit.texts),
                unit.label,
                json.dumps(unit.fitting),
                unit.part,
                _to_json(unit.facts),
            )
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

    def add_rating(
        self, unit: RatingUnit, task: str, rater: str, step: int, comment: str, findings: Sequence[int] = ()
    ) -> None:
        """Record a rating, with the numbers of the findings that hold what the rater proposes.

        One on texts that have changed since gives way, and is kept.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._db.execute(
            "UPDATE ratings SET undone_at = ? WHERE unit = ? AND task = ? AND rater = ? AND undone_at IS NULL",
            [now, unit.id, task, rater],
        )
        self._db.execute(
            "INSERT INTO ratings (unit, task, rater, step, comment, shown, findings, at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [unit.id, task, rater, step, comment, unit.shown, json.dumps(list(findings)), now],
        )

    def undo_rating(self, number: int) -> None:
        """Withdraw a rating, with what it proposes unless that is settled; it is kept, but no longer counts."""
        (findings,) = self._db.execute("SELECT findings FROM ratings WHERE id = ?", [number]).fetchone()
        for finding in json.loads(findings):
            self._db.execute("DELETE FROM findings WHERE id = ? AND closed_at IS NULL", [finding])
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._db.execute("UPDATE ratings SET undone_at = ? WHERE id = ?", [now, number])

    def delete_rating(self, number: int) -> None:
        """Delete a rating that is repeated, with what it proposes unless that is settled."""
        self.undo_rating(number)
        self._db.execute("DELETE FROM ratings WHERE id = ?", [number])

    def list_ratings(self) -> list[StoredRating]:
        """The ratings that stand, in order."""
        query = "SELECT unit, task, rater, step, comment, shown, id FROM ratings WHERE undone_at IS NULL ORDER BY id"
        return [StoredRating(*row) for row in self._db.execute(query)]

    def raters(self) -> list[str]:
        """Everybody who has rated, or has something in hand."""
        query = "SELECT rater FROM ratings UNION SELECT rater FROM rating_slots ORDER BY 1"
        return [rater for (rater,) in self._db.execute(query)]

    # Slots

    def get_rating_slots(self, now: float) -> dict[str, dict[int, str]]:
        """By unit, who has it in hand, by slot."""
        found: dict[str, dict[int, str]] = {}
        query = "SELECT unit, slot, rater FROM rating_slots WHERE expires > ?"
        for unit, slot, rater in self._db.execute(query, [now]):
            found.setdefault(unit, {})[slot] = rater
        return found

    def take_rating_slot(self, unit: str, slot: int, rater: str, expires: float) -> None:
        """Give a slot of a unit to a rater until a time, or longer if they have it longer."""
        self._db.execute(
            "INSERT INTO rating_slots VALUES (?1, ?2, ?3, ?4) ON CONFLICT (unit, slot) DO UPDATE SET "
            "expires = CASE WHEN rater = ?3 THEN max(expires, ?4) ELSE ?4 END, rater = ?3",
            [unit, slot, rater, expires],
        )

    def free_rating_slots(self, rater: str, unit: str | None = None) -> None:
        """Take a unit, or all units, out of a rater's hands."""
        query = "DELETE FROM rating_slots WHERE rater = ?1 AND (?2 IS NULL OR unit = ?2)"
        self._db.execute(query, [rater, unit])


class RatingStore(RatingTables):
    """The SQLite file of rating tasks that belong to no project."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), RATING_SCHEMA, synchronous="FULL", contents="ratings", remedy=REMEDY)


def _to_json(values: dict[str, str]) -> str:
    return json.dumps(values, ensure_ascii=False, sort_keys=True)
