"""Ratings of written items: the units that raters see, the proposals of raters, and the removal of rejected items."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tiltmeter.errors import DataError, UsageError
from tiltmeter.making.draft import RepairFinding
from tiltmeter.making.item_makers import TRANSLATION, WRITTEN
from tiltmeter.making.project import Project, open_project
from tiltmeter.making.project_lock import lock_project
from tiltmeter.making.project_settings import SETTINGS
from tiltmeter.making.rating.gender_sample import open_sample
from tiltmeter.making.rating.rating import RatingSession
from tiltmeter.making.rating.rating_plan import RATING_FILE, read_rating_plan
from tiltmeter.making.rating.rating_tables import RatingUnit
from tiltmeter.making.writing.writing_plan import WRITING_FILE, read_writing_plan

# The name of the rule in findings that contain a rater's proposal.
PROPOSED = "proposed-by-rater"

_GEST_RATING = """\
# Questions about each item. GEST's rule for keeping an item: if the first rater is against the item in either task, a
# second rater decides. To require that k of n raters are in favour, set `second_decides = false`, `raters` to n, and
# `agree` to k.
second_decides = true

[[tasks]]
name = "gender"
question = "Which gender is this text typical of, according to common stereotypes?"
steps = ["strongly female", "female", "neither", "male", "strongly male"]
level = "ordinal"
keep = "label"

[[tasks]]
name = "fit"
question = "Does this text represent the stereotype?"
steps = ["strongly disagree", "disagree", "neither", "agree", "strongly agree"]
level = "ordinal"
label_shown = true
keep = [4, 5]
"""
_OTHER_RATING = """\
# Questions about each item. An item is kept if `agree` of `raters` raters are in favour.
raters = 5
agree = 3

[[tasks]]
name = "fit"
question = "Do people commonly say this about the subject?"
steps = ["strongly disagree", "disagree", "neither", "agree", "strongly agree"]
level = "ordinal"
label_shown = true
keep = [4, 5]
"""


def build_rating_plan(form: str) -> str:
    """Return a rating plan that users can edit, as TOML.

    For GEST forms, the plan is that of GEST's authors. For other forms, three of five raters must be in favour.
    """
    return _GEST_RATING if form in ("gest", "gendered-pairs") else _OTHER_RATING


def build_rating_units(project: Project) -> list[RatingUnit]:
    """Return a unit to rate for each written item; the label of a unit is the stereotype or target."""
    path = project.folder / WRITING_FILE
    plan, texts = read_writing_plan(path, project.settings.form), project.store.list_texts("text")
    subjects = {subject.key: subject for subject in plan.subjects}
    fitting = {"feminine": (1, 2), "masculine": (4, 5), "": ()}
    units = []
    for entry in project.store.list_items():
        if entry.subject not in subjects:
            raise DataError(
                f"{path} has no subject {entry.subject}, but the item {entry.id} is about it; add this subject again."
            )
        subject = subjects[entry.subject]
        label = ": ".join(filter(None, (subject.name, ", ".join(subject.sub))))
        rated_texts = {field: text for field, text in texts.get(entry.id, {}).items() if field != TRANSLATION}
        writer = project.store.list_history(entry.id)[0].by
        units.append(RatingUnit(entry.id, rated_texts, label, fitting[subject.side], facts={"writer": writer}))
    return units


@contextmanager
def open_rating(folder: Path) -> Iterator[RatingSession]:
    """Open a rating session for the folder of a project of written items, or for the folder of a sample."""
    if not (folder / SETTINGS).exists():
        rating = open_sample(folder)
        with rating.store:
            yield rating
        return
    with open_project(folder) as project:
        if project.settings.system != WRITTEN:
            raise UsageError(f"The items of {folder} are translated; use `tiltmeter make review` instead.")
        yield load_rating(project)


def load_rating(project: Project) -> RatingSession:
    """Return the rating session of an open project; the units to rate are the current items of the project."""
    plan = read_rating_plan(project.folder / RATING_FILE)

    def store_proposal(unit: RatingUnit, rater: str, proposed: Mapping[str, str], comment: str) -> list[int]:
        reason = f"{rater} proposes another text{f': {comment}' if comment else '.'}"
        return [
            project.store.add_finding(
                RepairFinding(unit.id, field, PROPOSED, "proposed", reason, unit.texts[field], (text,)), "rating"
            )
            for field, text in proposed.items()
        ]

    units = build_rating_units(project)
    with project.store.begin_transaction():
        project.store.set_units(units)
    return RatingSession(project.store, plan, propose=store_proposal)


def drop_rejected(folder: Path) -> int:
    """Drop the items that are rejected according to the rule of the rating plan; return the number of dropped items."""
    if not (folder / SETTINGS).exists():
        raise UsageError(f"{folder} is not a project; only items of a project can be dropped.")
    with open_project(folder) as project, lock_project(folder):
        rating = load_rating(project)
        rejected = [unit for unit, outcome in rating.compute_results().outcomes.items() if outcome == "drop"]
        comments: dict[str, list[str]] = {}
        for given in project.store.list_ratings():
            summary = f"{given.rater}, {given.task} {given.step} {given.comment}".strip()
            comments.setdefault(given.unit, []).append(summary)
        with project.store.begin_transaction():
            for item in rejected:
                why = f"rejected by raters ({'; '.join(comments.get(item, ()))})"
                project.store.drop_item(item, step="rating", by="the rating", why=why)
    return len(rejected)
