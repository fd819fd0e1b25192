"""Checks of the user's data files; the result lists the rows that have errors or warnings (findings)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.datasets.dataset_loader import validate_spec
from tiltmeter.datasets.dataset_spec import Spec
from tiltmeter.datasets.validation import ValidationResult
from tiltmeter.datasets.validation_findings import Finding, list_error_codes, list_warning_codes
from tiltmeter.files import create_temporary_folder
from tiltmeter.text_files import split_lines

# A page shows at most this many rows with findings (errors and warnings), and this many characters of a row.
MOST_ROWS = 200
_MAX_CHARACTERS = 600
_LINE = re.compile(r"line (\d+)")


@dataclass(frozen=True, slots=True)
class CheckedRow:
    """A row of a checked file with its errors and warnings; `row` is the name of the row, such as `line 3`."""

    row: str
    text: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """The result of checking a file.

    `whole` are findings (errors and warnings) about the whole file. `rows` are the rows with findings that the page
    shows; `hidden` is the number of further rows with findings. `codes` lists the codes of the findings, as (code,
    meaning, number of findings).
    """

    name: str
    items: int
    errors: int
    warnings: int
    whole: tuple[Finding, ...]
    rows: tuple[CheckedRow, ...]
    hidden: int
    codes: tuple[tuple[str, str, int], ...]


def check_file(path: Path, name: str) -> CheckedFile:
    """Check a JSONL file; `name` is the name that the page displays for the file."""
    (examination,) = validate_spec(Spec(str(path), None, (), path))
    lines = split_lines(path.read_text(encoding="utf-8", errors="replace"))
    return _build_checked_file(name, examination, lines)


def check_content(content: bytes, name: str) -> CheckedFile:
    """Check the content of an uploaded JSONL file; the content is not stored."""
    with create_temporary_folder() as folder:
        path = folder / "file.jsonl"
        path.write_bytes(content)
        return check_file(path, name)


def _build_checked_file(name: str, examination: ValidationResult, lines: Sequence[str]) -> CheckedFile:
    by_row: dict[str, list[Finding]] = {}
    for finding in examination.findings:
        by_row.setdefault(finding.row, []).append(finding)
    whole = by_row.pop("", [])
    # Rows with errors come first; apart from this, the rows keep the order of the file.
    rows = sorted(by_row.items(), key=lambda entry: all(finding.severity == "warning" for finding in entry[1]))
    meanings = {**list_error_codes(), **list_warning_codes()}
    counts: dict[str, int] = {}
    for finding in examination.findings:
        counts[finding.code] = counts.get(finding.code, 0) + 1
    return CheckedFile(
        name=name,
        items=len(examination.items),
        errors=len(examination.errors),
        warnings=len(examination.findings) - len(examination.errors),
        whole=tuple(whole),
        rows=tuple(CheckedRow(row, _get_row_text(row, lines), tuple(findings)) for row, findings in rows[:MOST_ROWS]),
        hidden=max(0, len(rows) - MOST_ROWS),
        codes=tuple((code, meanings[code], n) for code, n in sorted(counts.items(), key=lambda entry: -entry[1])),
    )


def _get_row_text(row: str, lines: Sequence[str]) -> str:
    """Return the shortened text of a row, such as `line 3`; empty if the file has no such line."""
    match = _LINE.fullmatch(row)
    if match is None or not 0 < int(match[1]) <= len(lines):
        return ""
    text = lines[int(match[1]) - 1]
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"
