"""Files for people who review in a spreadsheet or a translation program: CSV, XLSX and XLIFF.

A row is one text of one item. What comes back is compared with what went out, row by row: a text that was changed in
the project since the export is a conflict, and is named, not overwritten.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Literal

from tiltmeter.errors import UsageError
from tiltmeter.forms.blank import BLANK
from tiltmeter.making.exchange import csv_table, xliff, xlsx
from tiltmeter.making.exchange.text_rows import DECISIONS, TextRow
from tiltmeter.making.lock import step_lock
from tiltmeter.making.problems import Assembled, OpenProblem, assemble, examine_texts
from tiltmeter.making.project import Project
from tiltmeter.making.review.review_outcomes import follow_rule, record, reviewer_name, rule_of, shown_id, texts_before
from tiltmeter.making.review.review_rule import ReviewDecision, ReviewVerdict
from tiltmeter.making.step_end import end_step
from tiltmeter.making.store import ProjectItem

FileFormat = Literal["csv", "xlsx", "xliff"]
FORMATS: dict[FileFormat, ModuleType] = {"csv": csv_table, "xlsx": xlsx, "xliff": xliff}
SUFFIXES: dict[str, FileFormat] = {".csv": "csv", ".xlsx": "xlsx", ".xliff": "xliff", ".xlf": "xliff"}


@dataclass(frozen=True, slots=True)
class Conflict:
    """A row that was not applied, and why."""

    row: str
    item: str
    field: str
    reason: str

    def __str__(self) -> str:
        return f"{', '.join(filter(None, (self.row, self.item and f'item {self.item}', self.field)))}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did: items by verdict, changed texts, rows without a decision, and conflicts."""

    accepted: int
    edited: int
    dropped: int
    texts: int
    undecided: int
    conflicts: list[Conflict]


def format_of(path: Path, named: str | None = None) -> FileFormat:
    """The format of a file: as named, or by its suffix."""
    name = named or SUFFIXES.get(path.suffix.lower())
    for known in FORMATS:
        if name == known:
            return known
    raise UsageError(f"{named or path} is not one of the formats {', '.join(FORMATS)}.")


def export_project(project: Project, path: Path, *, format: FileFormat, everything: bool = False) -> int:
    """Write the texts of all items with something open, or of all items, for people to review; returns the rows."""
    rows = export_rows(project, everything=everything)
    if not rows:
        raise UsageError("Nothing is open, so there is nothing to export; --all exports all translated items.")
    settings = project.settings
    FORMATS[format].write(rows, path, source=settings.source_language, language=settings.language)
    return len(rows)


def export_rows(project: Project, *, everything: bool = False) -> list[TextRow]:
    """The texts of the items with something open, or of all translated items."""
    follow_rule(project)
    problems = _by_item(assemble(project))
    texts = project.store.texts("text")
    is_alone = rule_of(project).reviewers == 1
    rows: list[TextRow] = []
    for entry in project.store.items():
        if entry.stage == "source" or not (everything or entry.id in problems):
            continue
        wanted = [text for text in project.maker.wanted(project.source_item(entry)) if text.role != "filled"]
        # Several reviewers decide independently, each on the texts before the review.
        current = texts.get(entry.id, {}) if is_alone else texts_before(project, entry.id)
        known = {text.field for text in wanted}
        for text in wanted:
            own = [problem for problem in problems.get(entry.id, ()) if _row_field(problem, known) == text.field]
            rows.append(
                TextRow(
                    item=entry.id,
                    field=text.field,
                    about=entry.subject,
                    source=text.text,
                    translation=current.get(text.field, ""),
                    problem=" ".join(dict.fromkeys(f"{problem.reason}: {problem.message}" for problem in own)),
                    proposals=" | ".join(dict.fromkeys(text for problem in own for text in problem.proposals)),
                )
            )
    return rows


def import_project(project: Project, path: Path, *, format: FileFormat, reviewer: str) -> Imported:
    """Apply the decisions in a file, item by item; what conflicts is listed and left as it is."""
    if not reviewer.strip():
        raise UsageError("An import needs the reviewer's name; give it with --by.")
    if not path.is_file():
        raise UsageError(f"There is no file {path}.")
    rows: list[TextRow] = FORMATS[format].read(path, language=project.settings.language)
    with step_lock(project.folder):
        return _import(project, rows, reviewer_name(project, reviewer), path)


def _import(project: Project, rows: Sequence[TextRow], reviewer: str, path: Path) -> Imported:
    follow_rule(project)
    by_item: dict[str, list[TextRow]] = {}
    for row in rows:
        by_item.setdefault(row.item, []).append(row)
    verdicts = {"accept": 0, "edit": 0, "drop": 0, "": 0}
    changed = 0
    conflicts = [
        Conflict(row.place, "", row.field, "it has no item id; were cells merged? Each row needs its id")
        for row in by_item.pop("", ())
    ]
    problems = _by_item(assemble(project))
    entries = {entry.id: entry for entry in project.store.items(dropped=None)}
    for item, own in by_item.items():
        found = _import_item(project, entries.get(item), own, problems.get(item, ()), reviewer, path.name)
        conflicts += found.conflicts
        changed += found.texts
        verdicts[found.verdict] += not found.conflicts
    if any(verdicts[verdict] for verdict in ("accept", "edit", "drop")):
        facts = {"file": path.name, "reviewer": reviewer, **{key: value for key, value in verdicts.items() if key}}
        end_step(project, "import", facts)
    return Imported(verdicts["accept"], verdicts["edit"], verdicts["drop"], changed, verdicts[""], conflicts)


@dataclass(frozen=True, slots=True)
class _Result:
    verdict: str
    texts: int
    conflicts: list[Conflict]


def _import_item(
    project: Project,
    entry: ProjectItem | None,
    rows: Sequence[TextRow],
    problems: Sequence[OpenProblem],
    reviewer: str,
    via: str,
) -> _Result:
    """Decide on one item in one transaction, so that a killed import leaves no item half changed."""
    if entry is None:
        row, is_number = rows[0], re.fullmatch(r"[\d.,]+(E\+?\d+)?", rows[0].item)
        hint = "; spreadsheets change ids that look like numbers in CSV, not in XLSX" if is_number else ""
        return _Result("", 0, [Conflict(row.place, row.item, "", f"the project has no such item{hint}")])
    decided = [row for row in rows if row.decision]
    edits = [row for row in rows if row.corrected and row.corrected != row.translation]
    faults = [Conflict(row.place, entry.id, row.field, row.fault) for row in rows if row.fault]
    if faults or (not decided and not edits):
        return _Result("", 0, faults)
    comment = " ".join(filter(None, (row.comment for row in rows)))
    with project.store.transaction():
        # Several reviewers decide independently, each on the texts before the review.
        is_alone = rule_of(project).reviewers == 1
        before = texts_before(project, entry.id)
        current = project.store.texts("text", entry.id).get(entry.id, {}) if is_alone else before
        last = project.store.last_decision(reviewer, entry.id)
        wanted = {row.field: row.corrected or row.translation for row in rows}
        is_as_wanted = last and (last.verdict == "drop" or wanted.items() <= last.texts.items())
        if last and (last.comment, last.via) == (comment, via) and is_as_wanted:
            return _Result(last.verdict, 0, [])  # an earlier import of the same file decided it
        if entry.dropped_in == "review" and not is_alone:
            entry = replace(entry, dropped=None)
        conflicts = list(_conflicts(project, entry, rows, decided, edits, current))
        if not decided and not is_alone:
            reason = "a correction needs a decision, since several people decide on an item"
            conflicts.append(Conflict(edits[0].place, entry.id, edits[0].field, reason))
        texts = {**current, **{row.field: row.corrected for row in edits}}
        is_kept = bool(decided) and not any(row.decision == "drop" for row in decided)
        found = examine_texts(project, entry, texts) if is_kept and not conflicts else []
        if errors := [finding.message for finding in found if finding.severity == "error"]:
            conflicts.append(Conflict(rows[0].place, entry.id, "", f"it cannot be kept like this: {errors[0]}"))
        if conflicts:
            return _Result("", 0, conflicts)
        store = project.store
        store.add_reviewer(reviewer)
        shown = shown_id(entry, before)
        if any(row.decision == "drop" for row in decided):
            decision = ReviewDecision(entry.id, reviewer, "drop", comment=comment, via=via, shown=shown)
            record(project, decision)
            return _Result("drop", 0, [])
        changes = {row.field: row.corrected for row in edits if current.get(row.field) != row.corrected}
        verdict: ReviewVerdict = "edit" if changes else "accept"
        if decided or store.applied(entry.id):
            codes = [problem.reason for problem in problems if problem.kind == "warning"]
            codes += [finding.code for finding in examine_texts(project, entry, texts) if finding.severity == "warning"]
            accepted = dict.fromkeys(codes, comment or "accepted with the item")
            record(project, ReviewDecision(entry.id, reviewer, verdict, texts, accepted, comment, via, shown))
        else:
            # A correction without a decision settles the findings about its field, not the item.
            for field, text in changes.items():
                store.set_text(entry.id, "text", field, text, step="import", by=reviewer, why=comment)
            store.close_findings(entry.id, by=reviewer, why=comment or "decided in a file", fields=list(changes))
    return _Result("edit" if changes else "accept", len(changes), [])


def _conflicts(
    project: Project,
    entry: ProjectItem,
    rows: Sequence[TextRow],
    decided: Sequence[TextRow],
    edits: Sequence[TextRow],
    current: Mapping[str, str],
) -> Iterable[Conflict]:
    verdicts = {row.decision for row in decided}
    if unknown := verdicts - set(DECISIONS):
        row = next(row for row in decided if row.decision in unknown)
        yield Conflict(row.place, entry.id, row.field, f"the decision {row.decision!r} is not {' or '.join(DECISIONS)}")
    elif len(verdicts) > 1:
        yield Conflict(decided[0].place, entry.id, "", "its rows have different decisions")
    if entry.dropped is not None:
        yield Conflict(rows[0].place, entry.id, "", f"it was dropped since the export: {entry.dropped}")
    source = {text.field: text for text in project.maker.wanted(project.source_item(entry)) if text.role != "filled"}
    places: dict[str, str] = {}
    for row in rows:
        if row.field in places:
            yield Conflict(row.place, entry.id, row.field, f"it is in {places[row.field]} already")
        places.setdefault(row.field, row.place)
        if row.field not in source:
            yield Conflict(row.place, entry.id, row.field, "it has no such text")
        elif source[row.field].text != row.source:
            reason = f"its source is {source[row.field].text!r}: it was changed in the file, or since the export"
            yield Conflict(row.place, entry.id, row.field, reason)
        elif current.get(row.field, "") not in (row.translation, row.corrected):
            yield Conflict(row.place, entry.id, row.field, _changed(project, row, current.get(row.field, "")))
    if missing := [field for field in source if field not in places]:
        reason = f"its row of {missing[0]} is missing; a decision needs all rows of an item"
        yield Conflict(rows[0].place, entry.id, missing[0], reason)
    for row in edits:
        blanks = source[row.field].text.count(BLANK) if row.field in source else 0
        if row.corrected.count(BLANK) != blanks and (blanks or BLANK in row.corrected):
            reason = f"the corrected text has {BLANK} {row.corrected.count(BLANK)} times, and its source {blanks} times"
            yield Conflict(row.place, entry.id, row.field, reason)


def _changed(project: Project, row: TextRow, current: str) -> str:
    """Why a translation in a file is not that of the project."""
    history = project.store.history(row.item)
    if any(row.translation in (change.before, change.after) for change in history if change.field == row.field):
        return f"it was changed since the export, to {current!r}"
    return f"its `translation` was changed in the file, from {current!r}; a correction goes into `corrected`"


def _by_item(assembled: Assembled) -> dict[str, list[OpenProblem]]:
    problems: dict[str, list[OpenProblem]] = {}
    for problem in assembled.problems:
        problems.setdefault(problem.item, []).append(problem)
    return problems


def _row_field(problem: OpenProblem, known: set[str]) -> str:
    """The row that shows a problem: that of its field, or the first for one of the whole item."""
    if problem.field in known:
        return problem.field
    # Validation names candidates by role, and an intrasentence candidate by its sentence.
    return next((field for field in known if field == "context"), next(iter(sorted(known)), ""))
