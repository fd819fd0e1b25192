"""The review of a project, used by the studio and the command line.

Reviewers decide independently: they see the decisions of others on an item only after they have decided themselves. An
item that is shown to a reviewer is reserved for this reviewer for some time, so that the item does not get more
reviewers than needed. A decision and its outcome are stored in one transaction. If two people decide at the same time,
both decisions are kept.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from tiltmeter.errors import UsageError
from tiltmeter.making.open_problems import OpenProblem
from tiltmeter.making.project import Project
from tiltmeter.making.project_store import ProjectItem
from tiltmeter.making.review.review_decisions import build_review_item, find_unsettled_problems, make_decision
from tiltmeter.making.review.review_outcomes import (
    apply_changed_rule,
    apply_outcome,
    compute_outcome,
    find_reviewer_name,
    get_review_rule,
    is_own_conflict,
    record_decision,
    select_current_decisions,
)
from tiltmeter.making.review.review_queue import QueuedItem, ReviewQueue
from tiltmeter.making.review.review_rule import ReviewDecision, ReviewOutcome, ReviewState, ReviewVerdict
from tiltmeter.making.review.review_tables import ReviewQuestion
from tiltmeter.making.review.review_times import LONGEST, ReviewerTime
from tiltmeter.making.review.review_views import (
    ConflictChangedError,
    QueueEntry,
    ReviewConflict,
    ReviewItem,
    ReviewProblem,
    ReviewProgress,
    validate_texts,
)

# Seconds for which an item is reserved for a reviewer.
HELD = 1800.0


class NotAReviewerError(UsageError):
    """The user is not a reviewer of the project."""

    on_page = "You are not a reviewer of this project yet; open it and choose Review items."


class OwnConflictError(UsageError):
    """The user wants to settle a conflict of decisions, one of which is the user's own."""

    on_page = "You have decided on this item yourself, so another adjudicator has to settle the conflict."


class Review:
    """The review of an open project: the items to review, and the decisions and questions of its reviewers."""

    def __init__(self, project: Project, *, held: float = HELD, clock: Callable[[], float] = time.time) -> None:
        self.project = project
        self.rule = get_review_rule(project)
        self._store = project.store
        self._held = held
        self._clock = clock
        self._queue = ReviewQueue(project, self.rule)
        apply_changed_rule(project)

    # Methods for reviewers and guidelines

    def add_reviewer(self, name: str) -> None:
        """Add a person as a reviewer of the project."""
        if not name.strip():
            raise UsageError("The name of the reviewer is empty.")
        with self._store.begin_transaction():
            self._store.add_reviewer(name.strip())

    def read_guidelines(self) -> str:
        """Return the text of the guidelines for reviewers; an empty text if the project has no guidelines."""
        return self.project.read_guidelines()

    # Methods for the queue of items

    def list_queue(self, state: ReviewState | None = None) -> list[QueueEntry]:
        """Return the items of the queue, including reviewed items; with `state`, only items in this state.

        The items of the lowest estimated quality are first.
        """
        self._queue.refresh()
        return [
            QueueEntry(
                entry.item,
                entry.part,
                entry.subject,
                entry.state,
                tuple(dict.fromkeys(problem.reason for problem in self._queue.get_problems(entry.item))),
                entry.decisions,
                entry.quality,
            )
            for entry in sorted(self._queue.list_items(), key=lambda entry: entry.quality)
            if state in (None, entry.state)
        ]

    def take_next_item(self, reviewer: str, *, skip: Collection[str] = ()) -> ReviewItem | None:
        """Return the next item for a reviewer, and reserve the item; None if there is no item left.

        Items in `skip`, and items about which the reviewer has asked an unanswered question, are skipped.
        """
        name = self._find_reviewer(reviewer)
        # The transaction is not synced to disk, because losing a reservation in a power failure does no harm.
        with self._begin_transaction(synced=False):
            item = self._queue.take_next_item(name, self._clock(), self._held, skip)
            return self._build_view(self._get_reviewable_item(item), name) if item else None

    def show_item(self, item: str, reviewer: str) -> ReviewItem:
        """Return an item as a reviewer sees it, but do not reserve the item."""
        self._queue.refresh()
        return self._build_view(self._get_reviewable_item(item), self._find_reviewer(reviewer))

    # Methods for decisions

    def decide_on_item(
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
        seconds: float = 0.0,
        via: str = "",
    ) -> ReviewOutcome:
        """Store a reviewer's decision on an item (accept, edit or drop); return the outcome of all decisions.

        `texts` maps fields to new texts, and `proposals` maps fields to the numbers (from 1) of proposals. The edited
        item must be valid. `accepted` maps the codes of warnings to the reasons for accepting them. `shown` is the
        digest of the texts that the reviewer saw; an error is raised if the texts have changed.

        `known` is the number of the reviewer's decisions on the item, including withdrawn decisions, when the page was
        built. If there are more decisions now, the additional ones came from the same page (a double click) and are
        replaced. `seconds` is the time that the reviewer needed, without pauses; 0 if it is unknown. `via` is the
        program or file from which the decision came.
        """
        name = self._find_reviewer(reviewer)
        with self._begin_transaction():
            entry, problems = self._get_reviewable_item(item), self._queue.get_problems(item)
            if self._queue.is_closed(item):
                raise UsageError(
                    f"{item} is closed until the calibration round is finished; decide on the calibration items first."
                )
            decision = make_decision(
                self.project, entry, name, verdict, texts or {}, proposals or {}, accepted or {}, shown, problems
            )
            return self._store_decision(replace(decision, comment=comment.strip(), via=via), known, seconds)

    def decide_on_items(
        self,
        reviewer: str,
        decisions: Mapping[str, tuple[Mapping[str, str], str]],
        *,
        seconds: float = 0.0,
        via: str = "",
    ) -> tuple[list[str], dict[str, str]]:
        """Store a reviewer's decisions to keep several items, all in one transaction.

        `decisions` maps each item to its new texts and to the digest of the texts that the reviewer saw. Return the
        items whose decisions were stored, and the reasons why the others were left out: the item has changed, is
        decided, reserved for somebody else, or needs a reason for a warning. `seconds` is the time for all items.
        """
        name, stored, refused = self._find_reviewer(reviewer), [], {}
        with self._begin_transaction():
            for item, (texts, shown) in decisions.items():
                try:
                    entry, problems = self._get_reviewable_item(item), self._queue.get_problems(item)
                    if not self._queue.can_take(item, name, self._clock()):
                        raise UsageError(f"{item} is already decided or reserved for another reviewer.")
                    verdict: ReviewVerdict = "edit" if texts else "accept"
                    made = make_decision(self.project, entry, name, verdict, texts, {}, {}, shown, problems)
                except UsageError as error:
                    refused[item] = str(error)
                    continue
                self._store_decision(replace(made, via=via), seconds=seconds / len(decisions))
                stored.append(item)
        return stored, refused

    def select_decidable_items(self, reviewer: str, items: Iterable[str]) -> set[str]:
        """Return those of the items that the queue could offer to a reviewer now."""
        name, now = find_reviewer_name(self.project, reviewer), self._clock()
        self._queue.refresh()
        return {item for item in items if self._queue.can_take(item, name, now)}

    def is_calibrating(self) -> bool:
        """Return whether only the items of the calibration round are open."""
        self._queue.refresh()
        return self._queue.is_calibrating

    def get_revision(self) -> object:
        """Return a value that changes when the queue or one of its items has changed."""
        self._queue.refresh()
        return self._store.get_change_stamp()

    def list_queued_items(self) -> Iterator[tuple[QueuedItem, list[OpenProblem]]]:
        """Yield all items of the queue with their open problems, in the order of the project."""
        self._queue.refresh()
        for entry in self._queue.list_items():
            yield entry, self._queue.get_problems(entry.item)

    def find_obstacles(self, view: ReviewItem, texts: Mapping[str, str]) -> list[ReviewProblem]:
        """Return the problems because of which an item needs more than new `texts`: errors and unsettled warnings.

        Raise a UsageError if a text is empty or has a wrong number of blanks.
        """
        validate_texts(view, texts)
        return self.find_unsettled_problems(view, texts)

    def check_texts(self, reviewer: str, item: str, texts: Mapping[str, str]) -> list[ReviewProblem]:
        """Return the problems that an item would have with the new `texts`: errors, and warnings that need a reason.

        Raise a UsageError if a text is empty or has a wrong number of blanks, or if its field is unknown.
        """
        view = self.show_item(item, reviewer)
        validate_texts(view, texts)
        return self.find_unsettled_problems(view, texts)

    def find_unsettled_problems(self, view: ReviewItem, texts: Mapping[str, str]) -> list[ReviewProblem]:
        """Return the validation problems that an item would have if `texts` replaced its texts.

        Warnings that were accepted before the review are left out.
        """
        return find_unsettled_problems(self.project, view, {**view.texts, **texts}, self._queue.get_problems(view.item))

    def undo_decision(self, reviewer: str, item: str | None = None) -> ReviewDecision:
        """Withdraw and return the reviewer's last decision on an item; without `item`, the last one on any item."""
        name = self._find_reviewer(reviewer)
        with self._begin_transaction():
            decision = self._store.find_last_decision(name, item)
            if decision is None:
                raise UsageError(f"{name} has no decision{f' on {item}' if item else ''} to undo.")
            self._store.undo_decision(decision)
            apply_outcome(self.project, decision.item)
            self._queue.update_item(decision.item)
        return decision

    def reveal_other_decisions(self, item: str, reviewer: str) -> list[ReviewDecision]:
        """Return the decisions of other reviewers on an item, and record that `reviewer` has seen these decisions.

        Raise a UsageError if `reviewer` has not decided on the item.
        """
        name, entry = self._find_reviewer(reviewer), self._get_reviewable_item(item)
        with self._store.begin_transaction():
            known = select_current_decisions(self.project, entry, self._store.list_decisions(item))
            if all(decision.reviewer != name for decision in known):
                raise UsageError(f"{name} has not decided on {item}; decide first to see the decisions of others.")
            self._store.record_reveal(item, name)
        return [decision for decision in known if decision.reviewer != name]

    # Methods for the adjudication of conflicts, and for the progress

    def record_reveal(self, item: str, reviewer: str) -> None:
        """Record that a reviewer has seen all decisions on an item.

        The reviewer's later decisions on the item do not count as independent.
        """
        name = self._find_reviewer(reviewer)
        if not self._store.is_revealed(item, name):
            with self._store.begin_transaction():
                self._store.record_reveal(item, name)

    def record_reveal_of_all(self, reviewer: str) -> None:
        """Record that a reviewer has seen all decisions on all items, for example by downloading the project."""
        with self._store.begin_transaction():
            self._store.record_reveal_of_all(find_reviewer_name(self.project, reviewer))

    def list_conflicts(self) -> list[ReviewConflict]:
        """Return the items on which reviewers disagree, with all decisions on these items."""
        return [self.get_conflict(item) for item in self.list_conflict_items()]

    def list_conflict_items(self) -> list[str]:
        """Return the ids of the items on which reviewers disagree."""
        self._queue.refresh()
        return [entry.item for entry in self._queue.list_items() if entry.state == "conflict"]

    def get_conflict(self, item: str) -> ReviewConflict:
        """Return an item with all decisions on it, whether or not the decisions agree."""
        self._queue.refresh()
        entry = self._get_reviewable_item(item)
        known = select_current_decisions(self.project, entry, self._store.list_decisions(item))
        return ReviewConflict(self._build_view(entry, ""), tuple(known))

    def settle_conflict(
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
        """Store the decision of an adjudicator (`by`) on an item on which reviewers disagree; return the outcome.

        `take` is the reviewer whose decision the adjudicator adopts; without `take`, the adjudicator makes a new
        decision. `seen` is the digest of the conflict that the adjudicator saw; raise a ConflictChangedError if the
        conflict has changed since.
        """
        name = self._find_reviewer(by)
        with self._begin_transaction():
            entry = self._get_reviewable_item(item)
            conflict = self.get_conflict(item)
            known = conflict.decisions
            if seen is not None and seen != conflict.digest:
                raise ConflictChangedError(item)
            if compute_outcome(self.project, entry, known).state not in ("conflict", "adjudicated"):
                raise UsageError(f"Reviewers do not disagree on {item}; there is nothing to adjudicate.")
            self._reject_own_conflict(entry, name)
            if take is not None:
                taken = [decision for decision in known if decision.reviewer.casefold() == take.casefold()]
                if not taken:
                    raise UsageError(f"{take} has not decided on {item}.")
                verdict, texts = taken[-1].verdict, taken[-1].texts
                accepted = {**taken[-1].accepted, **(accepted or {})}
            if verdict is None:
                raise UsageError(
                    "An adjudication needs a verdict, or the name of a reviewer whose decision is adopted."
                )
            problems = self._queue.get_problems(item)
            decision = make_decision(
                self.project, entry, name, verdict, texts or {}, {}, accepted or {}, None, problems
            )
            return self._store_decision(replace(decision, comment=comment.strip(), via=via, adjudicates=True))

    def may_settle_conflict(self, item: str, by: str) -> bool:
        """Return whether a person may settle the conflict about an item.

        A person who has decided on the item may do so only if the setting `settle_own_conflicts` is true.
        """
        allowed = self.project.settings.settle_own_conflicts
        return allowed or not is_own_conflict(self.project, self._get_reviewable_item(item), by)

    def _reject_own_conflict(self, entry: ProjectItem, by: str) -> None:
        if not self.may_settle_conflict(entry.id, by):
            raise OwnConflictError(
                f"{by} has decided on {entry.id} and cannot settle the conflict about it; ask another adjudicator, or "
                "set `settle_own_conflicts = true` in project.toml."
            )

    def count_states(self) -> ReviewProgress:
        """Return the number of items in each state, and the numbers of decided and remaining items of each reviewer."""
        self._queue.refresh()
        states: dict[ReviewState, int] = {"open": 0, "agreed": 0, "conflict": 0, "adjudicated": 0}
        for entry in self._queue.list_items():
            states[entry.state] += 1
        names = self._store.list_reviewer_names()
        return ReviewProgress(
            states,
            {name: (self._queue.count_decided(name), self._queue.count_remaining(name)) for name in names},
            self._queue.count_missing_decisions(),
        )

    def count_progress(self, reviewer: str) -> tuple[int, int]:
        """Return two numbers of items: those that a reviewer has decided on, and those that remain for the reviewer."""
        name = self._find_reviewer(reviewer)
        self._queue.refresh()
        return self._queue.count_decided(name), self._queue.count_remaining(name)

    def forecast_hours(self, reviewer: str) -> float | None:
        """Return the hours that a reviewer still needs; None if too few times are known."""
        known = self._store.sum_decision_times().get(self._find_reviewer(reviewer), (0, 0.0))
        return ReviewerTime(*known, self.count_progress(reviewer)[1]).hours_left

    def find_previous_decision(self, reviewer: str, item: str) -> ReviewDecision | None:
        """Return the decision that the reviewer made before deciding on this item.

        If the reviewer has not decided on this item, return the reviewer's last decision.
        """
        return self._store.find_earlier_decision(self._find_reviewer(reviewer), item)

    def list_history(self, reviewer: str, limit: int = 50) -> list[ReviewDecision]:
        """Return the reviewer's latest decisions without withdrawn decisions, latest first, at most `limit`."""
        return self._store.list_recent_decisions(self._find_reviewer(reviewer), limit)

    def list_own_decisions(self, reviewer: str, item: str) -> list[int]:
        """Return the ids of the reviewer's decisions on an item, oldest first, including withdrawn decisions."""
        return self._store.list_own_decisions(item, self._find_reviewer(reviewer))

    # Methods for questions of reviewers

    def ask_question(self, reviewer: str, item: str, question: str) -> None:
        """Store a reviewer's question about an item. The item is skipped for this reviewer until somebody answers."""
        name, question = self._find_reviewer(reviewer), question.strip()
        if not question:
            raise UsageError(f"The question about {item} is empty; write a text.")
        with self._begin_transaction():
            self._get_reviewable_item(item)
            is_repeated = any(
                (asked.item, asked.reviewer, asked.question) == (item, name, question)
                for asked in self._store.list_questions()
            )
            if not is_repeated:
                self._store.add_question(item, name, question)
            self._store.free_slots(item, name)

    def list_unanswered_questions(self) -> list[ReviewQuestion]:
        """Return the unanswered questions, oldest first."""
        return self._store.list_questions()

    def get_view(self, item: str) -> ReviewItem:
        """Return an item with its texts and problems, but without the decisions and questions of any reviewer."""
        return self._build_view(self._get_reviewable_item(item), "")

    def get_title(self, item: str) -> str:
        """Return the title of an item, which is one of its texts."""
        return self.get_view(item).title

    def answer_question(self, by: str, number: int, answer: str) -> ReviewQuestion:
        """Store the answer to the question with the id `number`, and return the question.

        The item is no longer skipped for the reviewer who asked, and is shown with the answer.
        """
        if not answer.strip():
            raise UsageError("The answer is empty; write a text.")
        with self._begin_transaction():
            asked = next((one for one in self._store.list_questions() if one.number == number), None)
            if asked is None:
                raise UsageError(f"The question {number} does not exist or has been answered.")
            self._store.answer_question(number, answer.strip(), by.strip())
        return asked

    @contextmanager
    def _begin_transaction(self, *, synced: bool = True) -> Iterator[None]:
        """Begin a database transaction, and update the queue of items inside the transaction."""
        # The first refresh may be slow, so it is done before the database is locked.
        self._queue.refresh()
        try:
            with self._store.begin_transaction(synced=synced):
                self._queue.refresh()
                yield
        except BaseException:
            # The queue may contain changes that were rolled back, so all items are compared with the database again.
            self._queue.require_full_refresh()
            raise

    def _store_decision(
        self, decision: ReviewDecision, known: int | None = None, seconds: float = 0.0
    ) -> ReviewOutcome:
        outcome = record_decision(self.project, decision, known)
        if seconds > 0:
            self._store.add_decision_time(decision.item, decision.reviewer, min(seconds, LONGEST))
        self._queue.free_reservation(decision.item, decision.reviewer)
        self._queue.update_item(decision.item)
        return outcome

    def _find_reviewer(self, name: str) -> str:
        """Return the stored spelling of a reviewer's name, ignoring letter case.

        Raise a NotAReviewerError if no reviewer has this name.
        """
        for known in self._store.list_reviewer_names():
            if known.casefold() == name.strip().casefold():
                return known
        raise NotAReviewerError(f"{name!r} is not a reviewer of this project; add the name with --add-reviewer.")

    def _get_reviewable_item(self, item: str) -> ProjectItem:
        entry = self._store.get_item(item)
        if entry.stage == "source":
            raise UsageError(f"The item {item} is not translated yet; run `tiltmeter make translate` first.")
        if entry.dropped_in not in (None, "review"):
            raise UsageError(f"The item {item} was dropped in the step {entry.dropped_in}: {entry.dropped}.")
        return entry

    def _build_view(self, entry: ProjectItem, reviewer: str) -> ReviewItem:
        return build_review_item(self.project, entry, reviewer, self._queue.get_problems(entry.id))
