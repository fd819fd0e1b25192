"""`rating.toml`: the questions for raters, their scales, and the rule for keeping a text."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal

from tiltmeter.errors import DataError, UsageError
from tiltmeter.making.reliability import LEVELS, Level
from tiltmeter.making.toml_values import TomlTable, read_toml

RATING_FILE = "rating.toml"


@dataclass(frozen=True, slots=True)
class RatingTask:
    """A question that raters answer on a scale.

    `steps` are the texts of the scale's steps. `label_shown` says whether the rater sees the label of the unit, such as
    a stereotype. `keep` has the numbers (from 1) of the steps that are in favour of keeping a unit; "label" means the
    steps that agree with the unit's label, and empty means all steps. With `only_wrong`, the question is asked only if
    the rating in the first task disagrees with the label.
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
    """The tasks of a rating in order, and the rule: a unit is kept if `agree` of `raters` raters are in favour.

    With `second_decides`, one rater is asked, and a second rater decides if the first is against keeping the unit.
    `population` is the number of units with each label in the data from which a sample was drawn. `about` is the kind
    of sample, "gender" or "pairs".
    """

    tasks: tuple[RatingTask, ...]
    raters: int = 1
    agree: int = 1
    second_decides: bool = False
    about: str = ""
    population: Mapping[str, int] = field(default_factory=dict)


def read_rating_plan(path: Path) -> RatingPlan:
    """Read a rating plan from a TOML file."""
    if not path.is_file():
        raise UsageError(
            f"{path.parent} has no {path.name}; only projects started with --from-scratch and samples of `tiltmeter "
            "gender sample` can be rated."
        )
    table = read_toml(path)
    table.reject_unknown_keys(entry.name for entry in fields(RatingPlan))
    tasks, population = tuple(map(_parse_task, table.read_tables("tasks"))), table.read_table("population")
    plan = RatingPlan(
        tasks,
        raters=table.read_integer("raters", 1, least=1),
        agree=table.read_integer("agree", 1, least=1),
        second_decides=table.read_bool("second_decides", default=False),
        about=table.read_text("about", ""),
        population={name: population.read_integer(name, least=0) for name in population.values},
    )
    if not tasks:
        raise DataError(f"{path} has no [[tasks]]; add at least one task.")
    names = [task.name for task in tasks]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise DataError(f"{path} has two tasks with the name {repeated[0]!r}; rename one of them.")
    if plan.agree > plan.raters:
        raise DataError(f"{path}: `agree` is {plan.agree}, but should be at most `raters` ({plan.raters}).")
    if plan.second_decides and plan.raters > 1:
        raise DataError(f"{path}: with `second_decides`, `raters` should be 1; remove one of the two settings.")
    return plan


def _parse_task(table: TomlTable) -> RatingTask:
    table.reject_unknown_keys(entry.name for entry in fields(RatingTask))
    steps = table.read_texts("steps")
    if len(steps) < 2:
        raise DataError(f"{table.path}: `steps` in {table.where} should have at least two steps.")
    named = table.read_text("level", "ordinal")
    level = next((level for level in LEVELS if level == named), None)
    if level is None:
        raise table.build_error("level", f"one of {', '.join(LEVELS)}")
    keep = table.values.get("keep", [])
    is_steps = isinstance(keep, list) and all(type(step) is int and 1 <= step <= len(steps) for step in keep)
    if keep != "label" and not is_steps:
        raise table.build_error("keep", f'"label", or a list of steps from 1 to {len(steps)}')
    return RatingTask(
        table.read_text("name"),
        table.read_text("question"),
        steps,
        level,
        table.read_bool("label_shown", default=False),
        "label" if keep == "label" else tuple(keep),
        table.read_bool("only_wrong", default=False),
    )
