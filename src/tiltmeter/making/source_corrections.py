"""The step `source`: check, correct or drop the source items before they are translated.

Blodgett et al. (2021) found that many items of published test sets do not test the bias that they are meant to test.
`check_source` detects some of these problems. People write corrections for these and other problems into a CSV file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tiltmeter.datasets.readers.jsonl import format_line
from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms import get_item_form
from tiltmeter.forms.pairs import PairItem
from tiltmeter.making.exchange.csv_table import read_table, write_table
from tiltmeter.making.name_lists import find_unlisted_names, replace_pronouns, require_name_list
from tiltmeter.making.open_problems import examine_items
from tiltmeter.making.project import Project
from tiltmeter.making.project_lock import lock_project
from tiltmeter.making.project_settings import write_settings
from tiltmeter.making.project_store import ProjectItem

PRONOUNS, UNLISTED = "told-by-pronoun", "unlisted-name"
CORRECTION_COLUMNS = ("item", "action", "field", "text", "reason", "problem", "source")
ACTIONS = ("correct", "drop", "restore")
_ONLY_PRONOUN = "only a pronoun shows the gender, which is lost in languages without gendered pronouns"


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """A problem of a source item that a person should check before the item is translated."""

    item: str
    code: str
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class CorrectionSummary:
    """The numbers of items that `apply_corrections` corrected, dropped and restored."""

    corrected: int
    dropped: int
    restored: int


def check_source(project: Project) -> list[SourceProblem]:
    """Return the problems of source items: validation findings, pairs that differ only in pronouns, and unlisted names.

    An unlisted name is a name that is not in Tiltmeter's list of names.
    """
    items = [project.get_source_item(entry) for entry in project.store.list_items()]
    problems = [
        SourceProblem(finding.item, finding.code, finding.field, finding.message) for finding in examine_items(items)
    ]
    for item in items:
        if not isinstance(item, PairItem):
            continue
        if replace_pronouns(item.more, item.less, 0, item.language) is not None:
            problems.append(SourceProblem(item.id, PRONOUNS, "less", _ONLY_PRONOUN))
        for name in find_unlisted_names(item.more, item.less, item.language):
            problems.append(SourceProblem(item.id, UNLISTED, "less", f"{name!r} is not in the list of names"))
    return problems


def correct_item(project: Project, item: str, texts: Mapping[str, str], *, by: str, why: str) -> None:
    """Replace texts of a source item, and delete the item's translations.

    `texts` maps fields to new texts. `by` is the person, and `why` is the reason, which must not be empty.
    """
    with project.store.begin_transaction():
        _correct_texts(project, item, texts, by=by, why=why)


def _correct_texts(project: Project, item: str, texts: Mapping[str, str], *, by: str, why: str) -> bool:
    """Replace texts of a source item inside the caller's transaction; return whether a text has changed."""
    _require_reason(why, item)
    entry = project.store.get_item(item)
    source = project.get_source_item(entry)
    form = get_item_form(source)
    known = form.translatable(source)
    for field in texts:
        if field not in known:
            raise UsageError(f"The item {item!r} has no text {field!r}; it has {', '.join(known)}.")
    changed = form.with_texts(source, source.language, {**known, **texts})
    errors = [finding for finding in examine_items([changed]) if finding.severity == "error"]
    if errors:
        raise UsageError(f"The item {item!r} would be invalid: {errors[0].field}: {errors[0].message}.")
    if changed != source:
        project.store.set_source(entry, format_line(changed), field=", ".join(texts), by=by, why=why)
    return bool(changed != source)


def drop_item(project: Project, item: str, *, by: str, why: str) -> None:
    """Drop a source item. `why` is the reason and must not be empty."""
    with project.store.begin_transaction():
        _drop_item(project, item, by=by, why=why)


def _drop_item(project: Project, item: str, *, by: str, why: str) -> bool:
    _require_reason(why, item)
    if is_kept := project.store.get_item(item).dropped is None:
        project.store.drop_item(item, step="source", by=by, why=why)
    return is_kept


def _restore_item(project: Project, item: str, *, by: str, why: str) -> bool:
    _require_reason(why, item)
    if is_dropped := project.store.get_item(item).dropped is not None:
        project.store.restore_item(item, step="source", by=by, why=why)
    return is_dropped


def _require_reason(why: str, item: str) -> None:
    if not why.strip():
        raise UsageError(f"The reason for the change of the source item {item!r} is missing; write a reason.")


def write_problems(project: Project, path: Path) -> int:
    """Write the problems of source items to a CSV file with empty columns for corrections.

    People fill in the columns `action`, `text` and `reason`, and `apply_corrections` reads the file. Return the number
    of problems.
    """
    problems = check_source(project)
    texts = {}
    for entry in project.store.list_items():
        source = project.get_source_item(entry)
        texts[entry.id] = get_item_form(source).translatable(source)
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for problem in problems:
        field = problem.field if problem.field in texts[problem.item] else ""
        text = texts[problem.item].get(field) or " / ".join(texts[problem.item].values())
        message = f"{problem.code}: {problem.message}"
        row = {"item": problem.item, "field": field, "problem": message, "source": text}
        rows[problem.item, field, message] = row
    write_table(path, CORRECTION_COLUMNS, rows.values())
    return len(problems)


def apply_corrections(project: Project, path: Path, *, by: str) -> CorrectionSummary:
    """Apply the corrections in a CSV file. If a row is invalid, apply nothing and raise an error that names the row."""
    columns, rows = read_table(path)
    if missing := [name for name in ("item", "action", "reason") if name not in columns]:
        raise DataError(f"{path} has no column {missing[0]!r}; write the file again with --out and keep all columns.")
    counts = dict.fromkeys(ACTIONS, 0)
    with lock_project(project.folder):
        with project.store.begin_transaction():
            for number, row in rows:
                action = row.get("action", "").strip().lower()
                if not action:
                    continue
                try:
                    is_changed = _apply_row(project, action, row, by)
                except UsageError as error:
                    raise DataError(f"{path}, row {number}: {error} No row of the file was applied.") from error
                counts[action] += is_changed
        record_source_step(project)
    return CorrectionSummary(counts["correct"], counts["drop"], counts["restore"])


def _apply_row(project: Project, action: str, row: Mapping[str, str], by: str) -> bool:
    item, why = row.get("item", "").strip(), row.get("reason", "")
    if action == "correct":
        return _correct_texts(project, item, {row.get("field", "").strip(): row.get("text", "")}, by=by, why=why)
    if action == "drop":
        return _drop_item(project, item, by=by, why=why)
    if action == "restore":
        return _restore_item(project, item, by=by, why=why)
    raise UsageError(f"The action {action!r} is unknown; choose {' or '.join(ACTIONS)}.")


def replace_pronouns_in_pairs(project: Project, *, by: str) -> int:
    """Replace pronouns by names in pairs that differ only in pronouns; return the number of changed pairs.

    The names come from Tiltmeter's lists of names of both languages. After this change, the step `repair` allows only
    names from these lists in translations.
    """
    require_name_list(project.settings.source_language)
    require_name_list(project.settings.language)
    entries = [entry for entry in project.store.list_items() if isinstance(project.get_source_item(entry), PairItem)]
    if not entries:
        raise UsageError("--names needs sentence pairs, but the project has none.")
    changed = 0
    for number, entry in enumerate(entries):
        changed += _insert_names(project, entry, number, by)
    project.settings = replace(project.settings, names=True)
    write_settings(project.folder, project.settings)
    record_source_step(project)
    return changed


def _insert_names(project: Project, entry: ProjectItem, number: int, by: str) -> bool:
    item = project.get_source_item(entry)
    assert isinstance(item, PairItem)
    pair = replace_pronouns(item.more, item.less, number, item.language)
    if pair is None:
        return False
    correct_item(project, entry.id, {"more": pair[0], "less": pair[1]}, by=by, why=_ONLY_PRONOUN)
    return True


def record_source_step(project: Project) -> None:
    """Store the completed step `source` with the current numbers of corrected and dropped source items."""
    entries = project.store.list_items(dropped=None)
    facts = {
        "corrected": sum(entry.source != entry.original for entry in entries),
        "dropped": sum(entry.dropped_in == "source" for entry in entries),
    }
    with project.store.begin_transaction():
        project.store.add_step("source", facts, {})
