"""Read and write CSV files. Their byte order mark lets spreadsheet programs detect the encoding UTF-8."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tiltmeter.csv_text import format_csv, remove_formula_guard
from tiltmeter.datasets.raw_records import BrokenFileError
from tiltmeter.datasets.readers.decoded_text import read_text
from tiltmeter.errors import DataError
from tiltmeter.files import write_text
from tiltmeter.making.exchange.text_rows import COLUMNS, TextRow, normalise_columns, parse_rows, validate_columns

_MARK = "\ufeff"


def write(rows: Sequence[TextRow], path: Path, *, source: str, language: str) -> None:  # noqa: ARG001 - as in xliff.py
    """Write the rows to a CSV file."""
    write_table(path, COLUMNS, (asdict(row) for row in rows))


def read(path: Path, *, language: str) -> list[TextRow]:  # noqa: ARG001 - same signature as in xliff.py
    """Return the rows of a CSV file; the separator may be a comma, a semicolon or a tab."""
    columns, rows = read_table(path)
    validate_columns(columns, path)
    return parse_rows(path, rows)


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> None:
    """Write a table of texts to a CSV file; each row maps the names of columns to texts."""
    write_text(path, _MARK + format_csv(columns, ([row.get(column) for column in columns] for row in rows)))


def read_table(path: Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Return the column names of a CSV file in lower case, and its rows with their row numbers.

    The separator may be a comma, a semicolon or a tab. A row with more cells than columns raises an error, because the
    texts of the row may be in the wrong columns.
    """
    try:
        text = read_text(path).removeprefix(_MARK)
    except BrokenFileError as error:
        raise DataError(f"{path} {error} (spreadsheet programs call this format “CSV UTF-8”).") from error
    delimiter = max(",;\t", key=text.split("\n", 1)[0].count)
    try:
        header, *table = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)) or [[]]
    except csv.Error as error:
        raise DataError(f"{path} is not CSV: {error}.") from error
    columns = normalise_columns(header)
    rows = []
    for number, values in enumerate(table, start=2):
        if any(values[len(columns) :]):
            raise DataError(
                f"{path}, row {number}: the row has more cells than the header; put texts that contain the separator "
                "in quotes."
            )
        rows.append((number, {key: remove_formula_guard(value) for key, value in zip(columns, values, strict=False)}))
    return columns, rows
