"""Read rows and records from CSV files."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tiltmeter.datasets.raw_records import BrokenFileError, RawRecord
from tiltmeter.datasets.readers.decoded_text import read_text
from tiltmeter.forms import Problem

Complete = Callable[[int, dict[str, object]], dict[str, object]]
"""A function that adds the fields without a column.

It takes the row index (from 0) and the fields that were read from columns, and returns all fields of the record.
"""


def read_rows(
    path: Path, *, delimiter: str = ",", decode: Callable[[Path], str] = read_text
) -> Iterator[tuple[str, list[str]]]:
    """Yield (location, values) for each non-empty row of a CSV file; a location is, for example, "line 3"."""
    # newline="" keeps line breaks inside quoted values.
    reader = csv.reader(io.StringIO(decode(path), newline=""), delimiter=delimiter, strict=True)
    try:
        for row in filter(None, reader):
            yield f"line {reader.line_num}", row
    except csv.Error as error:
        raise BrokenFileError("bad-csv", f"is not CSV: {error} (line {reader.line_num})") from error


def read_header(rows: Iterator[tuple[str, list[str]]]) -> list[str]:
    """Return the names of the columns, which are the next row; return an empty list at the end of the file."""
    return next((row for _, row in rows), [])


def check_row_length(row: list[str], header: list[str]) -> list[Problem]:
    """Return a problem if a row does not have as many values as the header."""
    if len(row) == len(header):
        return []
    return [Problem("bad-csv", "", f"has {len(row)} values, but the header has {len(header)}")]


def read_records(
    path: Path,
    names: Mapping[str, str],
    complete: Complete,
    *,
    delimiter: str = ",",
    decode: Callable[[Path], str] = read_text,
) -> Iterator[RawRecord]:
    """Yield a record for each row of a CSV file below the header.

    `names` maps fields to columns. `complete` adds the fields that have no column. `decode` reads the text of the file.
    """
    rows = read_rows(path, delimiter=delimiter, decode=decode)
    header = read_header(rows)
    require_columns(header, names.values())
    for number, (location, row) in enumerate(rows):
        if problems := check_row_length(row, header):
            yield RawRecord(location, None, problems=problems)
        else:
            values = dict(zip(header, row, strict=True))
            fields: dict[str, object] = {field: values[column] for field, column in names.items()}
            yield RawRecord(location, complete(number, fields), names)


def require_columns(header: Sequence[str], columns: Iterable[str], file: str = "") -> None:
    """Raise an error if a column is missing in the header; `file` names the file if it is not the data file itself."""
    for column in columns:
        if column not in header:
            where = f" in {file}" if file else ""
            raise BrokenFileError("missing-column", f"has no column {column or 'with an empty name (the ids)'}{where}")
