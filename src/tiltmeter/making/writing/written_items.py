"""Items written by people: writers with quotas, checks of what they write, and ratings by others.

GEST was made like this: five writers wrote fifty English sentences for each of sixteen stereotypes, which others rated
without seeing the stereotype, and then with it.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tiltmeter
from tiltmeter.datasets.raw_records import build_item
from tiltmeter.datasets.readers.jsonl import format_line
from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms import Form, Item, get_form, get_item_form
from tiltmeter.forms.fields import is_language_code
from tiltmeter.forms.gest import STEREOTYPES
from tiltmeter.making.draft import RepairFinding
from tiltmeter.making.item_makers import TRANSLATION, WRITTEN
from tiltmeter.making.project import Project, validate_new_folder, write_project
from tiltmeter.making.project_settings import ProjectSettings
from tiltmeter.making.project_store import ProjectItem, get_timestamp
from tiltmeter.making.rating.rating_plan import RATING_FILE
from tiltmeter.making.writing.writing_checks import check_written_item
from tiltmeter.making.writing.writing_plan import (
    WRITING_FILE,
    WritingPlan,
    WritingSubject,
    build_default_plan,
    read_writing_plan,
)
from tiltmeter.making.writing.written_item_ratings import build_rating_plan


@dataclass(frozen=True, slots=True)
class WrittenText:
    """What somebody wrote: its place in a file, the subject, and the fields of the form's JSONL.

    Id, language and subject are set when it is stored; of a GEST sentence, `translation` is among the values.
    """

    place: str
    about: str
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class WrittenItem:
    """A written item as it was stored, and what the checks found; `is_new` is false if it was there before."""

    item: str
    findings: list[RepairFinding]
    is_new: bool = True


def create_written_project(
    folder: Path | str, form: str, *, language: str, source_language: str = "en", quota: int = 50
) -> Project:
    """Start a project of items that people write; the settings are written last.

    GEST sentences are written in the source language, with a translation into `language`, in which they show a gender;
    items of other forms are written in `language`.
    """
    folder, name = Path(folder), get_form(form).name
    validate_new_folder(folder)
    for code in (language, source_language):
        if not is_language_code(code):
            raise UsageError(f"{code!r} is not a language code such as de or pt-BR.")
    settings = ProjectSettings(
        source=WRITTEN,
        source_language=source_language if name == "gest" else language,
        language=language,
        form=name,
        makes=name,
        system=WRITTEN,
        created=get_timestamp(),
        tiltmeter=tiltmeter.__version__,
        prompts={},
    )
    files = {WRITING_FILE: build_default_plan(name, quota), RATING_FILE: build_rating_plan(name)}
    return write_project(folder, settings, (), files)


def load_writing_plan(project: Project) -> WritingPlan:
    """Who writes about what."""
    return read_writing_plan(project.folder / WRITING_FILE, project.settings.form)


def add_written_item(project: Project, writer: str, about: str, values: Mapping[str, object]) -> WrittenItem:
    """Store an item that somebody wrote; see `add_written_items`."""
    try:
        return add_written_items(project, writer, [WrittenText("", about, values)])[0]
    except DataError as error:
        raise UsageError(str(error)) from error


def add_written_items(project: Project, writer: str, texts: Iterable[WrittenText]) -> list[WrittenItem]:
    """Store items that somebody wrote, all of them or none; what the checks find is queued for review.

    An item that the same person has written about the same subject before is not stored again.
    """
    plan = load_writing_plan(project)
    name = plan.writer(writer)
    done = []
    with project.store.begin_transaction():
        earlier = _find_earlier_items(project, name)
        for text in texts:
            try:
                done.append(_add_item(project, plan, name, text, earlier))
            except UsageError as error:
                raise DataError(f"{text.place}: {error} Nothing is stored." if text.place else str(error)) from error
    return done


def _find_earlier_items(project: Project, writer: str) -> dict[tuple[str, str], str]:
    """The items that a writer has written, by subject and line of JSONL without the id."""
    return {
        (entry.subject, _without_id(entry.original, entry.id)): entry.id
        for entry in project.store.items(dropped=None)
        if project.store.list_history(entry.id)[0].by == writer
    }


def _without_id(line: str, item: str) -> str:
    return line.replace(json.dumps(item), '""', 1)


def _add_item(
    project: Project, plan: WritingPlan, name: str, text: WrittenText, earlier: dict[tuple[str, str], str]
) -> WrittenItem:
    subject, form = plan.subject(text.about), get_form(project.settings.form)
    fields = {key: value for key, value in text.values.items() if key != TRANSLATION}
    known = [key for key in form.keys if key not in ("id", "language")]
    if unknown := [key for key in fields if key not in known]:
        also = [TRANSLATION] if form.name == "gest" else []
        raise UsageError(f"An item of the form {form.name} has no {unknown[0]!r}, only {', '.join([*known, *also])}.")
    fields |= _build_subject_fields(form, subject, str(fields.get("sub_stereotype", "")))
    item_id = f"w-{len(project.store.items(dropped=None)) + 1}"
    read = form.from_json({"id": item_id, "language": project.settings.source_language, **fields})
    problems = list(read.problems)
    item: Item | None = None
    if read.values is not None and not problems:
        item, problems = build_item(read.values)
    if item is None or problems:
        raise UsageError(f"This is not an item of the form {form.name}: {problems[0].message}.")
    line = format_line(item)
    key = (subject.key, _without_id(line, item_id))
    if key in earlier:
        return WrittenItem(earlier[key], [], is_new=False)
    earlier[key] = item_id
    project.store.append_item(ProjectItem(item_id, form.part_of(item) or "", subject.key, line, line))
    texts = {wanted.field: wanted.text for wanted in project.maker.wanted(item)}
    if TRANSLATION in texts:
        texts[TRANSLATION] = str(text.values.get(TRANSLATION, "")).strip()
    for field, content in texts.items():
        project.store.set_text(item_id, "text", field, content, step="source", by=name, why="written")
    findings = check_written_item(project, item_id, get_item_form(item).name, texts)
    project.store.replace_findings(item_id, "source", findings)
    project.store.set_stage(item_id, "repaired")
    return WrittenItem(item_id, findings)


def _build_subject_fields(form: Form[Any], subject: WritingSubject, sub: str) -> dict[str, object]:
    """The fields of an item that say what it is about; a sub-stereotype has to be one that the plan lists."""
    if "stereotype" not in form.keys:
        return {form.subject: subject.key}
    if sub and sub not in subject.sub:
        listed = f"its `sub` names {', '.join(subject.sub)}" if subject.sub else "it has no `sub`"
        raise UsageError(f"{sub!r} is no sub-stereotype of {subject.key} in {WRITING_FILE}: {listed}.")
    number = int(subject.key)
    own = {} if number in STEREOTYPES else {"side": subject.side, "stereotype_name": subject.name}
    return {form.subject: number, **own}


def count_written(project: Project) -> Counter[tuple[str, str]]:
    """How many items each writer has written about each subject, those dropped since included."""
    counts: Counter[tuple[str, str]] = Counter()
    for entry in project.store.items(dropped=None):
        counts[project.store.list_history(entry.id)[0].by, entry.subject] += 1
    return counts
