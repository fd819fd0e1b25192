"""The SQLite file of a project: items, texts, history, findings and decisions."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tiltmeter.errors import UsageError
from tiltmeter.making.draft import FindingKind, RepairFinding
from tiltmeter.making.quality.quality_tables import QUALITY_SCHEMA, QualityTables
from tiltmeter.making.rating.rating_tables import RATING_SCHEMA, REMEDY, RatingTables
from tiltmeter.making.review.assignment_tables import ASSIGNMENT_SCHEMA, AssignmentTables
from tiltmeter.making.review.review_tables import REVIEW_SCHEMA, ReviewTables
from tiltmeter.making.timestamp import get_timestamp

Stage = Literal["source", "translated", "repaired", "reviewed"]
# The roles of stored translations. text: the current translation of a field. alone: the translation of a candidate word
# without a context. filled: the translation of the context with the candidate word filled in.
TextRole = Literal["text", "alone", "filled"]
Step = Literal["source", "translate", "check", "second", "repair", "suggest", "review", "import", "rating"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS remembered (  -- settings that the stored items depend on
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS items (
    id TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    part TEXT NOT NULL,
    subject TEXT NOT NULL,
    original TEXT NOT NULL,   -- the source item before corrections, a line of JSONL
    source TEXT NOT NULL,     -- the source item after corrections
    stage TEXT NOT NULL DEFAULT 'source',
    dropped TEXT,             -- the reason, if the item was dropped
    dropped_in TEXT,          -- the step that dropped it
    version INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS texts (
    item TEXT NOT NULL REFERENCES items (id),
    role TEXT NOT NULL,
    field TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (item, role, field)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS history (
    id INTEGER PRIMARY KEY,
    item TEXT NOT NULL,
    role TEXT NOT NULL,       -- a text role, 'source', or 'item' for a change of the whole item
    field TEXT NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL,
    step TEXT NOT NULL,
    by TEXT NOT NULL,         -- a translation system, a rule or a person
    why TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS history_of_item ON history (item);
CREATE TABLE IF NOT EXISTS attempts (  -- translations of a context with a placeholder
    id INTEGER PRIMARY KEY,
    item TEXT NOT NULL,
    field TEXT NOT NULL,
    system TEXT NOT NULL,
    placeholder TEXT NOT NULL,
    received TEXT NOT NULL,
    outcome TEXT NOT NULL,
    used INTEGER NOT NULL     -- whether the text of the item is from this attempt
) STRICT;
CREATE INDEX IF NOT EXISTS attempts_of_item ON attempts (item);
CREATE TABLE IF NOT EXISTS findings (
    id INTEGER PRIMARY KEY,
    item TEXT NOT NULL,
    step TEXT NOT NULL,
    field TEXT NOT NULL,
    rule TEXT NOT NULL,
    kind TEXT NOT NULL,       -- changed, proposed or open
    reason TEXT NOT NULL,
    before TEXT NOT NULL,
    proposals TEXT NOT NULL,  -- a JSON list, best first
    at TEXT NOT NULL,
    closed_by TEXT,
    closed_why TEXT,
    closed_at TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS findings_of_item ON findings (item);
CREATE INDEX IF NOT EXISTS open_findings ON findings (item) WHERE closed_at IS NULL;
CREATE TABLE IF NOT EXISTS accepted (  -- validation findings that a person accepted
    item TEXT NOT NULL,
    code TEXT NOT NULL,
    by TEXT NOT NULL,
    why TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (item, code)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS steps (  -- one row for each finished run of a step
    id INTEGER PRIMARY KEY,
    step TEXT NOT NULL,
    at TEXT NOT NULL,
    facts TEXT NOT NULL       -- a JSON object
) STRICT;
CREATE TABLE IF NOT EXISTS step_counts (  -- open problems at the end of a step
    step INTEGER NOT NULL REFERENCES steps (id),
    part TEXT NOT NULL,
    reason TEXT NOT NULL,
    subject TEXT NOT NULL,
    items INTEGER NOT NULL,
    PRIMARY KEY (step, part, reason, subject)
) STRICT, WITHOUT ROWID;
"""

_ITEM_COLUMNS = "id, part, subject, original, source, stage, dropped, dropped_in, version"


@dataclass(frozen=True, slots=True)
class ProjectItem:
    """An item of a project: its source item as a line of JSONL, and its stage.

    `part` is the part of the benchmark. `subject` is the target or topic of the item. `original` is the source item
    before corrections, and `source` is the source item after corrections. If the item was dropped, `dropped` is the
    reason and `dropped_in` is the step that dropped it. `version` grows by one with each change.
    """

    id: str
    part: str
    subject: str
    original: str
    source: str
    stage: Stage = "source"
    dropped: str | None = None
    dropped_in: str | None = None
    version: int = 0


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A change of an item: the text before and after the change, who or which rule made the change, and the reason."""

    item: str
    role: str
    field: str
    before: str
    after: str
    step: str
    by: str
    why: str
    at: str


@dataclass(frozen=True, slots=True)
class StoredFinding:
    """A stored finding: a change or problem that the step `step` found in an item.

    `number` is the id of the finding in the database. `closed_by` is the person who settled it, or None.
    """

    number: int
    step: str
    finding: RepairFinding
    closed_by: str | None


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A completed step of a project, such as `translate`.

    `facts` describe the work of the step. `counts` maps part, reason and subject to the number of items with open
    problems at the end of the step.
    """

    step: str
    at: str
    facts: dict[str, Any]
    counts: dict[tuple[str, str, str], int]


class ProjectStore(ReviewTables, AssignmentTables, RatingTables, QualityTables):
    """The database of a project. Methods that write must be called inside `begin_transaction()`."""

    def __init__(self, path: Path) -> None:
        # With `synchronous="FULL"`, every commit is synced to disk, because the decisions of people must not be lost.
        super().__init__(
            str(path),
            _SCHEMA + REVIEW_SCHEMA + ASSIGNMENT_SCHEMA + RATING_SCHEMA + QUALITY_SCHEMA,
            synchronous="FULL",
            contents="a project",
            remedy=REMEDY,
        )

    def store_values(self, settings: Mapping[str, str]) -> None:
        """Store named values, such as the settings on which the stored items depend."""
        self._db.executemany("INSERT OR REPLACE INTO remembered VALUES (?, ?)", list(settings.items()))

    def get_stored_values(self) -> dict[str, str]:
        """Return all names and values that `store_values` stored."""
        return dict(self._db.execute("SELECT name, value FROM remembered"))

    @property
    def is_blank(self) -> bool:
        """Whether the database is empty: no settings, no items and no completed steps."""
        return not self.get_stored_values() and not self.list_items(dropped=None) and not self.count_steps()

    # Methods for items

    def add_items(self, items: Iterable[ProjectItem]) -> None:
        """Add source items after the items that are already stored."""
        (count,) = self._db.execute("SELECT count(*) FROM items").fetchone()
        rows = [
            (item.id, position, item.part, item.subject, item.original, item.source)
            for position, item in enumerate(items, start=count)
        ]
        self._db.executemany(
            "INSERT INTO items (id, position, part, subject, original, source) VALUES (?, ?, ?, ?, ?, ?)", rows
        )

    def list_items(self, stage: Stage | None = None, *, dropped: bool | None = False) -> list[ProjectItem]:
        """Return the items in the order of the project; `stage` and `dropped` select items.

        None as `stage` selects all stages, and None as `dropped` selects both dropped and other items.
        """
        query = (
            f"SELECT {_ITEM_COLUMNS} FROM items "
            "WHERE (?1 IS NULL OR stage = ?1) AND (?2 IS NULL OR (dropped IS NOT NULL) = ?2) ORDER BY position"
        )
        return [ProjectItem(*row) for row in self._db.execute(query, [stage, dropped])]

    def get_item(self, item: str) -> ProjectItem:
        """Return the item with this id; raise a UsageError if the project has no such item."""
        row = self._db.execute(f"SELECT {_ITEM_COLUMNS} FROM items WHERE id = ?", [item]).fetchone()
        if row is None:
            raise UsageError(f"The project has no item {item!r}.")
        return ProjectItem(*row)

    def count_stages(self) -> dict[str, int]:
        """Return the number of untranslated items (key `source`) and of items in later stages (key `translated`).

        Dropped items are counted too.
        """
        query = "SELECT CASE stage WHEN 'source' THEN 'source' ELSE 'translated' END, count(*) FROM items GROUP BY 1"
        return dict(self._db.execute(query))

    def set_stage(self, item: str, stage: Stage) -> None:
        """Set the stage of an item."""
        self._db.execute("UPDATE items SET stage = ? WHERE id = ?", [stage, item])

    def set_source(self, item: ProjectItem, line: str, *, field: str, by: str, why: str) -> None:
        """Replace the source of an item; delete its translations, unsettled findings and applied review outcome."""
        self._db.execute(
            "UPDATE items SET source = ?, stage = 'source', version = version + 1 WHERE id = ?", [line, item.id]
        )
        self._add_history_entry(item.id, "source", field, item.source, line, "source", by, why)
        self._db.execute("DELETE FROM texts WHERE item = ?", [item.id])
        self._db.execute("DELETE FROM findings WHERE item = ? AND closed_at IS NULL", [item.id])
        self.set_applied_outcome(item.id, None)

    def drop_item(self, item: str, *, step: Step, by: str, why: str) -> None:
        """Drop an item, and add the reason to the history of the item."""
        self._db.execute(
            "UPDATE items SET dropped = ?, dropped_in = ?, version = version + 1 WHERE id = ?", [why, step, item]
        )
        self._add_history_entry(item, "item", "", "", "dropped", step, by, why)

    def restore_item(self, item: str, *, step: Step, by: str, why: str) -> None:
        """Restore a dropped item, and add the reason to the history of the item."""
        self._db.execute(
            "UPDATE items SET dropped = NULL, dropped_in = NULL, version = version + 1 WHERE id = ?", [item]
        )
        self._add_history_entry(item, "item", "", "dropped", "", step, by, why)

    # Methods for texts and their history

    def list_texts(self, role: TextRole, item: str | None = None) -> dict[str, dict[str, str]]:
        """Return a dictionary from item id to field to text: the texts in this role of one item (None: all items)."""
        query = "SELECT item, field, text FROM texts WHERE role = ?"
        # There are two queries, because SQLite does not use the index for `(?2 IS NULL OR get_item = ?2)`.
        rows = (
            self._db.execute(query, [role]) if item is None else self._db.execute(f"{query} AND item = ?", [role, item])
        )
        texts: dict[str, dict[str, str]] = {}
        for owner, field, text in rows:
            texts.setdefault(owner, {})[field] = text
        return texts

    def set_text(self, item: str, role: TextRole, field: str, text: str, *, step: Step, by: str, why: str) -> None:
        """Store a text of an item, and add the change to the history; do nothing if the text is already stored."""
        query = "SELECT text FROM texts WHERE item = ? AND role = ? AND field = ?"
        row = self._db.execute(query, [item, role, field]).fetchone()
        if row is not None and row[0] == text:
            return
        self._db.execute("INSERT OR REPLACE INTO texts VALUES (?, ?, ?, ?)", [item, role, field, text])
        self._db.execute("UPDATE items SET version = version + 1 WHERE id = ?", [item])
        self._add_history_entry(item, role, field, row[0] if row else "", text, step, by, why)

    def list_history(self, item: str) -> list[HistoryEntry]:
        """Return all changes of an item, oldest first."""
        query = "SELECT item, role, field, before, after, step, by, why, at FROM history WHERE item = ? ORDER BY id"
        return [HistoryEntry(*row) for row in self._db.execute(query, [item])]

    def _add_history_entry(
        self, item: str, role: str, field: str, before: str, after: str, step: str, by: str, why: str
    ) -> None:
        self._db.execute(
            "INSERT INTO history (item, role, field, before, after, step, by, why, at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [item, role, field, before, after, step, by, why, get_timestamp()],
        )

    # Methods for attempts (translations with a placeholder)

    def add_attempt(
        self, item: str, field: str, system: str, placeholder: str, received: str, outcome: str, *, used: bool
    ) -> None:
        """Store an attempt: a translation of a context with a placeholder.

        `used` says whether the item's text comes from this attempt. Only one attempt for each field is used.
        """
        if used:
            self._db.execute("UPDATE attempts SET used = 0 WHERE item = ? AND field = ?", [item, field])
        self._db.execute(
            "INSERT INTO attempts (item, field, system, placeholder, received, outcome, used) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            [item, field, system, placeholder, received, outcome, used],
        )

    def clear_attempts(self, item: str) -> None:
        """Delete the attempts (translations with placeholders) of an item before the item is translated again."""
        self._db.execute("DELETE FROM attempts WHERE item = ?", [item])

    def count_blank_outcomes(self) -> Counter[tuple[str, str]]:
        """Return the number of contexts for each pair of placeholder and outcome.

        Of the attempts to translate a context, only the one from which the current text comes is counted.
        """
        query = "SELECT placeholder, outcome FROM attempts WHERE used"
        return Counter((placeholder, outcome) for placeholder, outcome in self._db.execute(query))

    # Methods for findings

    def replace_findings(self, item: str, step: Step, findings: Iterable[RepairFinding]) -> None:
        """Store the findings of a step about an item.

        Earlier findings of the step about this item are deleted, except settled findings and safe changes.
        """
        self._db.execute(
            "DELETE FROM findings WHERE item = ? AND step = ? AND kind != 'changed' AND closed_at IS NULL", [item, step]
        )
        for finding in findings:
            self.add_finding(finding, step)

    def add_finding(self, finding: RepairFinding, step: Step) -> int:
        """Store a finding of a step, and return its id in the database; earlier findings are kept."""
        cursor = self._db.execute(
            "INSERT INTO findings (item, step, field, rule, kind, reason, before, proposals, at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                finding.item,
                step,
                finding.field,
                finding.rule,
                finding.kind,
                finding.reason,
                finding.before,
                json.dumps(finding.proposals, ensure_ascii=False),
                get_timestamp(),
            ],
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def list_findings(self, item: str | None = None, kinds: Iterable[FindingKind] = ()) -> Iterator[StoredFinding]:
        """Return the findings about one item (None: about all items) with the given kinds (empty: with any kind)."""
        query = (
            "SELECT id, step, closed_by, proposals, item, field, rule, kind, reason, before FROM findings "
            f"{'' if item is None else 'WHERE item = ?'} ORDER BY id"
        )
        wanted = set(kinds)
        for number, step, closed_by, proposals, *values in self._db.execute(query, [] if item is None else [item]):
            finding = RepairFinding(*[*values, tuple(json.loads(proposals))])
            if not wanted or finding.kind in wanted:
                yield StoredFinding(number, step, finding, closed_by)

    def close_findings(self, item: str, *, by: str, why: str, fields: Iterable[str] | None = None) -> None:
        """Mark the proposed and open findings about an item, or only about its fields in `fields`, as settled."""
        for stored in list(self.list_findings(item, ("proposed", "open"))):
            if stored.closed_by is None and (fields is None or stored.finding.field in set(fields)):
                self._db.execute(
                    "UPDATE findings SET closed_by = ?, closed_why = ?, closed_at = ? WHERE id = ?",
                    [by, why, get_timestamp(), stored.number],
                )

    def accept_problem(self, item: str, code: str, *, by: str, why: str) -> None:
        """Store that the person `by` accepts the validation finding `code` of an item, for the reason `why`."""
        self._db.execute(
            "INSERT OR REPLACE INTO accepted VALUES (?, ?, ?, ?, ?)", [item, code, by, why, get_timestamp()]
        )

    def list_accepted_problems(self, item: str | None = None) -> dict[tuple[str, str], tuple[str, str]]:
        """Return the accepted validation findings about one item, or about all items.

        The keys are item and code of a finding. The values are the person who accepted the finding, and the reason.
        """
        query = f"SELECT item, code, by, why FROM accepted {'' if item is None else 'WHERE item = ?'}"
        rows = self._db.execute(query, [] if item is None else [item])
        return {(item, code): (by, why) for item, code, by, why in rows}

    # Methods for completed steps

    def add_step(self, step: Step, facts: Mapping[str, Any], counts: Mapping[tuple[str, str, str], int]) -> None:
        """Store a completed step. `facts` describe its work.

        `counts` maps part, reason and subject to the number of items with open problems after the step.
        """
        cursor = self._db.execute(
            "INSERT INTO steps (step, at, facts) VALUES (?, ?, ?)",
            [step, get_timestamp(), json.dumps(dict(facts), ensure_ascii=False)],
        )
        rows = [(cursor.lastrowid, *key, count) for key, count in counts.items()]
        self._db.executemany("INSERT INTO step_counts VALUES (?, ?, ?, ?, ?)", rows)

    def count_steps(self) -> int:
        """Return the number of completed steps; a step that was completed twice counts twice."""
        (count,) = self._db.execute("SELECT count(*) FROM steps").fetchone()
        return int(count)

    def list_steps(self) -> list[StepRecord]:
        """Return the records of all completed steps, oldest first."""
        counts: dict[int, dict[tuple[str, str, str], int]] = {}
        for number, part, reason, subject, items in self._db.execute("SELECT * FROM step_counts"):
            counts.setdefault(number, {})[part, reason, subject] = items
        rows = self._db.execute("SELECT id, step, at, facts FROM steps ORDER BY id")
        return [StepRecord(step, at, json.loads(facts), counts.get(number, {})) for number, step, at, facts in rows]
