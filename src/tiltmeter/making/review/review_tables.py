"""The database tables of reviews: reviewers, decisions, reservations, questions, and applied outcomes."""

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
CREATE TABLE IF NOT EXISTS decisions (  -- including withdrawn ones
    id INTEGER PRIMARY KEY,
    item TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    verdict TEXT NOT NULL,    -- accept, edit or drop
    texts TEXT NOT NULL,      -- a JSON object: all texts of the item after the decision, by field
    accepted TEXT NOT NULL,   -- a JSON object: the reasons for accepting validation findings, by code
    comment TEXT NOT NULL,
    via TEXT NOT NULL,        -- the page, the command line, or the imported file
    shown TEXT NOT NULL,      -- a digest of the texts that the reviewer saw
    adjudicates INTEGER NOT NULL,
    blind INTEGER NOT NULL,   -- whether it counts for agreement: not withdrawn, made before seeing others' decisions
    at TEXT NOT NULL,
    undone_at TEXT            -- when it was withdrawn or replaced
) STRICT;
CREATE INDEX IF NOT EXISTS decisions_of_item ON decisions (item);
CREATE INDEX IF NOT EXISTS decisions_of_reviewer ON decisions (reviewer, id);
CREATE INDEX IF NOT EXISTS standing_decisions ON decisions (item, id) WHERE undone_at IS NULL;
CREATE TABLE IF NOT EXISTS review_slots (  -- items that are reserved for reviewers
    item TEXT NOT NULL,
    slot INTEGER NOT NULL,
    reviewer TEXT NOT NULL,
    expires REAL NOT NULL,    -- seconds since 1970
    PRIMARY KEY (item, slot)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS questions (  -- questions of reviewers about an item, and the answers
    id INTEGER PRIMARY KEY,
    item TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    question TEXT NOT NULL,
    at TEXT NOT NULL,
    answer TEXT NOT NULL DEFAULT '',
    answered_by TEXT NOT NULL DEFAULT '',
    answered_at TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS questions_of_item ON questions (item);
CREATE INDEX IF NOT EXISTS open_questions ON questions (reviewer, item) WHERE answered_at IS NULL;
CREATE TABLE IF NOT EXISTS reveals (  -- reviewers who have seen the decisions of others on an item
    item TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (item, reviewer)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS decision_times (  -- how long a reviewer worked on a decision
    decision INTEGER PRIMARY KEY,
    item TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    seconds REAL NOT NULL     -- without pauses
) STRICT;
CREATE TABLE IF NOT EXISTS read_notices (  -- people who have read the guidelines and the notice about contents
    reviewer TEXT PRIMARY KEY COLLATE NOCASE,
    at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS applied (  -- the applied outcome of an item, and its stage and texts before
    item TEXT PRIMARY KEY,
    outcome TEXT NOT NULL,
    stage TEXT NOT NULL,
    texts TEXT NOT NULL,      -- a JSON object
    findings TEXT NOT NULL,   -- a JSON list: the numbers of the settled findings
    accepted TEXT NOT NULL    -- a JSON list: the codes of the accepted validation findings
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS found_problems (  -- at most one row: a cache of the open problems of all items
    steps INTEGER NOT NULL,   -- the number of steps that had been run
    version TEXT NOT NULL,    -- the version of Tiltmeter
    found TEXT NOT NULL       -- a JSON object
) STRICT;
CREATE TABLE IF NOT EXISTS review_index (  -- at most one row: a cache of the index of all items
    version TEXT NOT NULL,    -- the version of Tiltmeter
    entries TEXT NOT NULL     -- a JSON object
) STRICT;
"""

_COLUMNS = "item, reviewer, verdict, texts, accepted, comment, via, shown, adjudicates, at, id"


@dataclass(frozen=True, slots=True)
class ReviewQuestion:
    """A question of a reviewer about an item; `answer` is empty until somebody answers."""

    number: int
    item: str
    reviewer: str
    question: str
    answer: str = ""
    answered_by: str = ""


@dataclass(frozen=True, slots=True)
class AppliedOutcome:
    """The review outcome that was applied to an item, with the data that is needed to revert the outcome.

    `outcome` is a text that identifies the outcome. `stage` and `texts` are those of the item before the outcome was
    applied. `findings` are the ids of the findings that the outcome settled, and `accepted` are the codes of the
    validation findings that the outcome accepted.
    """

    outcome: str
    stage: str
    texts: dict[str, str]
    findings: list[int]
    accepted: list[str]


class ReviewTables(RowChecksumDatabase):
    """The tables of a review, such as reviewers and decisions. Call methods that write inside `begin_transaction()`."""

    # Methods for reviewers

    def add_reviewer(self, name: str) -> None:
        """Add a reviewer; do nothing if there is already a reviewer with this name."""
        self._db.execute("INSERT OR IGNORE INTO reviewers VALUES (?, ?)", [name, get_timestamp()])

    def list_reviewer_names(self) -> list[str]:
        """Return the names of all reviewers, in the order in which they were added."""
        return [name for (name,) in self._db.execute("SELECT name FROM reviewers ORDER BY at, name")]

    def count_decisions_by_reviewer(self) -> dict[str, int]:
        """Return a dictionary from reviewer to number of decisions; withdrawn decisions are not counted."""
        query = "SELECT reviewer, count(*) FROM decisions WHERE undone_at IS NULL GROUP BY reviewer ORDER BY reviewer"
        return dict(self._db.execute(query))

    # Methods for decisions

    def add_decision(self, decision: ReviewDecision, known: int | None = None) -> None:
        """Store a decision, and withdraw the earlier decision of the same person on the item.

        `known` is the number of the person's earlier decisions on the item, including withdrawn decisions, when the
        page was built. Later decisions on the same texts were sent from the same page (a double click) and are deleted.
        """
        key = [decision.item, decision.reviewer, decision.adjudicates]
        revealed = self.is_revealed(decision.item, decision.reviewer)
        repeated = [] if known is None or revealed else self._find_repeated(decision, known)
        self._db.execute(
            "UPDATE decisions SET undone_at = ?, blind = blind AND ? "
            "WHERE item = ? AND reviewer = ? AND adjudicates = ? AND undone_at IS NULL",
            [get_timestamp(), revealed, *key],
        )
        self._db.execute(
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
        # Repeated decisions are deleted last. Otherwise the new decision would get the id of a deleted decision.
        self._db.executemany("DELETE FROM decisions WHERE id = ?", [[number] for number in repeated])

    def _find_repeated(self, decision: ReviewDecision, known: int) -> list[int]:
        """Return the ids of the reviewer's decisions on the same texts, except the first `known` decisions."""
        since = self.list_own_decisions(decision.item, decision.reviewer)[known:]
        current = (one for one in self.list_decisions(decision.item) if one.shown == decision.shown)
        return [one.number for one in current if one.number in since]

    def add_decision_time(self, item: str, reviewer: str, seconds: float) -> None:
        """Store how long a reviewer worked on the last decision on an item."""
        self._db.execute(
            "INSERT OR REPLACE INTO decision_times SELECT max(id), item, reviewer, ? FROM decisions "
            "WHERE item = ? AND reviewer = ? GROUP BY item, reviewer",
            [seconds, item, reviewer],
        )

    def sum_decision_times(self) -> dict[str, tuple[int, float]]:
        """Return the number of decisions with a known time and the sum of their seconds, for each reviewer."""
        query = (
            "SELECT t.reviewer, count(*), sum(t.seconds) FROM decision_times t JOIN decisions d ON d.id = t.decision "
            "GROUP BY t.reviewer"
        )
        return {reviewer: (count, seconds) for reviewer, count, seconds in self._db.execute(query)}

    def record_notice(self, name: str) -> None:
        """Record that a person has read the guidelines and the notice about contents."""
        self._db.execute("INSERT OR IGNORE INTO read_notices VALUES (?, ?)", [name, get_timestamp()])

    def has_read_notice(self, name: str) -> bool:
        """Tell whether a person has read the guidelines and the notice about contents."""
        query = "SELECT 1 FROM read_notices WHERE reviewer = ?"
        return self._db.execute(query, [name]).fetchone() is not None

    def list_own_decisions(self, item: str, reviewer: str) -> list[int]:
        """Return the ids of a reviewer's decisions on an item, including withdrawn decisions, without adjudications."""
        query = "SELECT id FROM decisions WHERE item = ? AND reviewer = ? AND NOT adjudicates ORDER BY id"
        return [number for (number,) in self._db.execute(query, [item, reviewer])]

    def undo_decision(self, decision: ReviewDecision) -> None:
        """Withdraw a decision.

        If the reviewer has seen the decisions of others, the withdrawn decision still counts for the agreement, because
        it was the last independent decision.
        """
        revealed = self.is_revealed(decision.item, decision.reviewer)
        self._db.execute(
            "UPDATE decisions SET undone_at = ?, blind = blind AND ? WHERE id = ?",
            [get_timestamp(), revealed, decision.number],
        )

    def list_decisions(self, item: str | None = None, *, undone: bool = False) -> Iterator[ReviewDecision]:
        """Return the decisions on one item (None: all items), oldest first; with `undone`, also withdrawn decisions."""
        wanted = "(? OR undone_at IS NULL)" if item is None else "(? OR undone_at IS NULL) AND item = ?"
        query = f"SELECT {_COLUMNS} FROM decisions WHERE {wanted} ORDER BY id"
        return map(_build_decision, self._db.execute(query, [undone] if item is None else [undone, item]))

    def list_blind_decisions(self) -> Iterator[ReviewDecision]:
        """Return the decisions that count for the agreement.

        For each item, this is each reviewer's last decision before seeing the decisions of others.
        """
        return map(_build_decision, self._db.execute(f"SELECT {_COLUMNS} FROM decisions WHERE blind ORDER BY id"))

    def find_last_decision(self, reviewer: str, item: str | None = None) -> ReviewDecision | None:
        """Return the last decision of a reviewer on an item (None: on any item) that is not withdrawn."""
        query = (
            f"SELECT {_COLUMNS} FROM decisions WHERE reviewer = ?1 AND (?2 IS NULL OR item = ?2) "
            "AND undone_at IS NULL ORDER BY id DESC LIMIT 1"
        )
        row = self._db.execute(query, [reviewer, item]).fetchone()
        return _build_decision(row) if row else None

    def list_recent_decisions(self, reviewer: str, limit: int) -> list[ReviewDecision]:
        """Return the latest decisions of a reviewer, latest first, without withdrawn decisions and adjudications."""
        query = (
            f"SELECT {_COLUMNS} FROM decisions WHERE reviewer = ? AND undone_at IS NULL AND NOT adjudicates "
            "ORDER BY id DESC LIMIT ?"
        )
        return [_build_decision(row) for row in self._db.execute(query, [reviewer, limit])]

    def find_earlier_decision(self, reviewer: str, item: str | None) -> ReviewDecision | None:
        """Return the decision that a reviewer made before deciding on an item.

        If the reviewer has not decided on the item, return the reviewer's last decision. Adjudications do not count.
        """
        own = "reviewer = ?1 AND undone_at IS NULL AND NOT adjudicates"
        query = (
            f"SELECT {_COLUMNS} FROM decisions WHERE {own} "
            f"AND id < coalesce((SELECT max(id) FROM decisions WHERE {own} AND item = ?2), ?3) ORDER BY id DESC LIMIT 1"
        )
        row = self._db.execute(query, [reviewer, item, 2**63 - 1]).fetchone()
        return _build_decision(row) if row else None

    def list_decided_items(self) -> dict[str, list[str]]:
        """Return a dictionary from item id to the reviewers who decided on the item, without withdrawn decisions."""
        reviewers: dict[str, list[str]] = {}
        query = "SELECT item, reviewer FROM decisions WHERE undone_at IS NULL GROUP BY item, reviewer ORDER BY min(id)"
        for item, reviewer in self._db.execute(query):
            reviewers.setdefault(item, []).append(reviewer)
        return reviewers

    def record_reveal(self, item: str, reviewer: str) -> None:
        """Record that a reviewer has seen the decisions of others on an item."""
        self._db.execute("INSERT OR IGNORE INTO reveals VALUES (?, ?, ?)", [item, reviewer, get_timestamp()])

    def record_reveal_of_all(self, reviewer: str) -> None:
        """Record that a reviewer has seen all decisions on all items, including withdrawn decisions."""
        self._db.execute(
            "INSERT OR IGNORE INTO reveals SELECT DISTINCT item, ?, ? FROM decisions", [reviewer, get_timestamp()]
        )

    def is_revealed(self, item: str, reviewer: str) -> bool:
        """Tell whether a reviewer has seen the decisions of others on an item."""
        query = "SELECT 1 FROM reveals WHERE item = ? AND reviewer = ?"
        return self._db.execute(query, [item, reviewer]).fetchone() is not None

    # Methods for slots (reservations of items)

    def list_slots(self) -> Iterator[tuple[str, int, str, float]]:
        """Return the item, slot number, reviewer and expiry time of each reservation, including expired reservations.

        An item has one slot for each reviewer who has reserved it.
        """
        return iter(self._db.execute("SELECT item, slot, reviewer, expires FROM review_slots"))

    def take_slot(self, item: str, slot: int, reviewer: str, expires: float) -> None:
        """Reserve a slot of an item for a reviewer until the time `expires`; replace the slot's earlier reservation."""
        self._db.execute("INSERT OR REPLACE INTO review_slots VALUES (?, ?, ?, ?)", [item, slot, reviewer, expires])

    def free_slots(self, item: str, reviewer: str) -> None:
        """Delete a reviewer's reservation of an item."""
        self._db.execute("DELETE FROM review_slots WHERE item = ? AND reviewer = ?", [item, reviewer])

    # Methods for questions of reviewers

    def add_question(self, item: str, reviewer: str, question: str) -> None:
        """Store a question of a reviewer about an item."""
        query = "INSERT INTO questions (item, reviewer, question, at) VALUES (?, ?, ?, ?)"
        self._db.execute(query, [item, reviewer, question, get_timestamp()])

    def answer_question(self, number: int, answer: str, by: str) -> None:
        """Store the answer to the question with the id `number`, and the person who answered."""
        self._db.execute(
            "UPDATE questions SET answer = ?, answered_by = ?, answered_at = ? WHERE id = ?",
            [answer, by, get_timestamp(), number],
        )

    def list_questions(self, item: str | None = None) -> list[ReviewQuestion]:
        """Return all questions about one item (None: the unanswered questions about all items), oldest first."""
        query = "SELECT id, item, reviewer, question, answer, answered_by FROM questions WHERE {} ORDER BY id"
        if item is None:
            rows = self._db.execute(query.format("answered_at IS NULL"))
        else:
            rows = self._db.execute(query.format("item = ?"), [item])
        return [ReviewQuestion(*row) for row in rows]

    def list_unanswered_questions(self) -> dict[str, set[str]]:
        """Return a dictionary from reviewer to the ids of items about which the reviewer has unanswered questions."""
        items: dict[str, set[str]] = {}
        for reviewer, item in self._db.execute("SELECT reviewer, item FROM questions WHERE answered_at IS NULL"):
            items.setdefault(reviewer, set()).add(item)
        return items

    # Methods that detect changes, and methods for cached problems

    def get_change_stamp(self) -> tuple[int, int]:
        """Return a value that changes with every write to the database, by this connection or by another."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        return int(version), self._db.total_changes

    def read_item_keys(self, item: str | None = None) -> dict[str, tuple[str, str, tuple[object, ...]]]:
        """Return a dictionary from the id of each reviewable item (or of one item) to its part, subject and key.

        The key changes when the item's state changes. All translated items are reviewable, including items that
        reviewers dropped.
        """
        one, given = ("", []) if item is None else ("AND item = ?", [item])
        decided = dict(
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
            name: (part, subject, (stage, dropped, version, decided.get(name), is_open.get(name)))
            for name, part, subject, stage, dropped, version in rows
        }

    def store_found_problems(self, steps: int, version: str, found: str) -> None:
        """Cache the open problems of all items; `steps` is the number of completed steps when they were found.

        `version` is the version of Tiltmeter, and `found` has the problems as JSON.
        """
        with self.begin_transaction():
            self._db.execute("DELETE FROM found_problems")
            self._db.execute("INSERT INTO found_problems VALUES (?, ?, ?)", [steps, version, found])

    def load_found_problems(self, steps: int, version: str) -> str:
        """Return the cached open problems as JSON; an empty text if `steps` or `version` differs from the cache."""
        query = "SELECT found FROM found_problems WHERE steps = ? AND version = ?"
        row = self._db.execute(query, [steps, version]).fetchone()
        return str(row[0]) if row else ""

    def store_review_index(self, version: str, entries: str) -> None:
        """Cache the index of all items as JSON; `version` is the version of Tiltmeter."""
        with self.begin_transaction():
            self._db.execute("DELETE FROM review_index")
            self._db.execute("INSERT INTO review_index VALUES (?, ?)", [version, entries])

    def load_review_index(self, version: str) -> str:
        """Return the cached index as JSON; an empty text if `version` differs from the cache."""
        row = self._db.execute("SELECT entries FROM review_index WHERE version = ?", [version]).fetchone()
        return str(row[0]) if row else ""

    # Methods for applied outcomes

    def list_applied_texts(self) -> dict[str, dict[str, str]]:
        """Return a dictionary from the id of each item with an applied outcome to its texts before the review."""
        return {item: json.loads(texts) for item, texts in self._db.execute("SELECT item, texts FROM applied")}

    def get_applied_outcome(self, item: str) -> AppliedOutcome | None:
        """Return the applied outcome of an item, or None if no outcome is applied."""
        query = "SELECT outcome, stage, texts, findings, accepted FROM applied WHERE item = ?"
        row = self._db.execute(query, [item]).fetchone()
        if row is None:
            return None
        return AppliedOutcome(row[0], row[1], json.loads(row[2]), json.loads(row[3]), json.loads(row[4]))

    def set_applied_outcome(self, item: str, applied: AppliedOutcome | None) -> None:
        """Store the applied outcome of an item; if `applied` is None, delete the stored outcome."""
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

    def reopen_findings(self, item: str, findings: Iterable[int], codes: Iterable[str]) -> None:
        """Reopen settled findings, and delete the acceptance of validation findings about an item.

        `findings` are ids of settled findings; `codes` are codes of accepted validation findings.
        """
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
