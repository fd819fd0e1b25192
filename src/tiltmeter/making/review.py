"""The review of a project: what a page or a command calls to show items to people and to store their decisions.

Reviewers decide independently: a reviewer sees what others decided on an item only after deciding on it. An item in
somebody's hands is held for them for a while, so that no more people work on it than are asked. Every decision is one
transaction, which also applies its outcome; if two people decide at once, both decisions are kept.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import count

from tiltmeter.errors import UsageError
from tiltmeter.forms.blank import BLANK
from tiltmeter.making.problems import OpenProblem, assemble, examine_texts
from tiltmeter.making.project import Project
from tiltmeter.making.review_outcomes import (
    apply_outcome,
    current_decisions,
    follow_rule,
    outcome_of,
    record,
    rule_of,
    shown_id,
    texts_before,
)
from tiltmeter.making.review_rule import VERDICTS, ReviewDecision, ReviewOutcome, ReviewState, ReviewVerdict
from tiltmeter.making.store import ProjectItem

# Seconds for which an item stays with the reviewer who was shown it.
HELD = 1800.0


@dataclass(frozen=True, slots=True)
class ReviewProblem:
    """What a reviewer should look at: the finding's name, a sentence, the field, and proposals, best first.

    A `warning` stays with the text, and has to be accepted by name if the text is kept as it is.
    """

    reason: str
    kind: str
    field: str
    message: str
    proposals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """An item as a reviewer is shown it: source and translation of each text, and its problems.

    `shown` goes back with the decision, so that nobody decides on a text that was changed meanwhile; `decided` is the
    reviewer's own decision that stands.
    """

    item: str
    part: str
    subject: str
    source: dict[str, str]
    texts: dict[str, str]
    problems: tuple[ReviewProblem, ...]
    shown: str
    decided: ReviewDecision | None = None


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """An item in the queue: its state, why it is there, how many people decided, and how many have it in hand."""

    item: str
    part: str
    subject: str
    state: ReviewState
    reasons: tuple[str, ...]
    decisions: int
    in_hand: int


@dataclass(frozen=True, slots=True)
class ReviewConflict:
    """An item on which reviewers do not agree, with all their decisions."""

    item: ReviewItem
    decisions: tuple[ReviewDecision, ...]


@dataclass(frozen=True, slots=True)
class ReviewProgress:
    """Items of the queue by state, and for each reviewer the items decided and those still to decide."""

    states: dict[ReviewState, int]
    reviewers: dict[str, tuple[int, int]]


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
        texts = texts_before(self.project, entry.id)
        wanted = self.project.maker.wanted(self.project.source_item(entry))
        source = {text.field: text.text for text in wanted if text.role != "filled"}
        own = [decision for decision in self._store.decisions(entry.id) if decision.reviewer == reviewer]
        return ReviewItem(
            item=entry.id,
            part=entry.part,
            subject=entry.subject,
            source=source,
            texts={field: texts.get(field, "") for field in source},
            problems=tuple(self._shown_problems(entry, texts)),
            shown=shown_id(entry, texts),
            decided=own[-1] if own else None,
        )

    def _shown_problems(self, entry: ProjectItem, texts: dict[str, str]) -> list[ReviewProblem]:
        """The problems of an item before the review; that others settled them is not shown."""
        applied = self._store.applied(entry.id)
        settled = set(applied.findings) if applied else set()
        problems = []
        for stored in self._store.findings(entry.id, ("proposed", "open")):
            if stored.closed_by is None or stored.number in settled:
                found = stored.finding
                problems.append(ReviewProblem(found.rule, found.kind, found.field, found.reason, found.proposals))
        known = {problem.reason for problem in problems}
        by_others = {code for item, code in self._store.accepted_problems() if item == entry.id}
        by_others -= set(applied.accepted) if applied else set()
        for problem in (*self._validation(entry, texts), *self._repetitions(entry)):
            if problem.reason not in known | by_others:
                problems.append(problem)
        return problems

    def _validation(self, entry: ProjectItem, texts: Mapping[str, str]) -> list[ReviewProblem]:
        """What validation finds in an item with these texts."""
        return [
            ReviewProblem(finding.code, finding.severity, finding.field, finding.message)
            for finding in examine_texts(self.project, entry, texts)
        ]

    def _repetitions(self, entry: ProjectItem) -> list[ReviewProblem]:
        """Validation findings that concern several items."""
        return [
            ReviewProblem(problem.reason, problem.kind, problem.field, problem.message)
            for problem in self._problems().get(entry.id, ())
            if problem.step == "validate" and problem.reason.startswith("duplicate")
        ]

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
        """The decision, if it can be made."""
        if verdict not in VERDICTS:
            raise UsageError(f"{verdict!r} is not a verdict; choose {', '.join(VERDICTS)}.")
        view = self._shown(self._entry(item), reviewer)
        if shown is not None and shown != view.shown:
            raise UsageError(f"{item} was changed since it was shown; look at it again.")
        if verdict == "drop":
            return ReviewDecision(item, reviewer, "drop", shown=view.shown)
        changes = {**texts, **{field: _proposal(view, field, number) for field, number in proposals.items()}}
        if verdict == "accept" and any(view.texts.get(field) != text for field, text in changes.items()):
            raise UsageError(f"New texts of {item} come with the verdict edit, not with accept.")
        _check_texts(view, changes)
        result = {**view.texts, **changes}
        self._check_valid(view, result, accepted)
        final: ReviewVerdict = "accept" if result == view.texts else "edit"
        return ReviewDecision(item, reviewer, final, result, dict(accepted), shown=view.shown)

    def _check_valid(self, view: ReviewItem, texts: dict[str, str], accepted: Mapping[str, str]) -> None:
        """Refuse to keep an invalid item, or one with warnings that are not accepted with a reason."""
        entry = self._store.item(view.item)
        found = self._validation(entry, texts)
        if texts == view.texts:
            found += self._repetitions(entry)
        if errors := [problem for problem in found if problem.kind == "error"]:
            raise UsageError(f"{view.item} cannot be kept like this: {errors[0].message}. Edit or drop it.")
        settled = {code for item, code in self._store.accepted_problems() if item == view.item}
        left = [problem for problem in found if problem.reason not in settled | set(accepted)]
        if left:
            raise UsageError(
                f"{view.item} would have the warning {left[0].reason} ({left[0].message}): edit or drop it, or accept "
                f"the finding {left[0].reason} with a reason."
            )
        if unreasoned := [code for code, why in accepted.items() if not why.strip()]:
            raise UsageError(f"The finding {unreasoned[0]} of {view.item} is accepted with a reason only.")


def _proposal(view: ReviewItem, field: str, number: int) -> str:
    proposals = [text for problem in view.problems if problem.field == field for text in problem.proposals]
    proposals = list(dict.fromkeys(proposals))
    if not 1 <= number <= len(proposals):
        raise UsageError(f"{view.item} has {len(proposals)} proposals for {field}; there is no number {number}.")
    return proposals[number - 1]


def _check_texts(view: ReviewItem, changes: Mapping[str, str]) -> None:
    for field, text in changes.items():
        if field not in view.source:
            raise UsageError(f"{view.item} has no text {field!r}, only {', '.join(view.source)}.")
        if not text.strip():
            raise UsageError(f"The text {field} of {view.item} would be empty.")
        blanks = view.source[field].count(BLANK)
        if text.count(BLANK) != blanks:
            raise UsageError(
                f"The text {field} of {view.item} has {BLANK} {text.count(BLANK)} times, and its source {blanks} times."
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
