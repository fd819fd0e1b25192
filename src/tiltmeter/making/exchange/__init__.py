"""Export items for review in a spreadsheet or a translation program (CSV, XLSX, XLIFF), and import the decisions.

A row is one text of one item. An import compares each row with the project. If a text in the project has changed since
the export, the row is reported as a conflict and not imported.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Literal

from tiltmeter.errors import UsageError
from tiltmeter.forms.blank import BLANK
from tiltmeter.making.draft import group_by_item
from tiltmeter.making.exchange import csv_table, xliff, xlsx
from tiltmeter.making.exchange.text_rows import DECISIONS, TextRow
from tiltmeter.making.open_problems import OpenProblem, assemble_items, examine_texts
from tiltmeter.making.project import Project
from tiltmeter.making.project_lock import lock_project
from tiltmeter.making.project_store import ProjectItem
from tiltmeter.making.review.review_outcomes import (
    apply_changed_rule,
    compute_content_digest,
    find_reviewer_name,
    get_review_rule,
    get_unreviewed_texts,
    record_decision,
)
from tiltmeter.making.review.review_rule import ReviewDecision, ReviewVerdict
from tiltmeter.making.step_completion import complete_step

FileFormat = Literal["csv", "xlsx", "xliff"]
FORMATS: dict[FileFormat, ModuleType] = {"csv": csv_table, "xlsx": xlsx, "xliff": xliff}
SUFFIXES: dict[str, FileFormat] = {".csv": "csv", ".xlsx": "xlsx", ".xliff": "xliff", ".xlf": "xliff"}


@dataclass(frozen=True, slots=True)
class ImportConflict:
    """A row that was not imported, and the reason. `row` says where the row is in the file."""

    row: str
    item: str
    field: str
    reason: str

    def __str__(self) -> str:
        return f"{', '.join(filter(None, (self.row, self.item and f'item {self.item}', self.field)))}: {self.reason}"


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """The result of an import: numbers of accepted, edited, dropped and undecided items, and rows that conflict.

    `texts` is the number of changed texts. A conflict is a row that was not imported.
    """

    accepted: int
    edited: int
    dropped: int
    texts: int
    undecided: int
    conflicts: list[ImportConflict]


def detect_format(path: Path, named: str | None = None) -> FileFormat:
    """Return the format with the name `named`; if no name is given, detect the format from the file's suffix."""
    name = named or SUFFIXES.get(path.suffix.lower())
    for known in FORMATS:
        if name == known:
            return known
    raise UsageError(f"{named or path} is not in a known format; choose one of {', '.join(FORMATS)}.")


def export_project(project: Project, path: Path, *, format: FileFormat, everything: bool = False) -> int:
    """Write the texts of items to a file; return the number of rows.

    Only items with open problems are written; with `everything`, all translated items are written.
    """
    rows = build_export_rows(project, everything=everything)
    if not rows:
        raise UsageError(
            "No item has open problems, so there is nothing to export; --all exports all translated items."
        )
    settings = project.settings
    FORMATS[format].write(rows, path, source=settings.source_language, language=settings.language)
    return len(rows)


def build_export_rows(project: Project, *, everything: bool = False) -> list[TextRow]:
    """Return a row for each text of the items with open problems.

    With `everything`, return a row for each text of all translated items.
    """
    apply_changed_rule(project)
    problems = group_by_item(assemble_items(project).problems)
    texts = project.store.list_texts("text")
    is_single_reviewer = get_review_rule(project).reviewers == 1
    rows: list[TextRow] = []
    for entry in project.store.list_items():
        if entry.stage == "source" or not (everything or entry.id in problems):
            continue
        wanted = [
            text
            for text in project.maker.list_texts_to_translate(project.get_source_item(entry))
            if text.role != "filled"
        ]
        # If an item has several reviewers, they decide independently. So each of them gets the texts from before the
        # review, without changes by the other reviewers.
        current = texts.get(entry.id, {}) if is_single_reviewer else get_unreviewed_texts(project, entry.id)
        known = {text.field for text in wanted}
        for text in wanted:
            own = [
                problem for problem in problems.get(entry.id, ()) if _choose_field_to_show(problem, known) == text.field
            ]
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


def import_project(project: Project, path: Path, *, format: FileFormat, reviewer: str) -> ImportSummary:
    """Read decisions from a file, and store them in the project as decisions of the reviewer; return a summary.

    An item with a conflict is not imported.
    """
    if not reviewer.strip():
        raise UsageError("The reviewer's name is missing; give it with --by NAME.")
    if not path.is_file():
        raise UsageError(f"The file {path} does not exist.")
    rows: list[TextRow] = FORMATS[format].read(path, language=project.settings.language)
    with lock_project(project.folder):
        return _import_rows(project, rows, find_reviewer_name(project, reviewer), path)


def _import_rows(project: Project, rows: Sequence[TextRow], reviewer: str, path: Path) -> ImportSummary:
    apply_changed_rule(project)
    by_item = group_by_item(rows)
    verdicts = {"accept": 0, "edit": 0, "drop": 0, "": 0}
    changed = 0
    conflicts = [
        ImportConflict(row.place, "", row.field, "the item id is missing; were cells merged? Each row needs its id")
        for row in by_item.pop("", ())
    ]
    problems = group_by_item(assemble_items(project).problems)
    entries = {entry.id: entry for entry in project.store.list_items(dropped=None)}
    for item, own in by_item.items():
        result = _import_item(project, entries.get(item), own, problems.get(item, ()), reviewer, path.name)
        conflicts += result.conflicts
        changed += result.texts
        verdicts[result.verdict] += not result.conflicts
    if any(verdicts[verdict] for verdict in ("accept", "edit", "drop")):
        facts = {"file": path.name, "reviewer": reviewer, **{key: value for key, value in verdicts.items() if key}}
        complete_step(project, "import", facts)
    return ImportSummary(verdicts["accept"], verdicts["edit"], verdicts["drop"], changed, verdicts[""], conflicts)


@dataclass(frozen=True, slots=True)
class _ItemImport:
    verdict: str
    texts: int
    conflicts: list[ImportConflict]


def _import_item(
    project: Project,
    entry: ProjectItem | None,
    rows: Sequence[TextRow],
    problems: Sequence[OpenProblem],
    reviewer: str,
    via: str,
) -> _ItemImport:
    """Import the rows of one item in one transaction, so that an interruption cannot leave an item half imported."""
    if entry is None:
        row, is_number = rows[0], re.fullmatch(r"[\d.,]+(E\+?\d+)?", rows[0].item)
        hint = "; spreadsheets change ids that look like numbers in CSV files, use XLSX instead" if is_number else ""
        return _ItemImport("", 0, [ImportConflict(row.place, row.item, "", f"the project has no such item{hint}")])
    decided = [row for row in rows if row.decision]
    edits = [row for row in rows if row.corrected and row.corrected != row.translation]
    faults = [ImportConflict(row.place, entry.id, row.field, row.fault) for row in rows if row.fault]
    if faults or (not decided and not edits):
        return _ItemImport("", 0, faults)
    # Spreadsheets often repeat the comment in each row of an item; it is stored once.
    comment = " ".join(dict.fromkeys(row.comment for row in rows if row.comment))
    with project.store.begin_transaction():
        # If an item has several reviewers, each decides independently on the texts from before the review.
        is_single_reviewer = get_review_rule(project).reviewers == 1
        before = get_unreviewed_texts(project, entry.id)
        current = project.store.list_texts("text", entry.id).get(entry.id, {}) if is_single_reviewer else before
        last = project.store.find_last_decision(reviewer, entry.id)
        wanted = {row.field: row.corrected or row.translation for row in rows}
        is_as_wanted = last and (last.verdict == "drop" or wanted.items() <= last.texts.items())
        if last and (last.comment, last.via) == (comment, via) and is_as_wanted:
            # An earlier import of this file has already stored this decision.
            return _ItemImport(last.verdict, 0, [])
        if entry.dropped_in == "review" and not is_single_reviewer:
            entry = replace(entry, dropped=None)
        conflicts = list(_find_conflicts(project, entry, rows, decided, edits, current))
        if not decided and not is_single_reviewer:
            reason = "`decision` is empty; with several reviewers per item, a correction needs a decision"
            conflicts.append(ImportConflict(edits[0].place, entry.id, edits[0].field, reason))
        texts = {**current, **{row.field: row.corrected for row in edits}}
        is_kept = bool(decided) and not any(row.decision == "drop" for row in decided)
        findings = examine_texts(project, entry, texts) if is_kept and not conflicts else []
        if errors := [finding.message for finding in findings if finding.severity == "error"]:
            conflicts.append(ImportConflict(rows[0].place, entry.id, "", f"the item would be invalid: {errors[0]}"))
        if conflicts:
            return _ItemImport("", 0, conflicts)
        store = project.store
        store.add_reviewer(reviewer)
        shown = compute_content_digest(entry, before)
        if any(row.decision == "drop" for row in decided):
            decision = ReviewDecision(entry.id, reviewer, "drop", comment=comment, via=via, shown=shown)
            record_decision(project, decision)
            return _ItemImport("drop", 0, [])
        changes = {row.field: row.corrected for row in edits if current.get(row.field) != row.corrected}
        verdict: ReviewVerdict = "edit" if changes else "accept"
        if decided or store.get_applied_outcome(entry.id):
            codes = [problem.reason for problem in problems if problem.kind == "warning"]
            codes += [finding.code for finding in examine_texts(project, entry, texts) if finding.severity == "warning"]
            accepted = dict.fromkeys(codes, comment or "accepted with the item")
            record_decision(project, ReviewDecision(entry.id, reviewer, verdict, texts, accepted, comment, via, shown))
        else:
            # A corrected text without a decision settles only the findings about the text's field.
            for field, text in changes.items():
                store.set_text(entry.id, "text", field, text, step="import", by=reviewer, why=comment)
            store.close_findings(entry.id, by=reviewer, why=comment or "decided in a file", fields=list(changes))
    return _ItemImport("edit" if changes else "accept", len(changes), [])


def _find_conflicts(
    project: Project,
    entry: ProjectItem,
    rows: Sequence[TextRow],
    decided: Sequence[TextRow],
    edits: Sequence[TextRow],
    current: Mapping[str, str],
) -> Iterable[ImportConflict]:
    verdicts = {row.decision for row in decided}
    if unknown := verdicts - set(DECISIONS):
        row = next(row for row in decided if row.decision in unknown)
        reason = f"the decision {row.decision!r} is not {' or '.join(DECISIONS)}"
        yield ImportConflict(row.place, entry.id, row.field, reason)
    elif len(verdicts) > 1:
        yield ImportConflict(decided[0].place, entry.id, "", "the rows of this item have different decisions")
    if entry.dropped is not None:
        reason = f"the item was dropped since the export: {entry.dropped}"
        yield ImportConflict(rows[0].place, entry.id, "", reason)
    source = {
        text.field: text
        for text in project.maker.list_texts_to_translate(project.get_source_item(entry))
        if text.role != "filled"
    }
    places: dict[str, str] = {}
    for row in rows:
        if row.field in places:
            yield ImportConflict(row.place, entry.id, row.field, f"repeats {places[row.field]}; remove one of the rows")
        places.setdefault(row.field, row.place)
        if row.field not in source:
            yield ImportConflict(row.place, entry.id, row.field, "the item has no such text")
        elif source[row.field].text != row.source:
            reason = f"the source text is {source[row.field].text!r}; it was changed in the file or since the export"
            yield ImportConflict(row.place, entry.id, row.field, reason)
        elif current.get(row.field, "") not in (row.translation, row.corrected):
            reason = _explain_change(project, row, current.get(row.field, ""))
            yield ImportConflict(row.place, entry.id, row.field, reason)
    if missing := [field for field in source if field not in places]:
        reason = f"the row of {missing[0]} is missing; a decision needs all rows of an item"
        yield ImportConflict(rows[0].place, entry.id, missing[0], reason)
    for row in edits:
        blanks = source[row.field].text.count(BLANK) if row.field in source else 0
        if row.corrected.count(BLANK) != blanks and (blanks or BLANK in row.corrected):
            reason = (
                f"`corrected` contains {BLANK} {row.corrected.count(BLANK)} times, but the source text contains it "
                f"{blanks} times"
            )
            yield ImportConflict(row.place, entry.id, row.field, reason)


def _explain_change(project: Project, row: TextRow, current: str) -> str:
    history = project.store.list_history(row.item)
    if any(row.translation in (change.before, change.after) for change in history if change.field == row.field):
        return f"the text was changed to {current!r} since the export"
    return f"`translation` was changed in the file, from {current!r}; write corrections into `corrected`"


def _choose_field_to_show(problem: OpenProblem, known: set[str]) -> str:
    """Return the name of the field whose row shows a problem; `known` are the fields that have a row.

    If the problem's own field has no row, return the context or, without a context, the first field.
    """
    if problem.field in known:
        return problem.field
    return "context" if "context" in known else min(known, default="")
