"""Excel files, by openpyxl (the extra `xlsx`)."""

from collections.abc import Sequence
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from tiltmeter.errors import DataError
from tiltmeter.files import atomic_write
from tiltmeter.making.exchange.text_rows import COLUMNS, DECISIONS, NEEDED, TextRow, check_columns, columns_of, rows_of
from tiltmeter.reading import read_bytes
from tiltmeter.translators.base import import_extra

_WIDTHS = {"source": 45, "translation": 45, "corrected": 45, "problem": 40, "proposals": 40, "comment": 30}
# Columns that people fill in.
_FILLED_IN = ("corrected", "decision", "comment")


def write(rows: Sequence[TextRow], path: Path, *, source: str, language: str) -> None:  # noqa: ARG001 - as other formats
    """Write the rows to one sheet: a fixed header, wrapped texts, a list of decisions to choose from."""
    openpyxl = _openpyxl()
    styles = import_extra("openpyxl.styles", "xlsx", "Excel files")
    validation = import_extra("openpyxl.worksheet.datavalidation", "xlsx", "Excel files")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "review"
    sheet.append(COLUMNS)
    for number, row in enumerate(rows, start=2):
        for column, name in enumerate(COLUMNS, start=1):
            cell = sheet.cell(number, column)
            cell.value = asdict(row)[name] or None
            cell.data_type = "s" if cell.value is not None else "n"  # never a formula
            cell.alignment = styles.Alignment(wrap_text=True, vertical="top")
    for column, name in enumerate(COLUMNS, start=1):
        header = sheet.cell(1, column)
        header.font = styles.Font(bold=True)
        sheet.column_dimensions[header.column_letter].width = _WIDTHS.get(name, 16)
        if name in _FILLED_IN:
            header.fill = styles.PatternFill("solid", fgColor="FFF2CC")
    choices = validation.DataValidation(type="list", formula1=f'"{",".join(DECISIONS)}"', allow_blank=True)
    letter = sheet.cell(1, COLUMNS.index("decision") + 1).column_letter
    choices.add(f"{letter}2:{letter}{len(rows) + 1}")
    sheet.add_data_validation(choices)
    sheet.freeze_panes = "A2"
    sheet.auto_filter.ref = sheet.dimensions
    with atomic_write(path) as part:
        book.save(part)


def read(path: Path, *, language: str) -> list[TextRow]:  # noqa: ARG001 - as other formats
    """The rows of the first sheet that has the columns; a formula is an error, since its text is not in the file."""
    openpyxl = _openpyxl()
    errors = import_extra("openpyxl.utils.exceptions", "xlsx", "Excel files")
    try:
        file = BytesIO(read_bytes(path))  # not the path, since openpyxl refuses other suffixes
        sheets = [list(sheet.iter_rows()) for sheet in openpyxl.load_workbook(file, read_only=True).worksheets]
    except (BadZipFile, KeyError, OSError, errors.InvalidFileException) as error:
        raise DataError(f"{path} is not an Excel file: {error}.") from error
    headers = [columns_of(map(_text, sheet[0])) if sheet else [] for sheet in sheets]
    chosen = next((number for number, columns in enumerate(headers) if set(NEEDED) <= set(columns)), 0)
    check_columns(headers[chosen], path)
    columns, rows = headers[chosen], []
    for number, cells in enumerate(sheets[chosen][1:], start=2):
        for column, cell in zip(columns, cells, strict=False):
            if column in NEEDED and cell.data_type == "f":
                raise DataError(f"{path}, row {number}: `{column}` is a formula; put its value in its place.")
        rows.append((number, dict(zip(columns, map(_text, cells), strict=False))))
    return rows_of(path, rows)


def _text(cell: Any) -> str:
    return "" if cell.value is None else str(cell.value)


def _openpyxl() -> Any:
    return import_extra("openpyxl", "xlsx", "Excel files")
