"""Items written by people: writers with quotas, checks of what they write, and ratings by others.

GEST was made like this: five writers wrote fifty English sentences for each of sixteen stereotypes, which others rated
without seeing the stereotype, and then with it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tiltmeter
from tiltmeter.datasets.raw_records import build
from tiltmeter.datasets.readers.jsonl import to_line
from tiltmeter.errors import UsageError
from tiltmeter.files import write_text
from tiltmeter.forms import Form, Item, form_named, form_of
from tiltmeter.forms.fields import is_language
from tiltmeter.forms.gest import STEREOTYPES
from tiltmeter.making.draft import RepairFinding
from tiltmeter.making.gender_sample import RATINGS
from tiltmeter.making.item_makers import TRANSLATION, WRITTEN
from tiltmeter.making.project import DATABASE, SETTINGS, Project, Settings, open_project, write_settings
from tiltmeter.making.rating import RATING_FILE, Rating, read_plan
from tiltmeter.making.rating_tables import RatingStore, RatingUnit
from tiltmeter.making.store import ProjectItem, ProjectStore, now
from tiltmeter.making.writing_checks import check_written
from tiltmeter.making.writing_plan import (
    WRITING_FILE,
    WritingPlan,
    WritingSubject,
    read_writing_plan,
    write_default_plan,
)

_GEST_RATING = """\
# What raters are asked about each item, and when it is kept. GEST's rule: where the first rater is against an item in
# either task, a second one decides. For k of n raters, set `second_decides = false`, `raters` and `agree`.
second_decides = true

[[tasks]]
name = "gender"
question = "Of which gender is this typical, in common stereotypes?"
steps = ["strongly female", "female", "neither", "male", "strongly male"]
level = "ordinal"
keep = "label"

[[tasks]]
name = "fit"
question = "Does it represent the stereotype?"
steps = ["strongly disagree", "disagree", "neither", "agree", "strongly agree"]
level = "ordinal"
label_shown = true
keep = [4, 5]
"""
_OTHER_RATING = """\
# What raters are asked about each item, and when it is kept: `agree` of `raters` have to be for it.
raters = 5
agree = 3

[[tasks]]
name = "fit"
question = "Is it what people commonly say about the subject?"
steps = ["strongly disagree", "disagree", "neither", "agree", "strongly agree"]
level = "ordinal"
label_shown = true
keep = [4, 5]
"""


@dataclass(frozen=True, slots=True)
class Written:
    """A written item as it was stored, and what the checks found."""

    item: str
    findings: list[RepairFinding]


def new_written_project(
    folder: Path | str, form: str, *, language: str, source_language: str = "en", quota: int = 50
) -> Project:
    """Start a project of items that people write; the settings are written last.

    GEST sentences are written in the source language, with a translation into `language`, in which they show a gender;
    items of other forms are written in `language`.
    """
    folder, name = Path(folder), form_named(form).name
    if (folder / SETTINGS).exists():
        raise UsageError(f"{folder} is a project already; choose another folder, or go on with it.")
    for code in (language, source_language):
        if not is_language(code):
            raise UsageError(f"{code!r} is not a language code such as de or pt-BR.")
    settings = Settings(
        source=WRITTEN,
        source_language=source_language if name == "gest" else language,
        language=language,
        form=name,
        makes=name,
        system=WRITTEN,
        created=now(),
        tiltmeter=tiltmeter.__version__,
        prompts={},
    )
    folder.mkdir(parents=True, exist_ok=True)
    for leftover in folder.glob(f"{DATABASE}*"):  # of a start that was interrupted
        leftover.unlink()
    store = ProjectStore(folder / DATABASE)
    write_default_plan(folder / WRITING_FILE, name, quota)
    write_text(folder / RATING_FILE, _GEST_RATING if name in ("gest", "gendered-pairs") else _OTHER_RATING)
    write_settings(folder, settings)
    return Project(folder, settings, store)


def plan_of(project: Project) -> WritingPlan:
    """Who writes about what."""
    return read_writing_plan(project.folder / WRITING_FILE, project.settings.form)


def add_written(project: Project, writer: str, about: str, values: Mapping[str, object]) -> Written:
    """Store an item that somebody wrote, in one transaction; what the checks find is queued for review.

    `values` are the fields of the form's JSONL without id and language, which are set here, as is the subject; of a
    GEST sentence also `translation`. A `sub_stereotype` has to be one that the plan lists for the stereotype.
    """
    plan = plan_of(project)
    name, subject = plan.writer(writer), plan.subject(about)
    form = form_named(project.settings.form)
    fields = {key: value for key, value in values.items() if key != TRANSLATION}
    translation = str(values.get(TRANSLATION, "")).strip()
    fields |= _subject_fields(form, subject, str(fields.get("sub_stereotype", "")))
    with project.store.transaction():
        entries = project.store.items(dropped=None)
        item_id = f"w-{len(entries) + 1}"
        read = form.from_json({"id": item_id, "language": project.settings.source_language, **fields})
        problems = list(read.problems)
        item: Item | None = None
        if read.values is not None and not problems:
            item, problems = build(read.values)
        if item is None or problems:
            raise UsageError(f"This is not an item of the form {form.name}: {problems[0].message}.")
        line = to_line(item)
        part = form.part_of(item) or ""
        project.store.append_item(ProjectItem(item_id, part, subject.key, line, line))
        texts = {wanted.field: wanted.text for wanted in project.maker.wanted(item)}
        if TRANSLATION in texts:
            texts[TRANSLATION] = translation
        for field, text in texts.items():
            project.store.set_text(item_id, "text", field, text, step="source", by=name, why="written")
        findings = check_written(project, item_id, form_of(item).name, texts)
        project.store.replace_findings(item_id, "source", findings)
        project.store.set_stage(item_id, "repaired")
    return Written(item_id, findings)


def _subject_fields(form: Form[Any], subject: WritingSubject, sub: str) -> dict[str, object]:
    """The fields of an item that say what it is about."""
    if "stereotype" not in form.keys:
        return {form.subject: subject.key}
    if sub and sub not in subject.sub:
        listed = f"its `sub` names {', '.join(subject.sub)}" if subject.sub else "it has no `sub`"
        raise UsageError(f"{sub!r} is no sub-stereotype of {subject.key} in {WRITING_FILE}: {listed}.")
    number = int(subject.key)
    own = {} if number in STEREOTYPES else {"side": subject.side, "stereotype_name": subject.name}
    return {form.subject: number, **own}


def written_by(project: Project) -> Counter[tuple[str, str]]:
    """How many items each writer has written about each subject, those dropped since included."""
    counts: Counter[tuple[str, str]] = Counter()
    for entry in project.store.items(dropped=None):
        counts[project.store.history(entry.id)[0].by, entry.subject] += 1
    return counts


# Rating


def rating_units(project: Project) -> list[RatingUnit]:
    """The written items as raters see them: texts, with the stereotype or target as the label."""
    plan, texts = plan_of(project), project.store.texts("text")
    fitting = {"feminine": (1, 2), "masculine": (4, 5), "": ()}
    units = []
    for entry in project.store.items():
        subject = plan.subject(entry.subject)
        label = ": ".join(filter(None, (subject.name, ", ".join(subject.sub))))
        shown = {field: text for field, text in texts.get(entry.id, {}).items() if field != TRANSLATION}
        units.append(RatingUnit(entry.id, shown, label, fitting[subject.side]))
    return units


@contextmanager
def open_rating(folder: Path) -> Iterator[Rating]:
    """The rating of a project's written items, or of a sample."""
    plan = read_plan(folder / RATING_FILE)
    if (folder / SETTINGS).exists():
        with open_project(folder) as project:
            units = rating_units(project)
            with project.store.transaction():
                project.store.set_units(units)
            yield Rating(project.store, plan)
    else:
        with RatingStore(folder / RATINGS) as store:
            yield Rating(store, plan)


def drop_rejected(folder: Path) -> int:
    """Drop the items that raters are against, by the rule of the plan; how many."""
    if not (folder / SETTINGS).exists():
        raise UsageError(f"{folder} is not a project, so there is nothing to drop.")
    with open_rating(folder) as rating:
        rejected = [unit for unit, outcome in rating.results().outcomes.items() if outcome == "drop"]
        comments: dict[str, list[str]] = {}
        for given in rating.store.ratings():
            comments.setdefault(given.unit, []).append(
                f"{given.rater}, {given.task} {given.step} {given.comment}".strip()
            )
    with open_project(folder) as project:
        for item in rejected:
            with project.store.transaction():
                why = f"raters are against it ({'; '.join(comments.get(item, ()))})"
                project.store.drop(item, step="source", by="the rating", why=why)
    return len(rejected)
