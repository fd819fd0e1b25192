"""The tables of the review: reviewers, decisions, the slots they hold, and what was applied to items."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tiltmeter.database.row_checksum_database import RowChecksumDatabase
from tiltmeter.making.review.review_rule import ReviewDecision
from tiltmeter.making.timestamp import get_timestamp

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
CREATE INDEX IF NOT EXISTS decisions_of_reviewer ON decisions (reviewer, id);
CREATE INDEX IF NOT EXISTS standing_decisions ON decisions (item, id) WHERE undone_at IS NULL;
CREATE TABLE IF NOT EXISTS review_slots (  -- an item that a reviewer has in hand
    item TEXT NOT NULL,
    slot INTEGER NOT NULL,
    reviewer TEXT NOT NULL,
    expires REAL NOT NULL,    -- seconds since 1970
    PRIMARY KEY (item, slot)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS questions (  -- what reviewers ask about an item, and the answers
    id INTEGER PRIMARY KEY,
    item TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    question TEXT NOT NULL,
    at TEXT NOT NULL,
    answer TEXT NOT NULL DEFAULT '',
    answered_by TEXT NOT NULL DEFAULT '',
    answered_at TEXT          -- when it was answered, or withdrawn by its asker
) STRICT;
CREATE INDEX IF NOT EXISTS questions_of_item ON questions (item);
CREATE INDEX IF NOT EXISTS open_questions ON questions (reviewer, item) WHERE answered_at IS NULL;
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
CREATE TABLE IF NOT EXISTS found_problems (  -- at most one row: what is open about the items, found after so many steps
    steps INTEGER NOT NULL,
    version TEXT NOT NULL,    -- of Tiltmeter
    found TEXT NOT NULL       -- a JSON object
) STRICT;
"""

_COLUMNS = "item, reviewer, verdict, texts, accepted, comment, via, shown, adjudicates, at, id"


@dataclass(frozen=True, slots=True)
class ReviewQuestion:
    """What a reviewer asks about an item; `answer` is empty as long as nobody has answered."""

    number: int
    item: str
    reviewer: str
    question: str
    answer: str = ""
    answered_by: str = ""


@dataclass(frozen=True, slots=True)
class AppliedOutcome:
    """The outcome of a review that an item has, and what it was like before: stage and texts."""

    outcome: str
    stage: str
    texts: dict[str, str]
    findings: list[int]
    accepted: list[str]


class ReviewTables(RowChecksumDatabase):
    """Reviewers, decisions and slots. Methods that write do so inside `transaction()` of the caller."""

    # Reviewers

    def add_reviewer(self, name: str) -> None:
        """Add a reviewer, unless there is one with this name."""
        self._db.execute("INSERT OR IGNORE INTO reviewers VALUES (?, ?)", [name, get_timestamp()])

    def list_reviewer_names(self) -> list[str]:
        """All reviewers, in the order in which they were added."""
        return [name for (name,) in self._db.execute("SELECT name FROM reviewers ORDER BY at, name")]

    def reviewers(self) -> dict[str, int]:
        """The people who decided, with the number of their decisions that stand."""
        query = "SELECT reviewer, count(*) FROM decisions WHERE undone_at IS NULL GROUP BY reviewer ORDER BY reviewer"
        return dict(self._db.execute(query))

    # Decisions

    def add_decision(self, decision: ReviewDecision, known: int | None = None) -> int:
        """Record a decision in place of an earlier one of the same person on the item, which is kept; its number.

        `known` is the number of earlier decisions that the person knew of, withdrawn ones included: another one on the
        same texts is a repetition, and is deleted unless it counts for agreement.
        """
        key = [decision.item, decision.reviewer, decision.adjudicates]
        revealed = self.is_revealed(decision.item, decision.reviewer)
        repeated = [] if known is None or revealed else self._find_repeated(decision, known)
        self._db.execute(
            "UPDATE decisions SET undone_at = ?, blind = blind AND ? "
            "WHERE item = ? AND reviewer = ? AND adjudicates = ? AND undone_at IS NULL",
            [get_timestamp(), revealed, *key],
        )
        cursor = self._db.execute(
            "INSERT INTO decisions (item, reviewer, verdict, texts, accepted, comment, via, shown, adjudicates, blind, "
            "at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                decision.item,
                decision.reviewer,
                decision.verdict,
                _to_json(decision.texts),
                _to_json(decision.accepted),
                decision.comment,
                decision.via,
                decision.shown,
                decision.adjudicates,
                not revealed and not decision.adjudicates,
                get_timestamp(),
            ],
        )
        assert cursor.lastrowid is not None
        # After the new one, which would get the same number otherwise.
        self._db.executemany("DELETE FROM decisions WHERE id = ?", [[number] for number in repeated])
        return cursor.lastrowid

    def _find_repeated(self, decision: ReviewDecision, known: int) -> list[int]:
        """The numbers of decisions that stand on the same texts, less those that their maker knew of."""
        since = self.list_own_decisions(decision.item, decision.reviewer)[known:]
        standing = (one for one in self.decisions(decision.item) if one.shown == decision.shown)
        return [one.number for one in standing if one.number in since]

    def list_own_decisions(self, item: str, reviewer: str) -> list[int]:
        """The numbers of a reviewer's decisions on an item, in order, withdrawn ones included; no adjudications."""
        query = "SELECT id FROM decisions WHERE item = ? AND reviewer = ? AND NOT adjudicates ORDER BY id"
        return [number for (number,) in self._db.execute(query, [item, reviewer])]

    def undo_decision(self, decision: ReviewDecision) -> None:
        """Withdraw a decision. It counts for agreement only if its maker has seen what others decided."""
        revealed = self.is_revealed(decision.item, decision.reviewer)
        self._db.execute(
            "UPDATE decisions SET undone_at = ?, blind = blind AND ? WHERE id = ?",
            [get_timestamp(), revealed, decision.number],
        )

    def decisions(self, item: str | None = None, *, undone: bool = False) -> Iterator[ReviewDecision]:
        """The decisions on one item or on all, in order; with `undone`, also those that do not stand."""
        wanted = "(? OR undone_at IS NULL)" if item is None else "(? OR undone_at IS NULL) AND item = ?"
        query = f"SELECT {_COLUMNS} FROM decisions WHERE {wanted} ORDER BY id"
        return map(_build_decision, self._db.execute(query, [undone] if item is None else [undone, item]))

    def list_blind_decisions(self) -> Iterator[ReviewDecision]:
        """The decisions that count for agreement: the last of each person before seeing those of others."""
        return map(_build_decision, self._db.execute(f"SELECT {_COLUMNS} FROM decisions WHERE blind ORDER BY id"))

    def find_last_decision(self, reviewer: str, item: str | None = None) -> ReviewDecision | None:
        """The last decision of a reviewer that stands, on an item or on any."""
        query = (
            f"SELECT {_COLUMNS} FROM decisions WHERE reviewer = ?1 AND (?2 IS NULL OR item = ?2) "
            "AND undone_at IS NULL ORDER BY id DESC LIMIT 1"
        )
        row = self._db.execute(query, [reviewer, item]).fetchone()
        return _build_decision(row) if row else None

    def list_recent_decisions(self, reviewer: str, limit: int) -> list[ReviewDecision]:
        """The last decisions of a reviewer that stand, the last one first; adjudications are not among them."""
        query = (
            f"SELECT {_COLUMNS} FROM decisions WHERE reviewer = ? AND undone_at IS NULL AND NOT adjudicates "
            "ORDER BY id DESC LIMIT ?"
        )
        return [_build_decision(row) for row in self._db.execute(query, [reviewer, limit])]

    def find_earlier_decision(self, reviewer: str, item: str | None) -> ReviewDecision | None:
        """The decision of a reviewer before that on an item, or the last one; of those that stand, no adjudications."""
        own = "reviewer = ?1 AND undone_at IS NULL AND NOT adjudicates"
        query = (
            f"SELECT {_COLUMNS} FROM decisions WHERE {own} "
            f"AND id < coalesce((SELECT max(id) FROM decisions WHERE {own} AND item = ?2), ?3) ORDER BY id DESC LIMIT 1"
        )
        row = self._db.execute(query, [reviewer, item, 2**63 - 1]).fetchone()
        return _build_decision(row) if row else None

    def list_decided_items(self) -> dict[str, list[str]]:
        """The reviewers of each item that has a decision that stands."""
        found: dict[str, list[str]] = {}
        query = "SELECT item, reviewer FROM decisions WHERE undone_at IS NULL GROUP BY item, reviewer ORDER BY min(id)"
        for item, reviewer in self._db.execute(query):
            found.setdefault(item, []).append(reviewer)
        return found

    def reveal(self, item: str, reviewer: str) -> None:
        """Record that a reviewer was shown the decisions of others on an item."""
        self._db.execute("INSERT OR IGNORE INTO reveals VALUES (?, ?, ?)", [item, reviewer, get_timestamp()])

    def reveal_all(self, reviewer: str) -> None:
        """Record that a reviewer was shown all decisions that there are, withdrawn ones included."""
        self._db.execute(
            "INSERT OR IGNORE INTO reveals SELECT DISTINCT item, ?, ? FROM decisions", [reviewer, get_timestamp()]
        )

    def is_revealed(self, item: str, reviewer: str) -> bool:
        """Whether a reviewer was shown the decisions of others on an item."""
        query = "SELECT 1 FROM reveals WHERE item = ? AND reviewer = ?"
        return self._db.execute(query, [item, reviewer]).fetchone() is not None

    # Slots

    def list_slots(self) -> Iterator[tuple[str, int, str, float]]:
        """Item, slot, reviewer and the time until when the item is held for them; of all slots, expired ones too."""
        return iter(self._db.execute("SELECT item, slot, reviewer, expires FROM review_slots"))

    def take_slot(self, item: str, slot: int, reviewer: str, expires: float) -> None:
        """Give a slot of an item to a reviewer until a time; an expired or own one is replaced."""
        self._db.execute("INSERT OR REPLACE INTO review_slots VALUES (?, ?, ?, ?)", [item, slot, reviewer, expires])

    def free_slots(self, item: str, reviewer: str) -> None:
        """Take the item out of a reviewer's hands."""
        self._db.execute("DELETE FROM review_slots WHERE item = ? AND reviewer = ?", [item, reviewer])

    # Questions

    def add_question(self, item: str, reviewer: str, question: str) -> int:
        """Record what a reviewer asks about an item; its number."""
        query = "INSERT INTO questions (item, reviewer, question, at) VALUES (?, ?, ?, ?)"
        cursor = self._db.execute(query, [item, reviewer, question, get_timestamp()])
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def answer_question(self, number: int, answer: str, by: str) -> None:
        """Record the answer to a question."""
        self._db.execute(
            "UPDATE questions SET answer = ?, answered_by = ?, answered_at = ? WHERE id = ?",
            [answer, by, get_timestamp(), number],
        )

    def questions(self, item: str | None = None) -> list[ReviewQuestion]:
        """The questions about one item, or all that are not answered; in order."""
        query = "SELECT id, item, reviewer, question, answer, answered_by FROM questions WHERE {} ORDER BY id"
        if item is None:
            rows = self._db.execute(query.format("answered_at IS NULL"))
        else:
            rows = self._db.execute(query.format("item = ?"), [item])
        return [ReviewQuestion(*row) for row in rows]

    def list_unanswered(self) -> dict[str, set[str]]:
        """By reviewer, the items about which they ask something that is not answered."""
        found: dict[str, set[str]] = {}
        for reviewer, item in self._db.execute("SELECT reviewer, item FROM questions WHERE answered_at IS NULL"):
            found.setdefault(reviewer, set()).add(item)
        return found

    # What has changed

    def stamp(self) -> tuple[int, int]:
        """Changes whenever something is written: by other connections, and by this one."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        return int(version), self._db.total_changes

    def read_item_keys(self, item: str | None = None) -> dict[str, tuple[str, str, tuple[object, ...]]]:
        """Of one or all items that can be reviewed, part, subject and what changes whenever the item's state does.

        These are the translated items, those that reviewers dropped included, in the project's order.
        """
        one, given = ("", []) if item is None else ("AND item = ?", [item])
        standing = dict(
            self._db.execute(
                f"SELECT item, group_concat(id) FROM decisions WHERE undone_at IS NULL {one} GROUP BY item", given
            )
        )
        is_open = dict(
            self._db.execute(f"SELECT item, count(*) FROM findings WHERE closed_at IS NULL {one} GROUP BY item", given)
        )
        rows = self._db.execute(
            "SELECT id, part, subject, stage, dropped_in, version FROM items WHERE stage != 'source' "
            f"AND (dropped_in IS NULL OR dropped_in = 'review') {one.replace('item', 'id')} ORDER BY position",
            given,
        )
        return {
            name: (part, subject, (stage, dropped, version, standing.get(name), is_open.get(name)))
            for name, part, subject, stage, dropped, version in rows
        }

    def store_found(self, steps: int, version: str, found: str) -> None:
        """Keep what was found of the items after so many steps."""
        with self.begin_transaction():
            self._db.execute("DELETE FROM found_problems")
            self._db.execute("INSERT INTO found_problems VALUES (?, ?, ?)", [steps, version, found])

    def load_found(self, steps: int, version: str) -> str:
        """What was found of the items after so many steps by this version; empty if nothing was."""
        query = "SELECT found FROM found_problems WHERE steps = ? AND version = ?"
        row = self._db.execute(query, [steps, version]).fetchone()
        return str(row[0]) if row else ""

    # Outcomes

    def list_applied_texts(self) -> dict[str, dict[str, str]]:
        """The texts before the review of all items that have an outcome."""
        return {item: json.loads(texts) for item, texts in self._db.execute("SELECT item, texts FROM applied")}

    def get_applied(self, item: str) -> AppliedOutcome | None:
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
                    _to_json(applied.texts),
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


def _build_decision(row: tuple[str, str, str, str, str, str, str, str, int, str, int]) -> ReviewDecision:
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


def _to_json(values: Mapping[str, str]) -> str:
    return json.dumps(dict(values), ensure_ascii=False, sort_keys=True)
