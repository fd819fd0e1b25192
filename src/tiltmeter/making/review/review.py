"""The review of a project: what a page or a command calls to show items to people and to store their decisions.

Reviewers decide independently: a reviewer sees what others decided on an item only after deciding on it. An item in
somebody's hands is held for them for a while, so that no more people work on it than are asked. Every decision is one
transaction, which also applies its outcome; if two people decide at once, both decisions are kept.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager

from tiltmeter.errors import UsageError
from tiltmeter.making.project import Project
from tiltmeter.making.project_store import ProjectItem
from tiltmeter.making.review.review_decisions import build_review_item, find_unsettled, make_decision
from tiltmeter.making.review.review_outcomes import (
    apply_changed_rule,
    apply_outcome,
    compute_outcome,
    find_reviewer_name,
    get_rule,
    record_decision,
    select_current_decisions,
)
from tiltmeter.making.review.review_queue import ReviewQueue
from tiltmeter.making.review.review_rule import ReviewDecision, ReviewOutcome, ReviewState, ReviewVerdict
from tiltmeter.making.review.review_tables import ReviewQuestion
from tiltmeter.making.review.review_views import (
    ConflictChangedError,
    QueueEntry,
    ReviewConflict,
    ReviewItem,
    ReviewProblem,
    ReviewProgress,
    validate_texts,
)

# Seconds for which an item stays with the reviewer who was shown it.
HELD = 1800.0


class NotAReviewerError(UsageError):
    """Somebody is not a reviewer of a project."""

    on_page = "You are not a reviewer of this project yet: open it, and choose Review items."


class Review:
    """The review of an open project."""

    def __init__(self, project: Project, *, held: float = HELD, clock: Callable[[], float] = time.time) -> None:
        self.project = project
        self.rule = get_rule(project)
        self._store = project.store
        self._held = held
        self._clock = clock
        self._queue = ReviewQueue(project, self.rule)
        apply_changed_rule(project)

    # Reviewers and guidelines

    def add_reviewer(self, name: str) -> None:
        """Add a reviewer."""
        if not name.strip():
            raise UsageError("A reviewer needs a name.")
        with self._store.begin_transaction():
            self._store.add_reviewer(name.strip())

    def guidelines(self) -> str:
        """The text of the guidelines, which reviewers are shown and the data card has; empty if there are none."""
        return self.project.guidelines()

    # The queue

    def list_queue(self, state: ReviewState | None = None) -> list[QueueEntry]:
        """The items to review and those reviewed, in the project's order; of one state, or of all."""
        self._queue.refresh()
        now = self._clock()
        return [
            QueueEntry(
                entry.item,
                entry.part,
                entry.subject,
                entry.state,
                tuple(dict.fromkeys(problem.reason for problem in self._queue.problems(entry.item))),
                entry.decisions,
                self._queue.in_hand(entry.item, now),
            )
            for entry in self._queue.entries()
            if state in (None, entry.state)
        ]

    def take_next_item(self, reviewer: str, *, skip: Collection[str] = ()) -> ReviewItem | None:
        """The next item for a reviewer, held for them; None if there is none.

        Items in `skip` are passed over, and those about which the reviewer has asked something that is not answered.
        """
        name = self._find_reviewer(reviewer)
        with self._writing(synced=False):  # who has an item in hand may be forgotten if the machine fails
            item = self._queue.take(name, self._clock(), self._held, skip)
            return self._shown(self._entry(item), name) if item else None

    def release(self, reviewer: str, item: str) -> None:
        """Give an item back without a decision."""
        with self._writing():
            self._queue.free(item, self._find_reviewer(reviewer))

    def show(self, item: str, reviewer: str) -> ReviewItem:
        """An item as a reviewer is shown it, without holding it for them."""
        self._queue.refresh()
        return self._shown(self._entry(item), self._find_reviewer(reviewer))

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
        known: int | None = None,
        via: str = "",
    ) -> ReviewOutcome:
        """Decide on an item: accept it, edit it by new texts or proposals (numbered from 1), or drop it.

        A kept item must be valid; warnings about it are accepted by code with a reason, in `accepted`. The decision and
        what follows from it are one transaction. Returns the outcome of all decisions on the item.

        `known` is the number of the reviewer's own decisions on the item when a page was made, withdrawn ones included.
        One that was stored since then is from the same page, such as by a double click: only the last one is kept.
        """
        name = self._find_reviewer(reviewer)
        with self._writing():
            decision = self._decision(name, item, verdict, texts or {}, proposals or {}, accepted or {}, shown)
            return self._record(_with_comment(decision, comment, via, adjudicates=False), known)

    def check(self, reviewer: str, item: str, texts: Mapping[str, str]) -> list[ReviewProblem]:
        """What validation would find in an item with new texts: errors, and warnings that need a reason."""
        view = self.show(item, reviewer)
        validate_texts(view, texts)
        return self.find_unsettled(view, texts)

    def find_unsettled(self, view: ReviewItem, texts: Mapping[str, str]) -> list[ReviewProblem]:
        """What validation finds in an item that was shown if it has these texts, less what was accepted before."""
        return find_unsettled(self.project, view, {**view.texts, **texts}, self._queue.problems(view.item))

    def undo(self, reviewer: str, item: str | None = None) -> ReviewDecision:
        """Withdraw the reviewer's decision on an item, or the last one on any; it is kept, but no longer counts."""
        name = self._find_reviewer(reviewer)
        with self._writing():
            decision = self._store.find_last_decision(name, item)
            if decision is None:
                raise UsageError(f"{name} has no decision{f' on {item}' if item else ''} to undo.")
            self._store.undo_decision(decision)
            apply_outcome(self.project, decision.item)
            self._queue.update_item(decision.item)
        return decision

    def others(self, item: str, reviewer: str) -> list[ReviewDecision]:
        """What others decided on an item: only for who has decided on it, and that they saw it is recorded."""
        name, entry = self._find_reviewer(reviewer), self._entry(item)
        with self._store.begin_transaction():
            known = select_current_decisions(self.project, entry, self._store.decisions(item))
            if all(decision.reviewer != name for decision in known):
                raise UsageError(f"{name} has not decided on {item} yet, and sees the decisions of others after that.")
            self._store.reveal(item, name)
        return [decision for decision in known if decision.reviewer != name]

    # Adjudication

    def reveal(self, item: str, reviewer: str) -> None:
        """Record that somebody is shown all decisions on an item, so that theirs no longer counts for agreement."""
        name = self._find_reviewer(reviewer)
        if not self._store.is_revealed(item, name):
            with self._store.begin_transaction():
                self._store.reveal(item, name)

    def reveal_all(self, reviewer: str) -> None:
        """Record that somebody is given all decisions on all items, as in a copy of the project."""
        with self._store.begin_transaction():
            self._store.reveal_all(find_reviewer_name(self.project, reviewer))

    def conflicts(self) -> list[ReviewConflict]:
        """The items on which reviewers do not agree, with all their decisions."""
        return [self.get_conflict(item) for item in self.list_conflict_items()]

    def list_conflict_items(self) -> list[str]:
        """The items on which reviewers do not agree."""
        self._queue.refresh()
        return [entry.item for entry in self._queue.entries() if entry.state == "conflict"]

    def get_conflict(self, item: str) -> ReviewConflict:
        """An item with all decisions on it, whether or not they agree."""
        self._queue.refresh()
        entry = self._entry(item)
        known = select_current_decisions(self.project, entry, self._store.decisions(item))
        return ReviewConflict(self._shown(entry, ""), tuple(known))

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
        seen: str | None = None,
        via: str = "",
    ) -> ReviewOutcome:
        """Settle an item on which reviewers do not agree: as one of them decided (`take`), or in another way.

        `seen` is that of the conflict as it was shown; a ConflictChangedError if it is another one now.
        """
        name = self._find_reviewer(by)
        with self._writing():
            entry = self._entry(item)
            conflict = self.get_conflict(item)
            known = conflict.decisions
            if seen is not None and seen != conflict.seen:
                raise ConflictChangedError(item)
            if compute_outcome(self.project, entry, known).state not in ("conflict", "adjudicated"):
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
            return self._record(_with_comment(decision, comment, via, adjudicates=True))

    def progress(self) -> ReviewProgress:
        """How far the review has come."""
        self._queue.refresh()
        states: dict[ReviewState, int] = {"open": 0, "agreed": 0, "conflict": 0, "adjudicated": 0}
        for entry in self._queue.entries():
            states[entry.state] += 1
        names = self._store.list_reviewer_names()
        return ReviewProgress(states, {name: (self._queue.decided(name), self._queue.left(name)) for name in names})

    def count_progress(self, reviewer: str) -> tuple[int, int]:
        """The number of items that a reviewer has decided on, and of those still to decide."""
        name = self._find_reviewer(reviewer)
        self._queue.refresh()
        return self._queue.decided(name), self._queue.left(name)

    def before(self, reviewer: str, item: str) -> ReviewDecision | None:
        """The reviewer's own decision before that on an item, or their last one if they have not decided on it."""
        return self._store.find_earlier_decision(self._find_reviewer(reviewer), item)

    def list_history(self, reviewer: str, limit: int = 50) -> list[ReviewDecision]:
        """The reviewer's own last decisions that stand, the last one first."""
        return self._store.list_recent_decisions(self._find_reviewer(reviewer), limit)

    def list_own_decisions(self, reviewer: str, item: str) -> list[int]:
        """The numbers of the reviewer's decisions on an item, in order, withdrawn ones included."""
        return self._store.list_own_decisions(item, self._find_reviewer(reviewer))

    # Questions

    def ask(self, reviewer: str, item: str, question: str) -> None:
        """Ask something about an item, which is then passed over for this reviewer until somebody answers."""
        name, question = self._find_reviewer(reviewer), question.strip()
        if not question:
            raise UsageError(f"What do you want to ask about {item}? The question is empty.")
        with self._writing():
            self._entry(item)
            is_repeated = any(
                (asked.item, asked.reviewer, asked.question) == (item, name, question)
                for asked in self._store.questions()
            )
            if not is_repeated:
                self._store.add_question(item, name, question)
            self._store.free_slots(item, name)

    def questions(self) -> list[ReviewQuestion]:
        """The questions that nobody has answered, in order."""
        return self._store.questions()

    def get_view(self, item: str) -> ReviewItem:
        """An item without anybody's decision or questions."""
        return self._shown(self._entry(item), "")

    def answer(self, by: str, number: int, answer: str) -> ReviewQuestion:
        """Answer a question; the item comes to its reviewer again, with the answer."""
        if not answer.strip():
            raise UsageError("The answer is empty.")
        with self._writing():
            asked = next((one for one in self._store.questions() if one.number == number), None)
            if asked is None:
                raise UsageError("This question has been answered, or there is none with this number.")
            self._store.answer_question(number, answer.strip(), by.strip())
        return asked

    @contextmanager
    def _writing(self, *, synced: bool = True) -> Iterator[None]:
        """A transaction, in which the queue is up to date."""
        self._queue.refresh()  # before the lock, since the first time may take a while
        try:
            with self._store.begin_transaction(synced=synced):
                self._queue.refresh()
                yield
        except BaseException:
            self._queue.invalidate()  # what was brought in is rolled back
            raise

    def _record(self, decision: ReviewDecision, known: int | None = None) -> ReviewOutcome:
        outcome = record_decision(self.project, decision, known)
        self._queue.free(decision.item, decision.reviewer)
        self._queue.update_item(decision.item)
        return outcome

    # Inside

    def _find_reviewer(self, name: str) -> str:
        """The reviewer's name as it was added."""
        for known in self._store.list_reviewer_names():
            if known.casefold() == name.strip().casefold():
                return known
        raise NotAReviewerError(f"{name!r} is not a reviewer of this project; add them with --add-reviewer.")

    def _entry(self, item: str) -> ProjectItem:
        entry = self._store.item(item)
        if entry.stage == "source":
            raise UsageError(f"{item} is not translated yet.")
        if entry.dropped_in not in (None, "review"):
            raise UsageError(f"{item} was dropped in the step {entry.dropped_in}: {entry.dropped}.")
        return entry

    def _shown(self, entry: ProjectItem, reviewer: str) -> ReviewItem:
        return build_review_item(self.project, entry, reviewer, self._queue.problems(entry.id))

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
        problems = self._queue.problems(item)
        return make_decision(
            self.project, self._entry(item), reviewer, verdict, texts, proposals, accepted, shown, problems
        )


def _with_comment(decision: ReviewDecision, comment: str, via: str, *, adjudicates: bool) -> ReviewDecision:
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
