"""`writing.toml`: who writes, how many items, and about what: stereotypes with their side and sub-stereotypes."""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tiltmeter.errors import DataError, UsageError
from tiltmeter.files import write_text
from tiltmeter.forms.gest import HIGHEST, STEREOTYPES, gest_side

WRITING_FILE = "writing.toml"
Side = Literal["", "feminine", "masculine"]


@dataclass(frozen=True, slots=True)
class WritingSubject:
    """What items are written about: a stereotype with its side and sub-stereotypes, or a target.

    `key` is the number of a stereotype, or the name of a target; `quota` the items that each writer should write.
    """

    key: str
    name: str
    quota: int
    side: Side = ""
    sub: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WritingPlan:
    """The contents of `writing.toml`."""

    writers: tuple[str, ...]
    subjects: tuple[WritingSubject, ...]

    def subject(self, key: str) -> WritingSubject:
        """The subject with this number or name."""
        for subject in self.subjects:
            if key.strip().casefold() in (subject.key.casefold(), subject.name.casefold()):
                return subject
        known = ", ".join(subject.key for subject in self.subjects)
        raise UsageError(f"{key!r} is not what {WRITING_FILE} asks for; it names {known}.")

    def writer(self, name: str) -> str:
        """The writer's name as it is in the plan."""
        for known in self.writers:
            if known.casefold() == name.strip().casefold():
                return known
        raise UsageError(f"{name!r} is not one of the `writers` in {WRITING_FILE}; add them there.")


def read_writing_plan(path: Path, form: str) -> WritingPlan:
    """The plan in a file."""
    try:
        values: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        quota = int(values.get("quota", 50))
        subjects = tuple(_subject(path, entry, quota, form) for entry in values.get("subjects", ()))
        plan = WritingPlan(tuple(map(str, values.get("writers", ()))), subjects)
    except FileNotFoundError as error:
        raise UsageError(f"{path.parent} is not a project of written items: it has no {path.name}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}.") from error
    if not plan.subjects:
        raise DataError(f"{path} has no [[subjects]] to write about.")
    keys = [subject.key for subject in plan.subjects]
    if repeated := [key for key in keys if keys.count(key) > 1]:
        raise DataError(f"{path} has the subject {repeated[0]} twice.")
    return plan


def _subject(path: Path, values: dict[str, Any], quota: int, form: str) -> WritingSubject:
    name, side = str(values["name"]), values.get("side", "")
    if form not in ("gest", "gendered-pairs"):
        return WritingSubject(name, name, int(values.get("quota", quota)), sub=tuple(values.get("sub", ())))
    number = int(values["number"])
    if not 1 <= number <= HIGHEST:
        raise DataError(f"{path}: the number of a stereotype should be from 1 to {HIGHEST:,}, and is {number}.")
    if side not in ("feminine", "masculine"):
        raise DataError(f"{path}: the side of stereotype {number} should be feminine or masculine, and is {side!r}.")
    if number in STEREOTYPES and side != (known := gest_side(number)):
        raise DataError(
            f"{path}: stereotype {number} is one of GEST's, and {known}; give one of your own a number from 17."
        )
    return WritingSubject(str(number), name, int(values.get("quota", quota)), side, tuple(values.get("sub", ())))


def write_default_plan(path: Path, form: str, quota: int) -> None:
    """Write a plan to be edited: of GEST forms with the sixteen stereotypes, of others with one subject."""
    lines = [
        "# Who writes, how many items each of them for each subject, and about what.",
        "writers = []",
        f"quota = {quota}",
    ]
    if form in ("gest", "gendered-pairs"):
        lines += ["", "# Stereotypes of your own have numbers from 17. `sub` lists what belongs to a stereotype."]
        for number, name in STEREOTYPES.items():
            lines += ["", "[[subjects]]", f"number = {number}", f"name = {json.dumps(name)}"]
            lines += [f'side = "{gest_side(number)}"', "sub = []"]
    else:
        lines += ["", "# The targets to write about; `quota` may be set for each.", "[[subjects]]", 'name = "cook"']
    write_text(path, "\n".join(lines) + "\n")
