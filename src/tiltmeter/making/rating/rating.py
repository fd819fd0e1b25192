"""Rating sessions: people rate texts on scales, first without seeing the label of the text, then with the label.

GEST's sentences were rated in this way. In the first task, raters did not see the stereotype and rated which gender the
sentence is typical of. In the second task, they rated whether the sentence fits the stereotype. Both scales had five
steps. If the first rater was against a sentence in either task, a second rater decided.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from tiltmeter.errors import DataError, UsageError
from tiltmeter.making.rating.rating_plan import RatingPlan, RatingTask
from tiltmeter.making.rating.rating_tables import RatingTables, RatingUnit, StoredRating
from tiltmeter.making.reliability import Agreement, compute_krippendorff_alpha

# Seconds for which a unit is reserved for a rater. HELD: in the studio or on the command line. HELD_IN_SHEET: in a
# spreadsheet.
HELD = 1800.0
HELD_IN_SHEET = 7 * 86_400.0

Propose = Callable[[RatingUnit, str, Mapping[str, str], str], list[int]]
"""A function that takes a unit, the name of a rater, the proposed texts by field, and a comment. It stores each
proposal as a finding, and returns the ids of the findings."""

RatingOutcome = Literal["open", "keep", "drop"]
_LABEL_SEEN = "{} has seen the label of {} since this rating, so the rating cannot be changed."


@dataclass(frozen=True, slots=True)
class RatingQuestion:
    """The next question for a rater; `label` is None while the label is hidden from the rater."""

    unit: str
    texts: dict[str, str]
    task: RatingTask
    label: str | None
    part: str = ""


@dataclass(frozen=True, slots=True)
class RatingResult:
    """The outcome (keep, drop or open) of each unit, the agreement in each task, and each rater's number of ratings."""

    outcomes: dict[str, RatingOutcome]
    agreement: dict[str, Agreement]
    raters: dict[str, int]


@dataclass(frozen=True, slots=True)
class ImportedRating:
    """A rating that is read from a file; `proposed` maps fields to texts that the rater proposes.

    `place` says where the rating is in the file, for error messages.
    """

    place: str
    unit: str
    task: str
    step: int
    comment: str = ""
    proposed: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _UnitRatings:
    """The ratings of one rater for one unit: the id of the first rating, and the rated step for each task."""

    first: int
    steps: dict[str, int] = field(default_factory=dict)


class RatingSession:
    """The rating of the units in a database, according to a rating plan.

    A unit that is shown to a rater is reserved for this rater for some time, so that the unit does not get more raters
    than needed.
    """

    def __init__(
        self,
        store: RatingTables,
        plan: RatingPlan,
        *,
        propose: Propose | None = None,
        held: float = HELD,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.plan = plan
        self._propose = propose
        self._held = held
        self._clock = clock

    def take_question(self, rater: str, *, task: str | None = None) -> RatingQuestion | None:
        """Return the next question for a rater, and reserve its unit; None if there is no question.

        If `task` is given, only questions of this task are returned.
        """
        taken = self._reserve_questions(rater, task, 1, self._held)
        return taken[0] if taken else None

    def take_all_questions(
        self, rater: str, *, task: str | None = None, limit: int | None = None
    ) -> list[RatingQuestion]:
        """Return questions for a rater to answer in a spreadsheet, at most `limit`; reserve their units for a week."""
        return self._reserve_questions(rater, task, limit, HELD_IN_SHEET)

    def _reserve_questions(self, rater: str, task: str | None, limit: int | None, held: float) -> list[RatingQuestion]:
        name = self._find_rater(rater)
        if task is not None:
            self._find_task(task)
        with self.store.begin_transaction():
            now = self._clock()
            slots = self.store.get_rating_slots(now)
            questions = self._list_questions(name, task, slots)[:limit]
            for question in questions:
                others = {slot for slot, who in slots.get(question.unit, {}).items() if who != name}
                own = [slot for slot, who in slots.get(question.unit, {}).items() if who == name]
                slot = own[0] if own else next(number for number in count(1) if number not in others)
                self.store.take_rating_slot(question.unit, slot, name, now + held)
        return questions

    def list_all_questions(self, rater: str, task: str | None = None) -> list[RatingQuestion]:
        """Return all questions for a rater, but do not reserve the units.

        Questions about units that the rater has begun to rate come first.
        """
        return self._list_questions(self._find_rater(rater), task, self.store.get_rating_slots(self._clock()))

    def _list_questions(
        self, name: str, task: str | None, slots: Mapping[str, Mapping[int, str]]
    ) -> list[RatingQuestion]:
        rated = self._group_ratings()
        begun: list[RatingQuestion] = []
        fresh: list[RatingQuestion] = []
        for unit in self.store.list_units():
            known = rated.get(unit.id, {})
            own = known.get(name)
            reserved = {who for who in slots.get(unit.id, {}).values() if who != name and who not in known}
            if unit.writer.casefold() == name.casefold():
                continue
            if own is None and len(known) + len(reserved) >= self._count_wanted_raters(unit, known):
                continue
            next_task = self._find_next_task(unit, own.steps if own else {})
            if next_task is not None and task in (None, next_task.name):
                label = unit.label if next_task.label_shown else None
                question = RatingQuestion(unit.id, unit.texts, next_task, label, unit.part)
                is_begun = own is not None or name in slots.get(unit.id, {}).values()
                (begun if is_begun else fresh).append(question)
        return [*begun, *fresh]

    def release_reservations(self, rater: str) -> None:
        """Delete all reservations of a rater, so that other raters can rate the reserved units."""
        with self.store.begin_transaction():
            self.store.free_rating_slots(self._find_rater(rater))

    def rate_unit(
        self,
        rater: str,
        unit: str,
        task: str,
        step: int,
        comment: str = "",
        *,
        proposed: Mapping[str, str] | None = None,
        replaces: bool = False,
    ) -> None:
        """Store a rating of a unit in a task, which must be the rater's next task for this unit.

        `step` is the chosen step of the scale, counted from 1. `proposed` maps fields to better texts. With `replaces`,
        the new rating replaces the rater's earlier rating in this task, unless the label of the unit was shown to the
        rater after the earlier rating; then a UsageError is raised.
        """
        given = ImportedRating("", unit, task, step, comment, proposed or {})
        with self.store.begin_transaction():
            name = self._find_rater(rater)
            if replaces:
                self._delete_repeated(name, unit, task)
            self._store_rating(name, given, self._index_units(), self._group_ratings())

    def _delete_repeated(self, name: str, unit: str, task: str) -> None:
        """Delete the rater's rating of a unit in a task; raise a UsageError if the label was shown after the rating."""
        known = self._index_units().get(unit)
        own = self._group_ratings().get(unit, {}).get(name)
        if known is None or own is None or task not in own.steps:
            return
        next_task = self._find_next_task(known, own.steps)
        seen = [one for one in self.plan.tasks if one.label_shown and (one == next_task or one.name in own.steps)]
        if seen and not self._find_task(task).label_shown:
            raise UsageError(_LABEL_SEEN.format(name, unit))
        for rating in self.store.list_ratings():
            if (rating.unit, rating.task, rating.rater) == (unit, task, name):
                self.store.delete_rating(rating.number)

    def rate_units(self, rater: str, ratings: Sequence[ImportedRating]) -> int:
        """Store the ratings of a file, and return the number of new ratings.

        If a rating is invalid, store nothing and raise an error that names its place in the file.
        """
        done = 0
        with self.store.begin_transaction():
            name, units, rated = self._find_rater(rater), self._index_units(), self._group_ratings()
            for given in ratings:
                own = rated.get(given.unit, {}).get(name)
                if own and own.steps.get(given.task) == given.step:
                    # An earlier import has already stored this rating.
                    continue
                try:
                    self._store_rating(name, given, units, rated)
                except UsageError as error:
                    raise DataError(f"{given.place}: {error} No rating of the file was stored.") from error
                done += 1
        return done

    def _store_rating(
        self,
        name: str,
        given: ImportedRating,
        units: Mapping[str, RatingUnit],
        rated: dict[str, dict[str, _UnitRatings]],
    ) -> None:
        """Store a rating, and add it to `rated`, which has the ratings of each unit and rater."""
        unit = units.get(given.unit)
        if unit is None:
            raise UsageError(f"There is no unit {given.unit!r} to rate.")
        if unit.writer.casefold() == name.casefold():
            raise UsageError(f"{name} wrote {unit.id} and cannot rate it.")
        self._find_task(given.task)
        own = rated.setdefault(unit.id, {}).get(name, _UnitRatings(0))
        wanted = self._find_next_task(unit, own.steps)
        if wanted is None:
            raise UsageError(f"{name} has already rated {unit.id} in all tasks.")
        if wanted.name != given.task:
            raise UsageError(f"The next task of {name} for {unit.id} is {wanted.name}, not {given.task}.")
        if not 1 <= given.step <= len(wanted.steps):
            raise UsageError(
                f"The step {given.step} is not on the scale of the task {given.task}; choose a step from 1 to "
                f"{len(wanted.steps)}."
            )
        comment = given.comment.strip()
        findings = self._store_proposals(unit, name, given.proposed, comment) if given.proposed else []
        self.store.add_rating(unit, given.task, name, given.step, comment, findings)
        own.steps[given.task] = given.step
        rated[unit.id][name] = own
        if self._find_next_task(unit, own.steps) is None:
            self.store.free_rating_slots(name, unit.id)

    def _index_units(self) -> dict[str, RatingUnit]:
        return {unit.id: unit for unit in self.store.list_units()}

    def _store_proposals(self, unit: RatingUnit, rater: str, proposed: Mapping[str, str], comment: str) -> list[int]:
        if self._propose is None:
            raise UsageError("The texts of a sample cannot be edited; remove the proposed text.")
        for name, text in proposed.items():
            if name not in unit.texts:
                raise UsageError(f"{unit.id} has no text {name!r}, only {', '.join(unit.texts)}.")
            if not text.strip():
                raise UsageError(f"The proposed text for {name} of {unit.id} is empty.")
        changed = {name: text.strip() for name, text in proposed.items() if text.strip() != unit.texts[name]}
        return self._propose(unit, rater, changed, comment) if changed else []

    def undo_last_rating(self, rater: str) -> StoredRating:
        """Withdraw and return the rater's last rating; raise a UsageError if the label was shown after this rating."""
        name = self._find_rater(rater)
        with self.store.begin_transaction():
            own = [rating for rating in self.store.list_ratings() if rating.rater == name]
            if not own:
                raise UsageError(f"{name} has no rating to undo.")
            last = own[-1]
            unit = next(unit for unit in self.store.list_units() if unit.id == last.unit)
            rated = self._group_ratings()[last.unit][name].steps if last.shown == unit.digest else {}
            next_task = self._find_next_task(unit, rated)
            if not self._find_task(last.task).label_shown and next_task and next_task.label_shown:
                raise UsageError(_LABEL_SEEN.format(name, last.unit))
            self.store.undo_rating(last.number)
        return last

    def compute_results(self) -> RatingResult:
        """Return the outcome of each unit, the agreement in each task, and the number of ratings of each rater."""
        rated = self._group_ratings()
        outcomes = {unit.id: self._decide_outcome(unit, rated.get(unit.id, {})) for unit in self.store.list_units()}
        agreement = {}
        for task in self.plan.tasks:
            names = sorted({name for own in rated.values() for name in own})
            rows = [
                [own[name].steps.get(task.name) if name in own else None for name in names] for own in rated.values()
            ]
            agreement[task.name] = compute_krippendorff_alpha(rows, task.level, key=task.name)
        raters: dict[str, int] = {}
        for own in rated.values():
            for name, rating in own.items():
                raters[name] = raters.get(name, 0) + len(rating.steps)
        return RatingResult(outcomes, agreement, dict(sorted(raters.items())))

    def get_chosen_steps(self, task: str) -> dict[str, dict[str, int]]:
        """Return the ratings in a task: a dictionary from unit to rater to the chosen step of the scale."""
        return {
            unit: {name: rating.steps[task] for name, rating in own.items() if task in rating.steps}
            for unit, own in self._group_ratings().items()
        }

    def _find_rater(self, name: str) -> str:
        """Return the stored spelling of a rater's name, ignoring letter case; a new name is returned as it is."""
        if not name.strip():
            raise UsageError("The name of the rater is empty.")
        for known in self.store.list_raters():
            if known.casefold() == name.strip().casefold():
                return known
        return name.strip()

    def _find_task(self, name: str) -> RatingTask:
        for task in self.plan.tasks:
            if task.name == name:
                return task
        raise UsageError(f"There is no task {name!r}; choose {', '.join(task.name for task in self.plan.tasks)}.")

    def _group_ratings(self) -> dict[str, dict[str, _UnitRatings]]:
        """Return a dictionary from unit to rater to ratings; ratings of texts that have since changed are left out."""
        current = {unit.id: unit.digest for unit in self.store.list_units()}
        groups: dict[str, dict[str, _UnitRatings]] = {}
        for rating in self.store.list_ratings():
            if current.get(rating.unit) == rating.shown:
                own = groups.setdefault(rating.unit, {}).setdefault(rating.rater, _UnitRatings(rating.number))
                own.steps[rating.task] = rating.step
        return groups

    def _find_next_task(self, unit: RatingUnit, steps: Mapping[str, int]) -> RatingTask | None:
        for task in self.plan.tasks:
            if task.name in steps:
                continue
            if task.only_wrong and steps.get(self.plan.tasks[0].name) in unit.fitting:
                continue
            return task
        return None

    def _count_wanted_raters(self, unit: RatingUnit, rated: Mapping[str, _UnitRatings]) -> int:
        if not self.plan.second_decides:
            return self.plan.raters
        first = min(rated.values(), key=lambda own: own.first, default=None)
        return 2 if first and self._decide_verdict(unit, first) == "drop" else 1

    def _decide_verdict(self, unit: RatingUnit, own: _UnitRatings) -> RatingOutcome:
        """Return the verdict of one rater on keeping a unit.

        The verdict is `drop` if a rating in any task is against the unit, `open` if a task is not rated, else `keep`.
        """
        for task in self.plan.tasks:
            keep = unit.fitting if task.keep == "label" else task.keep
            if task.name in own.steps and keep and own.steps[task.name] not in keep:
                return "drop"
        return "open" if self._find_next_task(unit, own.steps) else "keep"

    def _decide_outcome(self, unit: RatingUnit, rated: Mapping[str, _UnitRatings]) -> RatingOutcome:
        in_order = sorted(rated.values(), key=lambda own: own.first)
        verdicts = [self._decide_verdict(unit, own) for own in in_order]
        if self.plan.second_decides:
            if verdicts[:1] == ["drop"]:
                return verdicts[1] if len(verdicts) > 1 else "open"
            return verdicts[0] if verdicts else "open"
        if verdicts.count("keep") >= self.plan.agree:
            return "keep"
        undecided = max(0, self.plan.raters - verdicts.count("keep") - verdicts.count("drop"))
        return "open" if verdicts.count("keep") + undecided >= self.plan.agree else "drop"
