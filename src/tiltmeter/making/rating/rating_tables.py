"""The database tables of ratings: units to rate, ratings, and units reserved for raters."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tiltmeter.database.row_checksum_database import RowChecksumDatabase
from tiltmeter.making.timestamp import get_timestamp

# The remedy in error messages about a project or sample whose database cannot be opened.
REMEDY = "restore it, or copy the folder to a place where you may write"

RATING_SCHEMA = """
CREATE TABLE IF NOT EXISTS rating_units (
    id TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    texts TEXT NOT NULL,      -- a JSON object
    label TEXT NOT NULL,      -- hidden at first: a stereotype, or the outcome of a rule
    fitting TEXT NOT NULL,    -- a JSON list: the steps of the first task that agree with the label
    part TEXT NOT NULL,       -- a language, or another group
    facts TEXT NOT NULL       -- a JSON object
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ratings (  -- including withdrawn ones
    id INTEGER PRIMARY KEY,
    unit TEXT NOT NULL,
    task TEXT NOT NULL,
    rater TEXT NOT NULL,
    step INTEGER NOT NULL,    -- from 1
    comment TEXT NOT NULL,
    shown TEXT NOT NULL,      -- identifies the texts that were rated
    findings TEXT NOT NULL DEFAULT '[]',  -- a JSON list: the numbers of the findings with the rater's proposals
    at TEXT NOT NULL,
    undone_at TEXT
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS standing_ratings ON ratings (unit, task, rater) WHERE undone_at IS NULL;
CREATE TABLE IF NOT EXISTS rating_slots (  -- units that are reserved for raters
    unit TEXT NOT NULL,
    slot INTEGER NOT NULL,
    rater TEXT NOT NULL,
    expires REAL NOT NULL,    -- seconds since 1970
    PRIMARY KEY (unit, slot)
) STRICT, WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class RatingUnit:
    """An item, a sentence or a pair to rate, with its texts by field.

    `label` is a stereotype, a target or the outcome of a rule. `fitting` are the steps of the first task's scale that
    agree with the label. `part` is a language or another group of units.
    """

    id: str
    texts: dict[str, str]
    label: str
    fitting: tuple[int, ...] = ()
    part: str = ""
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def writer(self) -> str:
        """The name of the person who wrote the unit; empty if the unit is not a written item."""
        return self.facts.get("writer", "")

    @property
    def digest(self) -> str:
        """A digest of the texts and the label that raters see; it changes if one of them changes."""
        content = json.dumps([self.texts, self.label], ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class StoredRating:
    """A rating of a unit in a task. `step` is a step of the scale, counted from 1; `number` is the id of the rating.

    `shown` is the digest of the texts and the label that were rated.
    """

    unit: str
    task: str
    rater: str
    step: int
    comment: str
    shown: str
    number: int


class RatingTables(RowChecksumDatabase):
    """The tables of units to rate and of ratings. Methods that write must be called inside `begin_transaction()`."""

    def set_units(self, units: Iterable[RatingUnit]) -> None:
        """Replace the units to rate. Ratings are kept, but count only if the texts of the unit are unchanged."""
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

    def list_units(self) -> list[RatingUnit]:
        """Return the units in the order in which they were stored."""
        rows = self._db.execute("SELECT id, texts, label, fitting, part, facts FROM rating_units ORDER BY position")
        return [
            RatingUnit(name, json.loads(texts), label, tuple(json.loads(fitting)), part, json.loads(facts))
            for name, texts, label, fitting, part, facts in rows
        ]

    def add_rating(
        self, unit: RatingUnit, task: str, rater: str, step: int, comment: str, findings: Sequence[int] = ()
    ) -> None:
        """Store a rating; `findings` are the ids of the findings that contain the rater's proposals.

        An earlier rating of this unit by this rater in this task is withdrawn.
        """
        now = get_timestamp()
        self._db.execute(
            "UPDATE ratings SET undone_at = ? WHERE unit = ? AND task = ? AND rater = ? AND undone_at IS NULL",
            [now, unit.id, task, rater],
        )
        self._db.execute(
            "INSERT INTO ratings (unit, task, rater, step, comment, shown, findings, at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [unit.id, task, rater, step, comment, unit.digest, json.dumps(list(findings)), now],
        )

    def undo_rating(self, number: int) -> None:
        """Mark the rating with the id `number` as withdrawn, and delete its unsettled proposals."""
        (findings,) = self._db.execute("SELECT findings FROM ratings WHERE id = ?", [number]).fetchone()
        for finding in json.loads(findings):
            self._db.execute("DELETE FROM findings WHERE id = ? AND closed_at IS NULL", [finding])
        self._db.execute("UPDATE ratings SET undone_at = ? WHERE id = ?", [get_timestamp(), number])

    def delete_rating(self, number: int) -> None:
        """Delete the rating with the id `number` and its unsettled proposals."""
        self.undo_rating(number)
        self._db.execute("DELETE FROM ratings WHERE id = ?", [number])

    def list_ratings(self) -> list[StoredRating]:
        """Return the ratings that are not withdrawn, oldest first."""
        query = "SELECT unit, task, rater, step, comment, shown, id FROM ratings WHERE undone_at IS NULL ORDER BY id"
        return [StoredRating(*row) for row in self._db.execute(query)]

    def list_raters(self) -> list[str]:
        """Return the names of all people who have rated a unit or have a reserved unit."""
        query = "SELECT rater FROM ratings UNION SELECT rater FROM rating_slots ORDER BY 1"
        return [rater for (rater,) in self._db.execute(query)]

    # Methods for slots (reservations of units)

    def get_rating_slots(self, now: float) -> dict[str, dict[int, str]]:
        """Return the reservations at the time `now`: a dictionary from unit to slot number to rater.

        A unit has one slot for each rater who has reserved it.
        """
        slots: dict[str, dict[int, str]] = {}
        query = "SELECT unit, slot, rater FROM rating_slots WHERE expires > ?"
        for unit, slot, rater in self._db.execute(query, [now]):
            slots.setdefault(unit, {})[slot] = rater
        return slots

    def take_rating_slot(self, unit: str, slot: int, rater: str, expires: float) -> None:
        """Reserve a slot of a unit for a rater until the time `expires`.

        If the rater already has a longer reservation of the slot, the longer one is kept.
        """
        self._db.execute(
            "INSERT INTO rating_slots VALUES (?1, ?2, ?3, ?4) ON CONFLICT (unit, slot) DO UPDATE SET "
            "expires = CASE WHEN rater = ?3 THEN max(expires, ?4) ELSE ?4 END, rater = ?3",
            [unit, slot, rater, expires],
        )

    def free_rating_slots(self, rater: str, unit: str | None = None) -> None:
        """Delete the reservations of a rater for one unit (None: for all units)."""
        query = "DELETE FROM rating_slots WHERE rater = ?1 AND (?2 IS NULL OR unit = ?2)"
        self._db.execute(query, [rater, unit])


class RatingStore(RatingTables):
    """The SQLite file of a sample of sentences or pairs to rate; the sample does not belong to a project."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), RATING_SCHEMA, synchronous="FULL", contents="ratings", remedy=REMEDY)


def _to_json(values: dict[str, str]) -> str:
    return json.dumps(values, ensure_ascii=False, sort_keys=True)
