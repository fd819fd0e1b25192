"""Projects of items that people write. For GEST, five writers wrote fifty sentences for each stereotype."""

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
from tiltmeter.making.project_store import ProjectItem
from tiltmeter.making.rating.rating_plan import RATING_FILE
from tiltmeter.making.timestamp import get_timestamp
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
    """A text to add as an item: its place in a file (empty if it is not from a file), its subject, and its values.

    The values are the fields of the form without id, language and subject. A GEST sentence also has the value
    `translation`.
    """

    place: str
    about: str
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class WrittenItem:
    """A written item in the project: its id, and the problems that the checks found.

    `is_new` is false if the item was already stored.
    """

    item: str
    findings: list[RepairFinding]
    is_new: bool = True


def create_written_project(
    folder: Path | str, form: str, *, language: str, source_language: str = "en", quota: int = 50
) -> Project:
    """Start a project of items that people write.

    GEST sentences are written in the source language, together with a translation into `language` that shows a gender.
    Items of other forms are written in `language`. `quota` is the number of items that each writer should write for
    each subject.
    """
    folder, name = Path(folder), get_form(form).name
    validate_new_folder(folder)
    for code in (language, source_language):
        if not is_language_code(code):
            raise UsageError(f"{code!r} is not a language code; use a code such as de or pt-BR.")
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
    """Return the writing plan of a project."""
    return read_writing_plan(project.folder / WRITING_FILE, project.settings.form)


def add_written_item(project: Project, writer: str, about: str, values: Mapping[str, object]) -> WrittenItem:
    """Store one written item about the subject `about`, and return it; see `add_written_items`."""
    try:
        return add_written_items(project, writer, [WrittenText("", about, values)])[0]
    except DataError as error:
        raise UsageError(str(error)) from error


def add_written_items(project: Project, writer: str, texts: Iterable[WrittenText]) -> list[WrittenItem]:
    """Store the items of a writer, and return them; findings of the checks become problems to review.

    If one text is invalid, nothing is stored. An item is not stored again if the writer has already written it about
    this subject.
    """
    plan = load_writing_plan(project)
    name = plan.find_writer(writer)
    done = []
    with project.store.begin_transaction():
        earlier = _find_earlier_items(project, name)
        for text in texts:
            try:
                done.append(_add_item(project, plan, name, text, earlier))
            except UsageError as error:
                message = f"{text.place}: {error} No item was stored." if text.place else str(error)
                raise DataError(message) from error
    return done


def _find_earlier_items(project: Project, writer: str) -> dict[tuple[str, str], str]:
    """Return the ids of a writer's items.

    The keys are the subject of an item and the item as a line of JSONL without the id.
    """
    return {
        (entry.subject, _remove_id(entry.original, entry.id)): entry.id
        for entry in project.store.list_items(dropped=None)
        if project.store.list_history(entry.id)[0].by == writer
    }


def _remove_id(line: str, item: str) -> str:
    return line.replace(json.dumps(item), '""', 1)


def _add_item(
    project: Project, plan: WritingPlan, name: str, text: WrittenText, earlier: dict[tuple[str, str], str]
) -> WrittenItem:
    subject, form = plan.find_subject(text.about), get_form(project.settings.form)
    fields = {key: value for key, value in text.values.items() if key != TRANSLATION}
    known = [key for key in form.keys if key not in ("id", "language")]
    if unknown := [key for key in fields if key not in known]:
        also = [TRANSLATION] if form.name == "gest" else []
        fields_of_form = ", ".join([*known, *also])
        raise UsageError(f"Items of the form {form.name} have no field {unknown[0]!r}, only {fields_of_form}.")
    fields |= _build_subject_fields(form, subject, str(fields.get("sub_stereotype", "")))
    item_id = f"w-{len(project.store.list_items(dropped=None)) + 1}"
    read = form.from_json({"id": item_id, "language": project.settings.source_language, **fields})
    problems = list(read.problems)
    item: Item | None = None
    if read.values is not None and not problems:
        item, problems = build_item(read.values)
    if item is None or problems:
        raise UsageError(f"The item is not a valid {form.name} item: {problems[0].message}.")
    line = format_line(item)
    key = (subject.key, _remove_id(line, item_id))
    if key in earlier:
        return WrittenItem(earlier[key], [], is_new=False)
    earlier[key] = item_id
    project.store.add_items([ProjectItem(item_id, form.part_of(item) or "", subject.key, line, line)])
    texts = {wanted.field: wanted.text for wanted in project.maker.list_texts_to_translate(item)}
    if TRANSLATION in texts:
        texts[TRANSLATION] = str(text.values.get(TRANSLATION, "")).strip()
    for field, content in texts.items():
        project.store.set_text(item_id, "text", field, content, step="source", by=name, why="written")
    findings = check_written_item(project, item_id, get_item_form(item).name, texts)
    project.store.replace_findings(item_id, "source", findings)
    project.store.set_stage(item_id, "repaired")
    return WrittenItem(item_id, findings)


def _build_subject_fields(form: Form[Any], subject: WritingSubject, sub: str) -> dict[str, object]:
    """Return the fields of an item that describe its subject.

    Raise a UsageError if the plan does not list the sub-stereotype `sub`.
    """
    if "stereotype" not in form.keys:
        return {form.subject: subject.key}
    if sub and sub not in subject.sub:
        listed = f"choose from {', '.join(subject.sub)}" if subject.sub else "its list `sub` is empty"
        raise UsageError(f"{sub!r} is not a sub-stereotype of {subject.key} in {WRITING_FILE}; {listed}.")
    number = int(subject.key)
    own = {} if number in STEREOTYPES else {"side": subject.side, "stereotype_name": subject.name}
    return {form.subject: number, **own}


def count_written_items(project: Project) -> Counter[tuple[str, str]]:
    """Return the number of items for each writer and subject, including dropped items."""
    counts: Counter[tuple[str, str]] = Counter()
    for entry in project.store.list_items(dropped=None):
        counts[project.store.list_history(entry.id)[0].by, entry.subject] += 1
    return counts
