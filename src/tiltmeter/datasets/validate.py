"""Validation: turn raw records into items and findings."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tiltmeter.datasets.findings import Finding, severity_of
from tiltmeter.datasets.oddities import oddities
from tiltmeter.datasets.raw_records import BrokenFileError, RawRecord, build
from tiltmeter.errors import DataError
from tiltmeter.forms import Form, Item, Problem, Unique, form_of


@dataclass(frozen=True, slots=True)
class Examination:
    """The result of validating a file: its usable items and all findings."""

    file: str
    items: list[Item]
    findings: list[Finding]

    @property
    def errors(self) -> list[Finding]:
        """The findings that are errors."""
        return [finding for finding in self.findings if finding.severity == "error"]

    def accept(self) -> list[Item]:
        """The items; raises a DataError with the first error if there is one."""
        if not self.errors:
            return self.items
        count = len(self.errors)
        rest = f" (the first of {count} errors; `tiltmeter data validate` lists them)" if count > 1 else ""
        raise DataError(f"{self.errors[0]}{rest}.")


def examine(file: str, records: Iterable[RawRecord]) -> Examination:
    """Make items of the records, and check each item, duplicates, and that all have one form."""
    items: list[Item] = []
    findings: list[Finding] = []
    seen: dict[object, str] = {}
    shared: dict[object, tuple[object, str]] = {}

    def note(record: RawRecord, problem: Problem) -> None:
        id_ = (record.values or {}).get("id", "")
        findings.append(
            Finding(
                severity=severity_of(problem.code),
                code=problem.code,
                file=file,
                row=record.row,
                field=record.names.get(problem.field, problem.field),
                item=id_ if isinstance(id_, str) else "",
                message=problem.message,
            )
        )

    try:
        for record in records:
            for problem in record.problems:
                note(record, problem)
            if record.values is None:
                continue
            item, problems = build(record.values)
            for problem in problems:
                note(record, problem)
            if item is None:
                continue
            form = form_of(item)
            others = (*_duplicates(item, form, record.row, seen), *_unlike(item, form, record.row, shared))
            for problem in (*_lint(item, form), *others):
                note(record, problem)
            if items and type(item) is not type(items[0]):
                note(record, Problem("mixed-forms", "", "is of another form than the first item of the file"))
            items.append(item)
    except BrokenFileError as broken:
        note(RawRecord("", None), broken.problem)
    if not items and not findings:
        note(RawRecord("", None), Problem("no-items", "", "there is not a single item in it"))
    return Examination(file, items, findings)


def _lint(item: Item, form: Form[Any]) -> Iterator[Problem]:
    """Warnings about a single item."""
    for field, text in form.texts(item):
        yield from oddities(field, text)
    yield from form.lint(item)


def _duplicates(item: Item, form: Form[Any], row: str, seen: dict[object, str]) -> Iterator[Problem]:
    """Values that should be unique and occurred before; `seen` maps them to the row of their first occurrence."""
    for unique in (Unique("duplicate-id", "id", item.id), *form.unique(item)):
        key = (unique.code, item.language, unique.value)
        if key in seen:
            yield Problem(unique.code, unique.field, f"the same as in {seen[key]}")
        else:
            seen[key] = row


def _unlike(item: Item, form: Form[Any], row: str, shared: dict[object, tuple[object, str]]) -> Iterator[Problem]:
    """Values that differ from those of an earlier item; `shared` maps keys to the first value and its row."""
    for same in form.same(item):
        value, first = shared.setdefault((same.code, same.field, item.language, same.key), (same.value, row))
        if value != same.value:
            yield Problem(same.code, same.field, f"is {same.value!r} here and {value!r} in {first}")
