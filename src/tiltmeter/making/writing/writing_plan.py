"""`writing.toml`: the writers, their quotas, and the subjects to write about."""

import json
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms.gest import HIGHEST, STEREOTYPES, get_gest_side
from tiltmeter.making.toml_values import TomlTable, read_toml

WRITING_FILE = "writing.toml"
Side = Literal["", "feminine", "masculine"]
_SIDES: tuple[Side, ...] = ("feminine", "masculine")


@dataclass(frozen=True, slots=True)
class WritingSubject:
    """A subject to write about: a stereotype with its side and sub-stereotypes, or a target.

    `key` is the number of a stereotype, or the name of a target. `quota` is the number of items that each writer should
    write about the subject. `side` is the gender to which a stereotype refers.
    """

    key: str
    name: str
    quota: int
    side: Side = ""
    sub: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WritingPlan:
    """The contents of `writing.toml`: the names of the writers, and the subjects to write about."""

    writers: tuple[str, ...]
    subjects: tuple[WritingSubject, ...]

    def find_subject(self, key: str) -> WritingSubject:
        """Return the subject with this key or name; raise a UsageError if the plan has no such subject."""
        for subject in self.subjects:
            if key.strip().casefold() in (subject.key.casefold(), subject.name.casefold()):
                return subject
        known = ", ".join(subject.key for subject in self.subjects)
        raise UsageError(f"{key!r} is not a subject in {WRITING_FILE}; choose from {known}.")

    def find_writer(self, name: str) -> str:
        """Return the writer's name as it is spelled in the plan; raise a UsageError if the plan does not list it."""
        for known in self.writers:
            if known.casefold() == name.strip().casefold():
                return known
        raise UsageError(f"{name!r} is not one of the `writers` in {WRITING_FILE}; add the name there.")


def read_writing_plan(path: Path, form: str) -> WritingPlan:
    """Read a writing plan from a TOML file."""
    if not path.is_file():
        raise UsageError(f"{path.parent} is not a project of written items: it has no {path.name}.")
    table = read_toml(path)
    table.reject_unknown_keys(("writers", "quota", "subjects"))
    quota = table.read_integer("quota", 50, least=1)
    subjects = tuple(_parse_subject(entry, quota, form) for entry in table.read_tables("subjects"))
    plan = WritingPlan(table.read_texts("writers"), subjects)
    if not plan.subjects:
        raise DataError(f"{path} has no [[subjects]]; add at least one subject.")
    keys = [subject.key for subject in plan.subjects]
    if repeated := [key for key in keys if keys.count(key) > 1]:
        raise DataError(f"{path} has the subject {repeated[0]} twice; remove one of them.")
    return plan


def _parse_subject(table: TomlTable, quota: int, form: str) -> WritingSubject:
    name, quota, sub = table.read_text("name"), table.read_integer("quota", quota, least=1), table.read_texts("sub")
    if form not in ("gest", "gendered-pairs"):
        table.reject_unknown_keys(("name", "quota", "sub"))
        return WritingSubject(name, name, quota, sub=sub)
    table.reject_unknown_keys(("number", "name", "side", "quota", "sub"))
    number, named = table.read_integer("number", least=1), table.read_text("side", "")
    if number > HIGHEST:
        raise table.build_error("number", f"a whole number from 1 to {HIGHEST:,}")
    side = next((side for side in _SIDES if side == named), None)
    if side is None:
        raise table.build_error("side", "feminine or masculine")
    if number in STEREOTYPES and side != (known := get_gest_side(number)):
        raise DataError(
            f"{table.path}: stereotype {number} belongs to GEST, and its side is {known}; use numbers from 17 for your "
            "own stereotypes."
        )
    return WritingSubject(str(number), name, quota, side, sub)


def build_default_plan(form: str, quota: int) -> str:
    """Return a writing plan that users can edit, as TOML.

    For GEST forms, its subjects are the sixteen stereotypes of GEST. For other forms, it has one subject as an example.
    """
    lines = [
        '# The writers, for example ["Ana", "Eva"], and the number of items that each writes for each subject.',
        "writers = []",
        f"quota = {quota}",
    ]
    if form in ("gest", "gendered-pairs"):
        lines += ["", "# Your own stereotypes have numbers from 17. `sub` lists the sub-stereotypes of a stereotype."]
        sub_stereotypes = tomllib.loads(files(__package__).joinpath("sub_stereotypes.toml").read_text(encoding="utf-8"))
        for number, name in STEREOTYPES.items():
            lines += ["", "[[subjects]]", f"number = {number}", f"name = {json.dumps(name)}"]
            lines += [f'side = "{get_gest_side(number)}"', f"sub = {json.dumps(sub_stereotypes[str(number)])}"]
    else:
        lines += ["", "# The targets to write about; each may have its own `quota`.", "[[subjects]]", 'name = "cook"']
    return "\n".join(lines) + "\n"
