"""The forms of each source term in a project, and one decision about a form for all its items.

Terms are translated one by one, so a translation may have several forms, and a form may be missing in its contexts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms.case_folding import find_folded, fold_case
from tiltmeter.making.draft import Draft
from tiltmeter.making.exchange.csv_table import read_table, write_table
from tiltmeter.making.project import Project, reject_written_project
from tiltmeter.making.project_lock import lock_project

COLUMNS = ("source_term", "form", "items", "missing", "example", "use")
_WHY = "decided for all items with this form of the term"


@dataclass(slots=True)
class TermForm:
    """A form of a source term: the ids of the items that have it, and of those whose context does not contain it.

    `example` is the first context without the form; if all contexts contain the form, the first context.
    """

    source_term: str
    form: str
    items: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    example: str = ""


@dataclass(frozen=True, slots=True)
class TermDecisions:
    """The result of decisions about forms: the numbers of changed items, and of items whose context lacks the form."""

    changed: int
    left: int


def list_term_forms(project: Project) -> list[TermForm]:
    """Return the forms of the terms, ignoring case: terms with the most items without their form first."""
    forms: dict[tuple[str, str], TermForm] = {}
    for draft, name, context in _list_terms(project):
        text = draft.texts[name]
        one = forms.setdefault(
            (fold_case(draft.source[name]), fold_case(text)), TermForm(draft.source[name], text, example=context)
        )
        one.items.append(draft.item)
        if find_folded(context, text) is None:
            if not one.missing:
                one.example = context
            one.missing.append(draft.item)
    missing: dict[str, int] = {}
    for one in forms.values():
        term = fold_case(one.source_term)
        missing[term] = missing.get(term, 0) + len(one.missing)
    return sorted(
        forms.values(),
        key=lambda one: (-missing[fold_case(one.source_term)], fold_case(one.source_term), -len(one.items), one.form),
    )


def write_term_forms(project: Project, path: Path) -> int:
    """Write the forms of the terms to a CSV file with the empty column `use`; return the number of forms."""
    forms = list_term_forms(project)
    rows = [
        {
            "source_term": one.source_term,
            "form": one.form,
            "items": str(len(one.items)),
            "missing": str(len(one.missing)),
            "example": one.example,
            "use": "",
        }
        for one in forms
    ]
    write_table(path, COLUMNS, rows)
    return len(forms)


def apply_term_decisions(project: Project, path: Path, *, by: str) -> TermDecisions:
    """Replace forms of terms by the forms in the column `use` of a CSV file.

    A form is replaced in all items that have it, that nobody has reviewed, and whose context contains the new form.
    """
    columns, rows = read_table(path)
    if missing := [name for name in ("source_term", "form", "use") if name not in columns]:
        raise DataError(f"{path} has no column {missing[0]!r}; write the file again with --out and keep all columns.")
    wanted: dict[tuple[str, str], str] = {}
    known = {(fold_case(one.source_term), fold_case(one.form)) for one in list_term_forms(project)}
    for number, row in rows:
        key = (fold_case(row.get("source_term", "").strip()), fold_case(row.get("form", "").strip()))
        use = row.get("use", "").strip()
        if use and key not in known:
            raise DataError(
                f"{path}, row {number}: the project has no form {row.get('form', '')!r} of "
                f"{row.get('source_term', '')!r}; write the file again with --out."
            )
        if use and use != row.get("form", "").strip():
            wanted[key] = use
    with lock_project(project.folder), project.store.begin_transaction():
        return _replace_forms(project, wanted, by)


def _replace_forms(project: Project, wanted: Mapping[tuple[str, str], str], by: str) -> TermDecisions:
    decided = set(project.store.list_decided_items())
    changed = left = 0
    for draft, name, context in _list_terms(project):
        use = wanted.get((fold_case(draft.source[name]), fold_case(draft.texts[name])))
        if use is None or draft.item in decided:
            continue
        if find_folded(context, use) is None:
            left += 1
            continue
        project.store.set_text(draft.item, "text", name, use, step="import", by=by, why=_WHY)
        project.store.close_findings(draft.item, by=by, why=_WHY, fields=[name])
        changed += 1
    return TermDecisions(changed, left)


def _list_terms(project: Project) -> list[tuple[Draft, str, str]]:
    """Return the drafts with a term, each with the field of the term and the context."""
    reject_written_project(project)
    entries = [entry for entry in project.store.list_items() if entry.stage != "source"]
    if not entries:
        raise UsageError("There is no translated item; run `tiltmeter make translate` first.")
    found = []
    for draft in project.build_drafts(entries):
        name, context = draft.get_single_field("term"), draft.get_single_field("context")
        if name is not None and context is not None:
            found.append((draft, name, draft.texts[context]))
    return found
