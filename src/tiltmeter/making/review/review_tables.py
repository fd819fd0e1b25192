"""The tables of the review: reviewers, decisions, the slots they hold, and what was applied to items."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from tiltmeter.database import Database
from tiltmeter.making.review.review_rule import ReviewDecision

REVIEW_SCHEMA = """
CREATE TABLE IF NOT EXISTS reviewers (
    name TEXT PRIMARY KEY COLLATE NOCASE,
    at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS decisions (  -- what people decided, every one kept
    id INTEGER PRIMARY KEY,
    item TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    verdict TEXT NOT NULL,    -- accept, edit or drop
    texts TEXT NOT NULL,      -- a JSON object: all texts of the item as they should be, by field
    accepted TEXT NOT NULL,   -- a JSON object: why validation findings are accepted, by code
    comment TEXT NOT NULL,
    via TEXT NOT NULL,        -- the page, the command line, or the file it came in
    shown TEXT NOT NULL,      -- identifies the texts that were decided on
    adjudicates INTEGER NOT NULL,
    blind INTEGER NOT NULL,   -- whether it counts for agreement: not withdrawn, made before others' were shown
    at TEXT NOT NULL,
    undone_at TEXT            -- when it was withdrawn, or replaced by a later one
) STRICT;
CREATE INDEX IF NOT EXISTS decisions_of_item ON decisions (item);
CREATE TABLE IF NOT EXISTS review_slots (  -- an item that a reviewer has in hand
    item TEXT NOT NULL,
    slot INTEGER NOT NULL,
    reviewer TEXT NOT NULL,
    expires REAL NOT NULL,    -- seconds since 1970
    PRIMARY KEY (item, slot)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reveals (  -- who was shown the decisions of others on an item
    item TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (item, reviewer)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS applied (  -- the outcome that an item has now, and what it was like before
    item TEXT PRIMARY KEY,
    outcome TEXT NOT NULL,
    stage TEXT NOT NULL,
    texts TEXT NOT NULL,      -- a JSON object
    findings TEXT NOT NULL,   -- a JSON list: the findings that it settled
    accepted TEXT NOT NULL    -- a JSON list: the codes that it accepted
) STRICT, WITHOUT ROWID;
"""

_COLUMNS = "item, reviewer, verdict, texts, accepted, comment, via, shown, adjudicates, at, id"


@dataclass(frozen=True, slots=True)
class AppliedOutcome:
    """The outcome of a review that an item has, and what it was like before: stage and texts."""

    outcome: str
    stage: str
    texts: dict[str, str]
    findings: list[int]
    accepted: list[str]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class ReviewTables(Database):
    """Reviewers, decisions and slots. Methods that write do so inside `transaction()` of the caller."""

    # Reviewers

    def add_reviewer(self, name: str) -> None:
        """Add a reviewer, unless there is one with this name."""
        self._db.execute("INSERT OR IGNORE INTO reviewers VALUES (?, ?)", [name, _now()])

    def reviewer_names(self) -> list[str]:
        """All reviewers, in the order in which they were added."""
        return [name for (name,) in self._db.execute("SELECT name FROM reviewers ORDER BY at, name")]

    def reviewers(self) -> dict[str, int]:
        """The people who decided, with the number of their decisions that stand."""
        query = "SELECT reviewer, count(*) FROM decisions WHERE undone_at IS NULL GROUP BY reviewer ORDER BY reviewer"
        return dict(self._db.execute(query))

    # Decisions

    def add_decision(self, decision: ReviewDecision) -> int:
        """Record a decision in place of an earlier one of the same person on the item, which is kept; its number."""
        key = [decision.item, decision.reviewer, decision.adjudicates]
        revealed = self.is_revealed(decision.item, decision.reviewer)
        self._db.execute(
            "UPDATE decisions SET undone_at = ?, blind = blind AND ? "
            "WHERE item = ? AND reviewer = ? AND adjudicates = ? AND undone_at IS NULL",
            [_now(), revealed, *key],
        )
        cursor = self._db.execute(
            "INSERT INTO decisions (item, reviewer, verdict, texts, accepted, comment, via, shown, adjudicates, blind, "
            "at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                decision.item,
                decision.reviewer,
                decision.verdict,
                _json(decision.texts),
                _json(decision.accepted),
                decision.comment,
                decision.via,
                decision.shown,
                decision.adjudicates,
                not revealed and not decision.adjudicates,
                _now(),
            ],
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def undo_decision(self, decision: ReviewDecision) -> None:
        """Withdraw a decision. It counts for agreement only if its maker has seen what others decided."""
        revealed = self.is_revealed(decision.item, decision.reviewer)
        self._db.execute(
            "UPDATE decisions SET undone_at = ?, blind = blind AND ? WHERE id = ?", [_now(), revealed, decision.number]
        )

    def decisions(self, item: str | None = None, *, undone: bool = False) -> Iterator[ReviewDecision]:
        """The decisions on one item or on all, in order; with `undone`, also those that do not stand."""
        wanted = "(? OR undone_at IS NULL)" if item is None else "(? OR undone_at IS NULL) AND item = ?"
        query = f"SELECT {_COLUMNS} FROM decisions WHERE {wanted} ORDER BY id"
        return map(_decision, self._db.execute(query, [undone] if item is None else [undone, item]))

    def blind_decisions(self) -> Iterator[ReviewDecision]:
        """The decisions that count for agreement: the last of each person before seeing those of others."""
        return map(_decision, self._db.execute(f"SELECT {_COLUMNS} FROM decisions WHERE blind ORDER BY id"))

    def last_decision(self, reviewer: str, item: str | None = None) -> ReviewDecision | None:
        """The last decision of a reviewer that stands, on an item or on any."""
        query = (
            f"SELECT {_COLUMNS} FROM decisions WHERE reviewer = ?1 AND (?2 IS NULL OR item = ?2) "
            "AND undone_at IS NULL ORDER BY id DESC LIMIT 1"
        )
        row = self._db.execute(query, [reviewer, item]).fetchone()
        return _decision(row) if row else None

    def decided_items(self) -> dict[str, list[str]]:
        """The reviewers of each item that has a decision that stands."""
        found: dict[str, list[str]] = {}
        query = "SELECT item, reviewer FROM decisions WHERE undone_at IS NULL GROUP BY item, reviewer ORDER BY min(id)"
        for item, reviewer in self._db.execute(query):
            found.setdefault(item, []).append(reviewer)
        return found

    def reveal(self, item: str, reviewer: str) -> None:
        """Record that a reviewer was shown the decisions of others on an item."""
        self._db.execute("INSERT OR IGNORE INTO reveals VALUES (?, ?, ?)", [item, reviewer, _now()])

    def is_revealed(self, item: str, reviewer: str) -> bool:
        """Whether a reviewer was shown the decisions of others on an item."""
        query = "SELECT 1 FROM reveals WHERE item = ? AND reviewer = ?"
        return self._db.execute(query, [item, reviewer]).fetchone() is not None

    # Slots

    def slots(self, now: float) -> dict[str, dict[int, str]]:
        """By item, who has it in hand, by slot."""
        found: dict[str, dict[int, str]] = {}
        for item, slot, reviewer in self._db.execute(
            "SELECT item, slot, reviewer FROM review_slots WHERE expires > ?", [now]
        ):
            found.setdefault(item, {})[slot] = reviewer
        return found

    def take_slot(self, item: str, slot: int, reviewer: str, expires: float) -> None:
        """Give a slot of an item to a reviewer until a time; an expired or own one is replaced."""
        self._db.execute("INSERT OR REPLACE INTO review_slots VALUES (?, ?, ?, ?)", [item, slot, reviewer, expires])

    def free_slots(self, item: str, reviewer: str) -> None:
        """Take the item out of a reviewer's hands."""
        self._db.execute("DELETE FROM review_slots WHERE item = ? AND reviewer = ?", [item, reviewer])

    # Outcomes

    def applied(self, item: str) -> AppliedOutcome | None:
        """The outcome that an item has, if there is one."""
        query = "SELECT outcome, stage, texts, findings, accepted FROM applied WHERE item = ?"
        row = self._db.execute(query, [item]).fetchone()
        if row is None:
            return None
        return AppliedOutcome(row[0], row[1], json.loads(row[2]), json.loads(row[3]), json.loads(row[4]))

    def set_applied(self, item: str, applied: AppliedOutcome | None) -> None:
        """Record the outcome that an item has; None for none."""
        self._db.execute("DELETE FROM applied WHERE item = ?", [item])
        if applied is not None:
            self._db.execute(
                "INSERT INTO applied VALUES (?, ?, ?, ?, ?, ?)",
                [
                    item,
                    applied.outcome,
                    applied.stage,
                    _json(applied.texts),
                    json.dumps(applied.findings),
                    json.dumps(applied.accepted),
                ],
            )

    def reopen(self, item: str, findings: Iterable[int], codes: Iterable[str]) -> None:
        """Take back that findings of an item were settled, and that validation findings were accepted."""
        for number in findings:
            self._db.execute(
                "UPDATE findings SET closed_by = NULL, closed_why = NULL, closed_at = NULL WHERE id = ?", [number]
            )
        for code in codes:
            self._db.execute("DELETE FROM accepted WHERE item = ? AND code = ?", [item, code])


def _decision(row: tuple[str, str, str, str, str, str, str, str, int, str, int]) -> ReviewDecision:
    item, reviewer, verdict, texts, accepted, comment, via, shown, adjudicates, at, number = row
    return ReviewDecision(
        item=item,
        reviewer=reviewer,
        verdict="drop" if verdict == "drop" else "edit" if verdict == "edit" else "accept",
        texts=json.loads(texts),
        accepted=json.loads(accepted),
        comment=comment,
        via=via,
        shown=shown,
        adjudicates=bool(adjudicates),
        at=at,
        number=number,
    )


def _json(values: Mapping[str, str]) -> str:
    return json.dumps(dict(values), ensure_ascii=False, sort_keys=True)
