"""The review of a project: what a page or a command calls to show items to people and to store their decisions.

Reviewers decide independently: a reviewer sees what others decided on an item only after deciding on it. An item in
somebody's hands is held for them for a while, so that no more people work on it than are asked. Every decision is one
transaction, which also applies its outcome; if two people decide at once, both decisions are kept.
"""

import time
from collections.abc import Callable, Collection, Mapping
from itertools import count

from tiltmeter.errors import UsageError
from tiltmeter.making.problems import OpenProblem, assemble
from tiltmeter.making.project import Project
from tiltmeter.making.review.review_deciding import make_decision, shown_item
from tiltmeter.making.review.review_outcomes import (
    apply_outcome,
    current_decisions,
    follow_rule,
    outcome_of,
    record,
    rule_of,
)
from tiltmeter.making.review.review_rule import ReviewDecision, ReviewOutcome, ReviewState, ReviewVerdict
from tiltmeter.making.review.review_views import (
    QueueEntry,
    ReviewConflict,
    ReviewItem,
    ReviewProgress,
)
from tiltmeter.making.store import ProjectItem

# Seconds for which an item stays with the reviewer who was shown it.
HELD = 1800.0


class Review:
    """The review of an open project."""

    def __init__(self, project: Project, *, held: float = HELD, clock: Callable[[], float] = time.time) -> None:
        self.project = project
        self.rule = rule_of(project)
        self._store = project.store
        self._held = held
        self._clock = clock
        self._reasons: tuple[object, dict[str, list[OpenProblem]]] | None = None
        follow_rule(project)

    # Reviewers and guidelines

    def add_reviewer(self, name: str) -> None:
        """Add a reviewer."""
        if not name.strip():
            raise UsageError("A reviewer needs a name.")
        with self._store.transaction():
            self._store.add_reviewer(name.strip())

    def guidelines(self) -> str:
        """The text of the guidelines, which reviewers are shown and the data card has; empty if there are none."""
        return self.project.guidelines()

    # The queue

    def queue(self, state: ReviewState | None = None) -> list[QueueEntry]:
        """The items to review and those reviewed, in the project's order; of one state, or of all."""
        problems, slots = self._problems(), self._store.slots(self._clock())
        decisions = self._decisions()
        entries = []
        for entry in self._entries():
            known = list(current_decisions(self.project, entry, decisions.get(entry.id, ())))
            if known or entry.id in problems or self.project.settings.review == "all":
                outcome = outcome_of(self.project, entry, known)
                reasons = tuple(dict.fromkeys(problem.reason for problem in problems.get(entry.id, ())))
                in_hand = len(slots.get(entry.id, ()))
                entries.append(
                    QueueEntry(entry.id, entry.part, entry.subject, outcome.state, reasons, len(known), in_hand)
                )
        return [entry for entry in entries if state in (None, entry.state)]

    def next_item(self, reviewer: str, *, skip: Collection[str] = ()) -> ReviewItem | None:
        """The next item for a reviewer, held for them; None if there is none. Items in `skip` are passed over."""
        name = self._reviewer(reviewer)
        problems, everything = self._problems(), self.project.settings.review == "all"
        with self._store.transaction():
            now = self._clock()
            decisions, slots = self._decisions(), self._store.slots(now)
            own = [item for item, held in slots.items() if name in held.values()]
            entries = self._entries()
            # What the reviewer has in hand already comes first.
            for entry in sorted(entries, key=lambda entry: entry.id not in own):
                known = list(current_decisions(self.project, entry, decisions.get(entry.id, ())))
                held = {slot: who for slot, who in slots.get(entry.id, {}).items() if who != name}
                is_queued = everything or entry.id in problems or known
                if entry.id in skip or not is_queued or any(decision.reviewer == name for decision in known):
                    continue
                if self._wants_more(entry, known, len(held)):
                    slot = next(number for number in count(1) if number not in held)
                    self._store.free_slots(entry.id, name)
                    self._store.take_slot(entry.id, slot, name, now + self._held)
                    return self._shown(entry, name)
        return None

    def _wants_more(self, entry: ProjectItem, known: list[ReviewDecision], in_hand: int) -> bool:
        """Whether an item needs one more decision than those made and in hand.

        All reviewers who are asked decide, even if enough of them agree before, since agreement is measured on them.
        """
        settled = outcome_of(self.project, entry, known).state in ("conflict", "adjudicated")
        return not settled and len(known) + in_hand < self.rule.reviewers

    def release(self, reviewer: str, item: str) -> None:
        """Give an item back without a decision."""
        with self._store.transaction():
            self._store.free_slots(item, self._reviewer(reviewer))

    def show(self, item: str, reviewer: str) -> ReviewItem:
        """An item as a reviewer is shown it, without holding it for them."""
        return self._shown(self._entry(item), self._reviewer(reviewer))

    # Decisions

    def decide(
        self,
        reviewer: str,
        item: str,
        verdict: ReviewVerdict,
        *,
        texts: Mapping[str, str] | None = None,
        proposals: Mapping[str, int] | None = None,
        accepted: Mapping[str, str] | None = None,
        comment: str = "",
        shown: str | None = None,
        via: str = "",
    ) -> ReviewOutcome:
        """Decide on an item: accept it, edit it by new texts or proposals (numbered from 1), or drop it.

        A kept item must be valid; warnings about it are accepted by code with a reason, in `accepted`. The decision and
        what follows from it are one transaction. Returns the outcome of all decisions on the item.
        """
        name = self._reviewer(reviewer)
        with self._store.transaction():
            decision = self._decision(name, item, verdict, texts or {}, proposals or {}, accepted or {}, shown)
            return record(self.project, _with(decision, comment, via, adjudicates=False))

    def undo(self, reviewer: str, item: str | None = None) -> ReviewDecision:
        """Withdraw the reviewer's decision on an item, or the last one on any; it is kept, but no longer counts."""
        name = self._reviewer(reviewer)
        with self._store.transaction():
            decision = self._store.last_decision(name, item)
            if decision is None:
                raise UsageError(f"{name} has no decision{f' on {item}' if item else ''} to undo.")
            self._store.undo_decision(decision)
            apply_outcome(self.project, decision.item)
        return decision

    def others(self, item: str, reviewer: str) -> list[ReviewDecision]:
        """What others decided on an item: only for who has decided on it, and that they saw it is recorded."""
        name, entry = self._reviewer(reviewer), self._entry(item)
        with self._store.transaction():
            known = list(current_decisions(self.project, entry, self._store.decisions(item)))
            if all(decision.reviewer != name for decision in known):
                raise UsageError(f"{name} has not decided on {item} yet, and sees the decisions of others after that.")
            self._store.reveal(item, name)
        return [decision for decision in known if decision.reviewer != name]

    # Adjudication

    def conflicts(self) -> list[ReviewConflict]:
        """The items on which reviewers do not agree, with all their decisions."""
        decisions = self._decisions()
        found = []
        for entry in self._entries():
            known = list(current_decisions(self.project, entry, decisions.get(entry.id, ())))
            if known and outcome_of(self.project, entry, known).state == "conflict":
                found.append(ReviewConflict(self._shown(entry, ""), tuple(known)))
        return found

    def adjudicate(
        self,
        by: str,
        item: str,
        verdict: ReviewVerdict | None = None,
        *,
        take: str | None = None,
        texts: Mapping[str, str] | None = None,
        accepted: Mapping[str, str] | None = None,
        comment: str = "",
        via: str = "",
    ) -> ReviewOutcome:
        """Settle an item on which reviewers do not agree: as one of them decided (`take`), or in another way."""
        name = self._reviewer(by)
        with self._store.transaction():
            entry = self._entry(item)
            known = list(current_decisions(self.project, entry, self._store.decisions(item)))
            if outcome_of(self.project, entry, known).state not in ("conflict", "adjudicated"):
                raise UsageError(f"Reviewers do not disagree on {item}, so there is nothing to adjudicate.")
            if take is not None:
                taken = [decision for decision in known if decision.reviewer.casefold() == take.casefold()]
                if not taken:
                    raise UsageError(f"{take} has not decided on {item}.")
                verdict, texts = taken[-1].verdict, taken[-1].texts
                accepted = {**taken[-1].accepted, **(accepted or {})}
            if verdict is None:
                raise UsageError("An adjudication needs a verdict, or a reviewer whose decision is taken.")
            decision = self._decision(name, item, verdict, texts or {}, {}, accepted or {}, None)
            return record(self.project, _with(decision, comment, via, adjudicates=True))

    def progress(self) -> ReviewProgress:
        """How far the review has come."""
        queue = self.queue()
        states: dict[ReviewState, int] = {"open": 0, "agreed": 0, "conflict": 0, "adjudicated": 0}
        for waiting in queue:
            states[waiting.state] += 1
        decided: dict[str, set[str]] = {name: set() for name in self._store.reviewer_names()}
        decisions = self._decisions()
        for entry in self._entries():
            for decision in current_decisions(self.project, entry, decisions.get(entry.id, ())):
                decided[decision.reviewer].add(entry.id)
        wanting = {
            entry.item for entry in queue if entry.state in ("open", "agreed") and entry.decisions < self.rule.reviewers
        }
        return ReviewProgress(states, {name: (len(own), len(wanting - own)) for name, own in decided.items()})

    # Inside

    def _reviewer(self, name: str) -> str:
        """The reviewer's name as it was added."""
        for known in self._store.reviewer_names():
            if known.casefold() == name.strip().casefold():
                return known
        raise UsageError(f"{name!r} is not a reviewer of this project; add them with --add-reviewer.")

    def _entries(self) -> list[ProjectItem]:
        """The items that can be reviewed, those that reviewers dropped included."""
        entries = self._store.items(dropped=None)
        return [entry for entry in entries if entry.stage != "source" and entry.dropped_in in (None, "review")]

    def _entry(self, item: str) -> ProjectItem:
        entry = self._store.item(item)
        if entry.stage == "source":
            raise UsageError(f"{item} is not translated yet.")
        if entry.dropped_in not in (None, "review"):
            raise UsageError(f"{item} was dropped in the step {entry.dropped_in}: {entry.dropped}.")
        return entry

    def _decisions(self) -> dict[str, list[ReviewDecision]]:
        found: dict[str, list[ReviewDecision]] = {}
        for decision in self._store.decisions():
            found.setdefault(decision.item, []).append(decision)
        return found

    def _problems(self) -> dict[str, list[OpenProblem]]:
        """The open problems of all items; found anew after each step of the project, which may change all of them."""
        steps = len(self._store.steps())
        if self._reasons is None or self._reasons[0] != steps:
            by_item: dict[str, list[OpenProblem]] = {}
            for problem in assemble(self.project).problems:
                if problem.step != "review":
                    by_item.setdefault(problem.item, []).append(problem)
            self._reasons = steps, by_item
        return self._reasons[1]

    def _shown(self, entry: ProjectItem, reviewer: str) -> ReviewItem:
        return shown_item(self.project, entry, reviewer, self._problems().get(entry.id, ()))

    def _decision(
        self,
        reviewer: str,
        item: str,
        verdict: ReviewVerdict,
        texts: Mapping[str, str],
        proposals: Mapping[str, int],
        accepted: Mapping[str, str],
        shown: str | None,
    ) -> ReviewDecision:
        problems = self._problems().get(item, ())
        return make_decision(
            self.project, self._entry(item), reviewer, verdict, texts, proposals, accepted, shown, problems
        )


def _with(decision: ReviewDecision, comment: str, via: str, *, adjudicates: bool) -> ReviewDecision:
    return ReviewDecision(
        item=decision.item,
        reviewer=decision.reviewer,
        verdict=decision.verdict,
        texts=decision.texts,
        accepted=decision.accepted,
        comment=comment.strip(),
        via=via,
        shown=decision.shown,
        adjudicates=adjudicates,
    )
