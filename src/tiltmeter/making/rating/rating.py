"""Rating tasks: people rate texts on declared scales, at first without seeing the label, then with it.

GEST's sentences were rated like this: which gender a sentence is typical of, without seeing its stereotype, and then
whether it fits the stereotype, both in five steps. If the first rater disagreed in either, a second one decided.
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

# Seconds for which a unit stays with the rater who was asked about it, and with one who took it in a sheet.
HELD = 1800.0
HELD_IN_SHEET = 7 * 86_400.0

Propose = Callable[[RatingUnit, str, Mapping[str, str], str], list[int]]
"""Store the texts that a rater proposes for a unit, with a comment; the numbers of what was stored."""

RatingOutcome = Literal["open", "keep", "drop"]


@dataclass(frozen=True, slots=True)
class RatingQuestion:
    """What a rater is asked next; `label` is None as long as it is hidden."""

    unit: str
    texts: dict[str, str]
    task: RatingTask
    label: str | None
    part: str = ""


@dataclass(frozen=True, slots=True)
class RatingResult:
    """Outcomes by unit, the agreement in each task, and the number of ratings by rater."""

    outcomes: dict[str, RatingOutcome]
    agreement: dict[str, Agreement]
    raters: dict[str, int]


@dataclass(frozen=True, slots=True)
class ImportedRating:
    """A rating in a file: where it is there, what was rated, and texts that the rater proposes, by field."""

    place: str
    unit: str
    task: str
    step: int
    comment: str = ""
    proposed: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _UnitRatings:
    """The ratings of one rater on one unit: steps by task, and the number of the first rating."""

    first: int
    steps: dict[str, int] = field(default_factory=dict)


class RatingSession:
    """A rating in progress.

    A unit that a rater was asked about is held for them for a while, so that no more people rate it than are wanted.
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
        """What the rater is asked next, of one task or of any, held for them; None if nothing is left for them."""
        taken = self._take(rater, task, 1, self._held)
        return taken[0] if taken else None

    def take_all(self, rater: str, *, task: str | None = None, limit: int | None = None) -> list[RatingQuestion]:
        """All that the rater can be asked now, at most `limit`, held for them for a week: for a spreadsheet."""
        return self._take(rater, task, limit, HELD_IN_SHEET)

    def _take(self, rater: str, task: str | None, limit: int | None, held: float) -> list[RatingQuestion]:
        name = self._find_rater(rater)
        if task is not None:
            self._find_task(task)
        with self.store.begin_transaction():
            now = self._clock()
            slots = self.store.get_rating_slots(now)
            questions = self._questions(name, task, slots)[:limit]
            for question in questions:
                others = {slot for slot, who in slots.get(question.unit, {}).items() if who != name}
                own = [slot for slot, who in slots.get(question.unit, {}).items() if who == name]
                slot = own[0] if own else next(number for number in count(1) if number not in others)
                self.store.take_rating_slot(question.unit, slot, name, now + held)
        return questions

    def questions(self, rater: str, task: str | None = None) -> list[RatingQuestion]:
        """All that the rater can be asked now, without holding it: of each unit the next task; begun units first."""
        return self._questions(self._find_rater(rater), task, self.store.get_rating_slots(self._clock()))

    def _questions(self, name: str, task: str | None, slots: Mapping[str, Mapping[int, str]]) -> list[RatingQuestion]:
        rated = self._group_ratings()
        begun: list[RatingQuestion] = []
        fresh: list[RatingQuestion] = []
        for unit in self.store.units():
            known = rated.get(unit.id, {})
            own = known.get(name)
            in_hand = {who for who in slots.get(unit.id, {}).values() if who != name and who not in known}
            if unit.writer.casefold() == name.casefold():
                continue
            if own is None and len(known) + len(in_hand) >= self._wanted(unit, known):
                continue
            next_task = self._find_next_task(unit, own.steps if own else {})
            if next_task is not None and task in (None, next_task.name):
                label = unit.label if next_task.label_shown else None
                question = RatingQuestion(unit.id, unit.texts, next_task, label, unit.part)
                is_begun = own is not None or name in slots.get(unit.id, {}).values()
                (begun if is_begun else fresh).append(question)
        return [*begun, *fresh]

    def release(self, rater: str) -> None:
        """Give back everything that is held for a rater."""
        with self.store.begin_transaction():
            self.store.free_rating_slots(self._find_rater(rater))

    def rate(
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
        """Rate a unit in the task that comes next; one transaction. `proposed` are texts that would be better.

        With `replaces`, a repeated rating in the same task takes the place of the first, as long as that was blind if
        it had to be.
        """
        given = ImportedRating("", unit, task, step, comment, proposed or {})
        with self.store.begin_transaction():
            name = self._find_rater(rater)
            if replaces:
                self._delete_repeated(name, unit, task)
            self._rate(name, given, self._index_units(), self._group_ratings())

    def _delete_repeated(self, name: str, unit: str, task: str) -> None:
        """Delete the rating of a unit in a task by this rater, unless the label was shown to them since."""
        known = self._index_units().get(unit)
        own = self._group_ratings().get(unit, {}).get(name)
        if known is None or own is None or task not in own.steps:
            return
        asked = self._find_next_task(known, own.steps)
        seen = [one for one in self.plan.tasks if one.label_shown and (one == asked or one.name in own.steps)]
        if seen and not self._find_task(task).label_shown:
            raise UsageError(f"The label of {unit} was shown to {name} after this rating, so it stands.")
        for rating in self.store.list_ratings():
            if (rating.unit, rating.task, rating.rater) == (unit, task, name):
                self.store.delete_rating(rating.number)

    def rate_all(self, rater: str, ratings: Sequence[ImportedRating]) -> int:
        """Store the ratings of a file, all of them or none; how many are new. An error names the place."""
        done = 0
        with self.store.begin_transaction():
            name, units, rated = self._find_rater(rater), self._index_units(), self._group_ratings()
            for given in ratings:
                own = rated.get(given.unit, {}).get(name)
                if own and own.steps.get(given.task) == given.step:
                    continue  # an earlier import of the same file
                try:
                    self._rate(name, given, units, rated)
                except UsageError as error:
                    raise DataError(f"{given.place}: {error} Nothing of the file is stored.") from error
                done += 1
        return done

    def _rate(
        self,
        name: str,
        given: ImportedRating,
        units: Mapping[str, RatingUnit],
        rated: dict[str, dict[str, _UnitRatings]],
    ) -> None:
        """Store a rating, and add it to `rated`."""
        unit = units.get(given.unit)
        if unit is None:
            raise UsageError(f"There is no {given.unit!r} to rate.")
        if unit.writer.casefold() == name.casefold():
            raise UsageError(f"{name} wrote {unit.id}, which others rate.")
        self._find_task(given.task)
        own = rated.setdefault(unit.id, {}).get(name, _UnitRatings(0))
        wanted = self._find_next_task(unit, own.steps)
        if wanted is None:
            raise UsageError(f"{name} has rated {unit.id} already.")
        if wanted.name != given.task:
            raise UsageError(f"{name} rates {unit.id} in {wanted.name} next, not in {given.task}.")
        if not 1 <= given.step <= len(wanted.steps):
            raise UsageError(f"{given.task} has the steps 1 to {len(wanted.steps)}, not {given.step}.")
        comment = given.comment.strip()
        findings = self._store_proposals(unit, name, given.proposed, comment) if given.proposed else []
        self.store.add_rating(unit, given.task, name, given.step, comment, findings)
        own.steps[given.task] = given.step
        rated[unit.id][name] = own
        if self._find_next_task(unit, own.steps) is None:
            self.store.free_rating_slots(name, unit.id)

    def _index_units(self) -> dict[str, RatingUnit]:
        return {unit.id: unit for unit in self.store.units()}

    def _store_proposals(self, unit: RatingUnit, rater: str, proposed: Mapping[str, str], comment: str) -> list[int]:
        if self._propose is None:
            raise UsageError("The texts of a sample are not edited, so no other text can be proposed.")
        for name, text in proposed.items():
            if name not in unit.texts:
                raise UsageError(f"{unit.id} has no text {name!r}, only {', '.join(unit.texts)}.")
            if not text.strip():
                raise UsageError(f"The text that is proposed for {name} of {unit.id} is empty.")
        changed = {name: text.strip() for name, text in proposed.items() if text.strip() != unit.texts[name]}
        return self._propose(unit, rater, changed, comment) if changed else []

    def undo(self, rater: str) -> StoredRating:
        """Withdraw the rater's last rating, unless they have seen the label since, so that it would not be blind."""
        name = self._find_rater(rater)
        with self.store.begin_transaction():
            own = [rating for rating in self.store.list_ratings() if rating.rater == name]
            if not own:
                raise UsageError(f"{name} has no rating to undo.")
            last = own[-1]
            unit = next(unit for unit in self.store.units() if unit.id == last.unit)
            rated = self._group_ratings()[last.unit][name].steps if last.shown == unit.shown else {}
            asked = self._find_next_task(unit, rated)
            if not self._find_task(last.task).label_shown and asked and asked.label_shown:
                raise UsageError(f"The label of {last.unit} was shown to {name} after this rating, so it stands.")
            self.store.undo_rating(last.number)
        return last

    def compute_results(self) -> RatingResult:
        """Outcomes, agreement and the number of ratings by rater."""
        rated = self._group_ratings()
        outcomes = {unit.id: self._outcome(unit, rated.get(unit.id, {})) for unit in self.store.units()}
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

    def steps(self, task: str) -> dict[str, dict[str, int]]:
        """The ratings in a task by unit and rater."""
        return {
            unit: {name: rating.steps[task] for name, rating in own.items() if task in rating.steps}
            for unit, own in self._group_ratings().items()
        }

    def _find_rater(self, name: str) -> str:
        """The rater's name as it was first given: upper and lower case are the same."""
        if not name.strip():
            raise UsageError("A rater needs a name.")
        for known in self.store.raters():
            if known.casefold() == name.strip().casefold():
                return known
        return name.strip()

    def _find_task(self, name: str) -> RatingTask:
        for task in self.plan.tasks:
            if task.name == name:
                return task
        raise UsageError(f"There is no task {name!r}, only {', '.join(task.name for task in self.plan.tasks)}.")

    def _group_ratings(self) -> dict[str, dict[str, _UnitRatings]]:
        """By unit and rater, the ratings of the texts that the unit has now."""
        shown = {unit.id: unit.shown for unit in self.store.units()}
        found: dict[str, dict[str, _UnitRatings]] = {}
        for rating in self.store.list_ratings():
            if shown.get(rating.unit) == rating.shown:
                own = found.setdefault(rating.unit, {}).setdefault(rating.rater, _UnitRatings(rating.number))
                own.steps[rating.task] = rating.step
        return found

    def _find_next_task(self, unit: RatingUnit, steps: Mapping[str, int]) -> RatingTask | None:
        for task in self.plan.tasks:
            if task.name in steps:
                continue
            if task.only_wrong and steps.get(self.plan.tasks[0].name) in unit.fitting:
                continue
            return task
        return None

    def _wanted(self, unit: RatingUnit, rated: Mapping[str, _UnitRatings]) -> int:
        """How many raters a unit should have."""
        if not self.plan.second_decides:
            return self.plan.raters
        first = min(rated.values(), key=lambda own: own.first, default=None)
        return 2 if first and self._decide_verdict(unit, first) == "drop" else 1

    def _decide_verdict(self, unit: RatingUnit, own: _UnitRatings) -> RatingOutcome:
        """Whether a rater is for keeping the unit; against it as soon as one rating is."""
        for task in self.plan.tasks:
            keep = unit.fitting if task.keep == "label" else task.keep
            if task.name in own.steps and keep and own.steps[task.name] not in keep:
                return "drop"
        return "open" if self._find_next_task(unit, own.steps) else "keep"

    def _outcome(self, unit: RatingUnit, rated: Mapping[str, _UnitRatings]) -> RatingOutcome:
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
