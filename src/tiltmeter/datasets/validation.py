"""Validation: build items and findings from raw records."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tiltmeter.datasets.raw_records import BrokenFileError, RawRecord, build_item
from tiltmeter.datasets.suspicious_characters import find_suspicious_characters
from tiltmeter.datasets.validation_findings import Finding, changes_meaning, get_severity
from tiltmeter.errors import DataError
from tiltmeter.forms import Form, Item, Problem, UniqueValue, get_item_form


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """The usable items of a file and all findings.

    `left_out` are the findings about rows that contain no usable item. `warned` are the items with a finding that
    affects the interpretation of results (see `changes_meaning`).
    """

    file: str
    items: list[Item]
    findings: list[Finding]
    left_out: list[Finding] = field(default_factory=list)
    warned: list[tuple[Item, Finding]] = field(default_factory=list)

    @property
    def errors(self) -> list[Finding]:
        """The findings that are errors."""
        return [finding for finding in self.findings if finding.severity == "error"]

    def require_valid_items(self) -> list[Item]:
        """Return the items; raise a DataError with the first error if there are errors."""
        if not self.errors:
            return self.items
        count = len(self.errors)
        more = f" (the first of {count} errors; `tiltmeter data validate` lists all)" if count > 1 else ""
        raise DataError(f"{self.errors[0]}{more}.")


def validate_records(file: str, records: Iterable[RawRecord]) -> ValidationResult:
    """Build items from the records of a file; return the usable items and all findings.

    Each item is checked alone. Duplicates, and items of different forms, are also found.
    """
    result = ValidationResult(file, [], [])
    seen: dict[object, str] = {}
    shared: dict[object, tuple[object, str]] = {}
    try:
        for record in records:
            item, problems = (None, []) if record.values is None else build_item(record.values)
            problems = [*record.problems, *problems]
            if item is not None:
                problems += _find_problems(item, record.row, result.items, seen, shared)
            findings = [_build_finding(file, record, problem) for problem in problems]
            result.findings.extend(findings)
            if item is None or any(finding.severity == "error" for finding in findings):
                result.left_out.extend(findings)
            else:
                result.items.append(item)
                result.warned.extend((item, finding) for finding in findings if changes_meaning(finding.code))
    except BrokenFileError as broken:
        result.findings.append(_build_finding(file, RawRecord("", None), broken.problem))
        result.left_out.append(result.findings[-1])
    if not result.items and not result.findings:
        problem = Problem("no-items", "", "contains no items")
        result.findings.append(_build_finding(file, RawRecord("", None), problem))
    return result


def _build_finding(file: str, record: RawRecord, problem: Problem) -> Finding:
    id_ = (record.values or {}).get("id", "")
    return Finding(
        severity=get_severity(problem.code),
        code=problem.code,
        file=file,
        row=record.row,
        field=record.names.get(problem.field, problem.field),
        item=id_ if isinstance(id_, str) else "",
        message=problem.message,
    )


def _find_problems(
    item: Item, row: str, before: list[Item], seen: dict[object, str], shared: dict[object, tuple[object, str]]
) -> Iterator[Problem]:
    """Yield the problems of an item, by itself and in comparison with the earlier items of the file."""
    form = get_item_form(item)
    for name, text in form.texts(item):
        yield from find_suspicious_characters(name, text)
    yield from form.lint(item)
    yield from _find_duplicates(item, form, row, seen)
    yield from _find_conflicting_values(item, form, row, shared)
    if before and type(item) is not type(before[0]):
        yield Problem("mixed-forms", "", "has another form than the first item of the file")


def _find_duplicates(item: Item, form: Form[Any], row: str, seen: dict[object, str]) -> Iterator[Problem]:
    """Yield a problem for each value that must be unique but occurred before; `seen` maps values to their first row."""
    for unique in (UniqueValue("duplicate-id", "id", item.id), *form.unique(item)):
        key = (unique.code, item.language, unique.value)
        if key in seen:
            yield Problem(unique.code, unique.field, f"is the same as in {seen[key]}")
        else:
            seen[key] = row


def _find_conflicting_values(
    item: Item, form: Form[Any], row: str, shared: dict[object, tuple[object, str]]
) -> Iterator[Problem]:
    """Yield a problem for each value that should be the same in several items (see `Form.same`) but is not.

    `shared` maps the key of such a value to the value and the row of its first occurrence.
    """
    for same in form.same(item):
        value, first = shared.setdefault((same.code, same.field, item.language, same.key), (same.value, row))
        if value != same.value:
            yield Problem(same.code, same.field, f"is {same.value!r}, but {value!r} in {first}")
