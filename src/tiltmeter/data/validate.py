"""Validation: records in, items and findings out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tiltmeter.data.blemishes import blemishes
from tiltmeter.data.findings import Finding, severity_of
from tiltmeter.data.items import AssociationItem, GestItem, GestPairItem, Item, PairItem, WinoBiasItem
from tiltmeter.data.records import BrokenFileError, Problem, Record, build
from tiltmeter.errors import DataError


@dataclass(frozen=True, slots=True)
class Examination:
    """What is in a file: its usable items, and everything found in it."""

    file: str
    items: list[Item]
    findings: list[Finding]

    @property
    def errors(self) -> list[Finding]:
        """The findings that make the file unusable."""
        return [finding for finding in self.findings if finding.severity == "error"]

    def accept(self) -> list[Item]:
        """The items, if there are no errors; else a DataError that names the first one."""
        if not self.errors:
            return self.items
        count = len(self.errors)
        rest = f" (the first of {count} errors; `tiltmeter data validate` lists them)" if count > 1 else ""
        raise DataError(f"{self.errors[0]}{rest}.")


def examine(file: str, records: Iterable[Record]) -> Examination:
    """Make items of the records, and look at each of them and at how they go together."""
    items: list[Item] = []
    findings: list[Finding] = []
    seen: dict[object, str] = {}

    def note(record: Record, problem: Problem) -> None:
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
            for problem in (*blemishes(item), *_repetitions(item, record.row, seen)):
                note(record, problem)
            if items and type(item) is not type(items[0]):
                note(record, Problem("mixed-forms", "", "is of another form than the first item of the file"))
            items.append(item)
    except BrokenFileError as broken:
        note(Record("", None), broken.problem)
    if not items and not findings:
        note(Record("", None), Problem("no-items", "", "there is not a single item in it"))
    return Examination(file, items, findings)


def _repetitions(item: Item, row: str, seen: dict[object, str]) -> Iterator[Problem]:
    """What this item has in common with an earlier one, and should not. `seen` says what was met, and where."""
    for code, field, value in _unique(item):
        key = (code, item.language, value)
        if key in seen:
            yield Problem(code, field, f"the same as in {seen[key]}")
        else:
            seen[key] = row


def _unique(item: Item) -> Iterator[tuple[str, str, object]]:
    """What should be there once in a language: the code for when it is not, the field, the value."""
    yield "duplicate-id", "id", item.id
    match item:
        case AssociationItem():
            yield "duplicate-context", "context", (item.part, item.context)
            for number, candidate in enumerate(item.candidates):
                yield "duplicate-candidate-id", f"candidates[{number}].id", candidate.id
        case PairItem():
            yield "duplicate-pair", "more", (item.more, item.less)
        case GestItem():
            yield "duplicate-sentence", "sentence", item.sentence
        case GestPairItem() | WinoBiasItem():
            yield "duplicate-pair", "male", (item.male, item.female)
