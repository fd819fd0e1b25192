"""The database tables of assignments: profiles of reviewers, assigned items, and the items of the calibration round."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tiltmeter.database.row_checksum_database import RowChecksumDatabase
from tiltmeter.making.timestamp import get_timestamp

ASSIGNMENT_SCHEMA = """
CREATE TABLE IF NOT EXISTS reviewer_profiles (
    reviewer TEXT PRIMARY KEY COLLATE NOCASE,
    variety TEXT NOT NULL,    -- the reviewer's variety of the language, such as es-MX; may be empty
    share REAL NOT NULL       -- the relative number of items
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS assignments (
    item TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    PRIMARY KEY (item, reviewer)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS calibration (  -- items that all reviewers decide on first
    item TEXT PRIMARY KEY,
    opened_at TEXT            -- when the other items were opened
) STRICT, WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class ReviewerProfile:
    """A reviewer to whom items are assigned: the variety of the language, and the relative number of items."""

    name: str
    variety: str = ""
    share: float = 1.0


class AssignmentTables(RowChecksumDatabase):
    """The tables of assignments. Call methods that write inside `begin_transaction()`."""

    def replace_assignments(self, profiles: Iterable[ReviewerProfile], assigned: Mapping[str, Iterable[str]]) -> None:
        """Replace all profiles and assignments; `assigned` maps items to reviewers."""
        self._db.execute("DELETE FROM reviewer_profiles")
        self._db.execute("DELETE FROM assignments")
        rows = [[profile.name, profile.variety, profile.share] for profile in profiles]
        self._db.executemany("INSERT INTO reviewer_profiles VALUES (?, ?, ?)", rows)
        pairs = [[item, name] for item, names in assigned.items() for name in names]
        self._db.executemany("INSERT INTO assignments VALUES (?, ?)", pairs)

    def list_reviewer_profiles(self) -> list[ReviewerProfile]:
        """Return the profiles of the reviewers to whom items were assigned, sorted by name."""
        rows = self._db.execute("SELECT reviewer, variety, share FROM reviewer_profiles ORDER BY reviewer")
        return [ReviewerProfile(*row) for row in rows]

    def list_assignments(self) -> dict[str, set[str]]:
        """Return a dictionary from item to the reviewers to whom the item is assigned."""
        found: dict[str, set[str]] = {}
        for item, reviewer in self._db.execute("SELECT item, reviewer FROM assignments"):
            found.setdefault(item, set()).add(reviewer)
        return found

    def set_calibration_items(self, items: Iterable[str]) -> None:
        """Store the items of the calibration round, which begins."""
        self._db.executemany("INSERT INTO calibration VALUES (?, NULL)", [[item] for item in items])

    def list_calibration_items(self) -> list[str]:
        """Return the items of the calibration round."""
        return [item for (item,) in self._db.execute("SELECT item FROM calibration ORDER BY item")]

    def is_calibration_open(self) -> bool:
        """Tell whether items outside of the calibration round are open for decisions."""
        return self._db.execute("SELECT 1 FROM calibration WHERE opened_at IS NULL").fetchone() is None

    def open_calibration(self) -> None:
        """Open the items outside of the calibration round for decisions."""
        self._db.execute("UPDATE calibration SET opened_at = ?", [get_timestamp()])
