"""Rating tasks: people rate texts on declared scales, at first without seeing the label, then with it.

GEST's sentences were rated like this: which gender a sentence is typical of, without seeing its stereotype, and then
whether it fits the stereotype, both in five steps. If the first rater disagreed in either, a second one decided.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tiltmeter.errors import DataError, UsageError
from tiltmeter.making.rating_tables import RatingTables, RatingUnit, StoredRating
from tiltmeter.making.reliability import LEVELS, Agreement, Level, krippendorff_alpha

RATING_FILE = "rating.toml"
RatingOutcome = Literal["open", "keep", "drop"]


@dataclass(frozen=True, slots=True)
class RatingTask:
    """A question with a scale.

    `label_shown` says whether the rater sees the label. `keep` are the steps for which a unit is kept: numbers from 1,
    `label` for those that go with the unit's label, empty for all. With `only_wrong` the question is asked only if the
    rating in the first task does not go with the label.
    """

    name: str
    question: str
    steps: tuple[str, ...]
    level: Level = "ordinal"
    label_shown: bool = False
    keep: tuple[int, ...] | Literal["label"] = ()
    only_wrong: bool = False


@dataclass(frozen=True, slots=True)
class RatingPlan:
    """The tasks of a rating in their order, and the rule: `agree` of `raters` have to be for keeping a unit.

    With `second_decides`, one rater is asked, and where they are against it, a second one, who decides.
    """

    tasks: tuple[RatingTask, ...]
    raters: int = 1
    agree: int = 1
    second_decides: bool = False
    about: str = ""


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


@dataclass(slots=True)
class _Rated:
    """The ratings of one rater on one unit: steps by task, and the number of the first rating."""

    first: int
    steps: dict[str, int] = field(default_factory=dict)


class Rating:
    """A rating in progress."""

    def __init__(self, store: RatingTables, plan: RatingPlan) -> None:
        self.store = store
        self.plan = plan

    def next_question(self, rater: str, *, task: str | None = None) -> RatingQuestion | None:
        """What the rater is asked next, of one task or of any; None if nothing is left for them."""
        return next(iter(self.questions(_name(rater), task)), None)

    def questions(self, rater: str, task: str | None = None) -> list[RatingQuestion]:
        """All that the rater can be asked now: of each unit the next task. Units that they have begun come first."""
        name = _name(rater)
        rated = self._rated()
        begun: list[RatingQuestion] = []
        fresh: list[RatingQuestion] = []
        for unit in self.store.units():
            own = rated.get(unit.id, {}).get(name)
            if own is None and len(rated.get(unit.id, {})) >= self._wanted(unit, rated.get(unit.id, {})):
                continue
            next_task = self._next_task(unit, own.steps if own else {})
            if next_task is not None and task in (None, next_task.name):
                label = unit.label if next_task.label_shown else None
                question = RatingQuestion(unit.id, unit.texts, next_task, label, unit.part)
                (begun if own else fresh).append(question)
        return [*begun, *fresh]

    def rate(self, rater: str, unit: str, task: str, step: int, comment: str = "") -> None:
        """Rate a unit in the task that comes next; one transaction."""
        name = _name(rater)
        with self.store.transaction():
            known = {entry.id: entry for entry in self.store.units()}
            if unit not in known:
                raise UsageError(f"There is no {unit!r} to rate.")
            own = self._rated().get(unit, {}).get(name)
            wanted = self._next_task(known[unit], own.steps if own else {})
            if wanted is None:
                raise UsageError(f"{name} has rated {unit} already.")
            if wanted.name != task:
                raise UsageError(f"{name} rates {unit} in {wanted.name} next, not in {task}.")
            if not 1 <= step <= len(wanted.steps):
                raise UsageError(f"{task} has the steps 1 to {len(wanted.steps)}, not {step}.")
            self.store.add_rating(known[unit], task, name, step, comment.strip())

    def undo(self, rater: str) -> StoredRating:
        """Withdraw the rater's last rating, unless they have seen the label since, so that it would not be blind."""
        name = _name(rater)
        with self.store.transaction():
            own = [rating for rating in self.store.ratings() if rating.rater == name]
            if not own:
                raise UsageError(f"{name} has no rating to undo.")
            last = own[-1]
            unit = next(unit for unit in self.store.units() if unit.id == last.unit)
            rated = self._rated()[last.unit][name].steps if last.shown == unit.shown else {}
            asked = self._next_task(unit, rated)
            if not self._task(last.task).label_shown and asked and asked.label_shown:
                raise UsageError(f"The label of {last.unit} was shown to {name} after this rating, so it stands.")
            self.store.undo_rating(last.number)
        return last

    def results(self) -> RatingResult:
        """Outcomes, agreement and the number of ratings by rater."""
        rated = self._rated()
        outcomes = {unit.id: self._outcome(unit, rated.get(unit.id, {})) for unit in self.store.units()}
        agreement = {}
        for task in self.plan.tasks:
            names = sorted({name for own in rated.values() for name in own})
            rows = [
                [own[name].steps.get(task.name) if name in own else None for name in names] for own in rated.values()
            ]
            agreement[task.name] = krippendorff_alpha(rows, task.level, key=task.name)
        raters: dict[str, int] = {}
        for own in rated.values():
            for name, rating in own.items():
                raters[name] = raters.get(name, 0) + len(rating.steps)
        return RatingResult(outcomes, agreement, dict(sorted(raters.items())))

    def steps(self, task: str) -> dict[str, dict[str, int]]:
        """The ratings in a task by unit and rater."""
        return {
            unit: {name: rating.steps[task] for name, rating in own.items() if task in rating.steps}
            for unit, own in self._rated().items()
        }

    def _task(self, name: str) -> RatingTask:
        for task in self.plan.tasks:
            if task.name == name:
                return task
        raise UsageError(f"There is no task {name!r}, only {', '.join(task.name for task in self.plan.tasks)}.")

    def _rated(self) -> dict[str, dict[str, _Rated]]:
        """By unit and rater, the ratings of the texts that the unit has now."""
        shown = {unit.id: unit.shown for unit in self.store.units()}
        found: dict[str, dict[str, _Rated]] = {}
        for rating in self.store.ratings():
            if shown.get(rating.unit) == rating.shown:
                own = found.setdefault(rating.unit, {}).setdefault(rating.rater, _Rated(rating.number))
                own.steps[rating.task] = rating.step
        return found

    def _next_task(self, unit: RatingUnit, steps: Mapping[str, int]) -> RatingTask | None:
        for task in self.plan.tasks:
            if task.name in steps:
                continue
            if task.only_wrong and steps.get(self.plan.tasks[0].name) in unit.fitting:
                continue
            return task
        return None

    def _wanted(self, unit: RatingUnit, rated: Mapping[str, _Rated]) -> int:
        """How many raters a unit should have."""
        if not self.plan.second_decides:
            return self.plan.raters
        first = min(rated.values(), key=lambda own: own.first, default=None)
        return 2 if first and self._verdict(unit, first) == "drop" else 1

    def _verdict(self, unit: RatingUnit, own: _Rated) -> RatingOutcome:
        """Whether a rater is for keeping the unit; against it as soon as one rating is."""
        for task in self.plan.tasks:
            keep = unit.fitting if task.keep == "label" else task.keep
            if task.name in own.steps and keep and own.steps[task.name] not in keep:
                return "drop"
        return "open" if self._next_task(unit, own.steps) else "keep"

    def _outcome(self, unit: RatingUnit, rated: Mapping[str, _Rated]) -> RatingOutcome:
        in_order = sorted(rated.values(), key=lambda own: own.first)
        verdicts = [self._verdict(unit, own) for own in in_order]
        if self.plan.second_decides:
            if verdicts[:1] == ["drop"]:
                return verdicts[1] if len(verdicts) > 1 else "open"
            return verdicts[0] if verdicts else "open"
        if verdicts.count("keep") >= self.plan.agree:
            return "keep"
        undecided = max(0, self.plan.raters - verdicts.count("keep") - verdicts.count("drop"))
        return "open" if verdicts.count("keep") + undecided >= self.plan.agree else "drop"


def read_plan(path: Path) -> RatingPlan:
    """The plan in a TOML file."""
    try:
        values: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        tasks = tuple(_read_task(path, entry) for entry in values.pop("tasks", ()))
        plan = RatingPlan(tasks, **values)
    except FileNotFoundError as error:
        raise UsageError(f"There is no file {path}, which declares what is rated.") from error
    except (tomllib.TOMLDecodeError, TypeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}.") from error
    if not plan.tasks:
        raise DataError(f"{path} has no [[tasks]], so there is nothing to rate.")
    if not 1 <= plan.agree <= plan.raters:
        raise DataError(f"{path}: {plan.agree} of {plan.raters} raters cannot agree.")
    return plan


def _read_task(path: Path, values: dict[str, Any]) -> RatingTask:
    values = {**values, "steps": tuple(values.get("steps", ()))}
    if isinstance(values.get("keep"), list):
        values["keep"] = tuple(values["keep"])
    task = RatingTask(**values)
    if len(task.steps) < 2:
        raise DataError(f"{path}: the task {task.name} has a scale of fewer than two steps.")
    if task.level not in LEVELS:
        raise DataError(f"{path}: the level of {task.name} is {task.level!r}; choose {', '.join(LEVELS)}.")
    if task.keep != "label" and any(not 1 <= step <= len(task.steps) for step in task.keep):
        raise DataError(f"{path}: `keep` of {task.name} should be `label`, or steps from 1 to {len(task.steps)}.")
    return task


def _name(rater: str) -> str:
    if not rater.strip():
        raise UsageError("A rater needs a name.")
    return rater.strip()
