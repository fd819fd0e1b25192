"""CSV in UTF-8, with a byte order mark, by which spreadsheets recognise the encoding."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tiltmeter.datasets.raw_records import BrokenFileError
from tiltmeter.datasets.readers.file_text import read_text
from tiltmeter.errors import DataError
from tiltmeter.files import write_text
from tiltmeter.making.exchange.text_rows import COLUMNS, TextRow, check_columns, row_of

_MARK = "\ufeff"
# A cell that begins like this is a formula to a spreadsheet; an apostrophe keeps it a text.
_FORMULA = ("=", "+", "-", "@", "\t")


def write(rows: Sequence[TextRow], path: Path, *, source: str, language: str) -> None:  # noqa: ARG001 - as other formats
    """Write the rows."""
    table = io.StringIO()
    writer = csv.DictWriter(table, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _guarded(value) for key, value in asdict(row).items()} for row in rows)
    write_text(path, _MARK + table.getvalue())


def read(path: Path) -> list[TextRow]:
    """The rows of a file, also of one that a spreadsheet wrote with semicolons or tabs."""
    try:
        text = read_text(path).removeprefix(_MARK)
    except BrokenFileError as error:
        raise DataError(f"{path} {error}.") from error
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        check_columns(reader.fieldnames or (), path)
        return [
            row_of({key: _unguarded(value) for key, value in values.items() if isinstance(value, str)}, f"row {number}")
            for number, values in enumerate(reader, start=2)
        ]
    except csv.Error as error:
        raise DataError(f"{path} is not CSV: {error}.") from error


def _guarded(value: str) -> str:
    return f"'{value}" if value.startswith(_FORMULA) else value


def _unguarded(value: str) -> str:
    return value[1:] if value.startswith("'") and value[1:].startswith(_FORMULA) else value
