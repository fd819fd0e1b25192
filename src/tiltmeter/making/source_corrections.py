"""The step `source`: check, correct or drop the source items before anything is translated.

Blodgett et al. (2021) found that many items of published test sets do not test what they are meant to. What a program
can see of it is listed here; the rest is for people, whose corrections come in a CSV file. Reasons are kept.
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


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """Something about a source item that a person should look at before it is translated."""

    item: str
    code: str
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class CorrectionSummary:
    """What a file of corrections did."""

    corrected: int
    dropped: int
    restored: int


def check_source(project: Project) -> list[SourceProblem]:
    """Validation findings about the source items, pairs told apart by pronouns only, and names that are not listed."""
    items = [project.get_source_item(entry) for entry in project.store.items()]
    problems = [
        SourceProblem(finding.item, finding.code, finding.field, finding.message) for finding in examine_items(items)
    ]
    for item in items:
        if not isinstance(item, PairItem):
            continue
        if replace_pronouns(item.more, item.less, 0, item.language) is not None:
            message = "only a pronoun tells the gender, which is lost in languages without such pronouns"
            problems.append(SourceProblem(item.id, PRONOUNS, "less", message))
        for name in find_unlisted_names(item.more, item.less, item.language):
            problems.append(SourceProblem(item.id, UNLISTED, "less", f"{name!r} is not on the list of names"))
    return problems


def correct_item(project: Project, item: str, texts: Mapping[str, str], *, by: str, why: str) -> None:
    """Replace texts of a source item; translations made of it are removed. The reason is required."""
    with project.store.begin_transaction():
        _correct_texts(project, item, texts, by=by, why=why)


def _correct_texts(project: Project, item: str, texts: Mapping[str, str], *, by: str, why: str) -> bool:
    """Correct texts inside the caller's transaction; whether anything changed."""
    _require_reason(why, item)
    entry = project.store.item(item)
    source = project.get_source_item(entry)
    form = get_item_form(source)
    known = form.translatable(source)
    for field in texts:
        if field not in known:
            raise UsageError(f"The item {item!r} has no text {field!r}; it has {', '.join(known)}.")
    changed = form.with_texts(source, source.language, {**known, **texts})
    errors = [finding for finding in examine_items([changed]) if finding.severity == "error"]
    if errors:
        raise UsageError(f"The item {item!r} would not be valid: {errors[0].field}: {errors[0].message}.")
    if changed != source:
        project.store.set_source(entry, format_line(changed), field=", ".join(texts), by=by, why=why)
    return bool(changed != source)


def drop_item(project: Project, item: str, *, by: str, why: str) -> None:
    """Drop a source item. The reason is required."""
    with project.store.begin_transaction():
        _drop_item(project, item, by=by, why=why)


def _drop_item(project: Project, item: str, *, by: str, why: str) -> bool:
    _require_reason(why, item)
    if is_kept := project.store.item(item).dropped is None:
        project.store.drop(item, step="source", by=by, why=why)
    return is_kept


def restore_item(project: Project, item: str, *, by: str, why: str) -> None:
    """Take back that an item was dropped. The reason is required."""
    with project.store.begin_transaction():
        _restore_item(project, item, by=by, why=why)


def _restore_item(project: Project, item: str, *, by: str, why: str) -> bool:
    _require_reason(why, item)
    if is_dropped := project.store.item(item).dropped is not None:
        project.store.restore(item, step="source", by=by, why=why)
    return is_dropped


def _require_reason(why: str, item: str) -> None:
    if not why.strip():
        raise UsageError(f"The reason for changing the source item {item!r} is missing.")


def write_problems(project: Project, path: Path) -> int:
    """Write what was found as a CSV file to fill in: `action` (correct, drop), `field`, `text` and `reason`."""
    problems = check_source(project)
    texts = {}
    for entry in project.store.items():
        source = project.get_source_item(entry)
        texts[entry.id] = get_item_form(source).translatable(source)
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for problem in problems:
        field = problem.field if problem.field in texts[problem.item] else ""
        shown = texts[problem.item].get(field) or " / ".join(texts[problem.item].values())
        message = f"{problem.code}: {problem.message}"
        row = {"item": problem.item, "field": field, "problem": message, "source": shown}
        rows[problem.item, field, message] = row
    write_table(path, CORRECTION_COLUMNS, rows.values())
    return len(problems)


def apply_corrections(project: Project, path: Path, *, by: str) -> CorrectionSummary:
    """Apply a filled-in CSV file, all of it or nothing: a row that cannot be applied is an error that names it."""
    columns, rows = read_table(path)
    if missing := [name for name in ("item", "action", "reason") if name not in columns]:
        raise DataError(f"{path} has no column {missing[0]!r}; write it again with --out, and keep the columns.")
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
                    raise DataError(f"{path}, row {number}: {error} Nothing of the file is applied.") from error
                counts[action] += is_changed
        record_source_step(project)
    return CorrectionSummary(counts["correct"], counts["drop"], counts["restore"])


def _apply_row(project: Project, action: str, row: Mapping[str, str], by: str) -> bool:
    """Apply a row of corrections; whether anything changed."""
    item, why = row.get("item", "").strip(), row.get("reason", "")
    if action == "correct":
        return _correct_texts(project, item, {row.get("field", "").strip(): row.get("text", "")}, by=by, why=why)
    if action == "drop":
        return _drop_item(project, item, by=by, why=why)
    if action == "restore":
        return _restore_item(project, item, by=by, why=why)
    raise UsageError(f"The action {action!r} is not {' or '.join(ACTIONS)}.")


def use_names(project: Project, *, by: str) -> int:
    """Put names in place of the pronouns that alone tell two sentences apart; returns the number of pairs changed.

    From now on the project's names are those of the lists, which the step `repair` sees to in the translations.
    """
    require_name_list(project.settings.source_language)
    require_name_list(project.settings.language)
    entries = [entry for entry in project.store.items() if isinstance(project.get_source_item(entry), PairItem)]
    if not entries:
        raise UsageError("Names take the place of pronouns in sentence pairs; the project has none.")
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
    why = "only a pronoun told the gender, which is lost in languages without such pronouns"
    correct_item(project, entry.id, {"more": pair[0], "less": pair[1]}, by=by, why=why)
    return True


def record_source_step(project: Project) -> None:
    """Record how many source items were corrected and dropped so far."""
    entries = project.store.items(dropped=None)
    facts = {
        "corrected": sum(entry.source != entry.original for entry in entries),
        "dropped": sum(entry.dropped_in == "source" for entry in entries),
    }
    with project.store.begin_transaction():
        project.store.add_step("source", facts, {})
