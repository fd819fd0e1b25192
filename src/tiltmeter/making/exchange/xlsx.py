"""Read and write Excel files with openpyxl, which the extra `xlsx` installs."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tiltmeter.datasets.readers.excel_sheets import get_text, read_cells, read_workbook
from tiltmeter.errors import DataError
from tiltmeter.files import write_atomically
from tiltmeter.making.exchange.text_rows import (
    COLUMNS,
    DECISIONS,
    NEEDED,
    TextRow,
    normalise_columns,
    parse_rows,
    validate_columns,
)
from tiltmeter.registry import import_extra

_WIDTHS = {"source": 45, "translation": 45, "corrected": 45, "problem": 40, "proposals": 40, "comment": 30}
# Maximum length of a text in an Excel cell, in characters.
_MAX_CELL_LENGTH = 32_767
# The columns that reviewers fill in.
_FILLED_IN = ("corrected", "decision", "comment")


def write(rows: Sequence[TextRow], path: Path, *, source: str, language: str) -> None:  # noqa: ARG001 - as in xliff.py
    """Write the rows to one sheet of an Excel file.

    The sheet has a frozen header, wrapped texts, and a drop-down list in the column `decision`.
    """
    _reject_long_texts(rows, path)
    openpyxl = import_extra("openpyxl", "xlsx", "Excel files")
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
            # The data type is set, because a text that begins with = must not become a formula.
            cell.data_type = "s" if cell.value is not None else "n"
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
    with write_atomically(path) as part:
        book.save(part)


def _reject_long_texts(rows: Sequence[TextRow], path: Path) -> None:
    for row in rows:
        for name, text in asdict(row).items():
            if len(text) > _MAX_CELL_LENGTH:
                raise DataError(
                    f"{path} cannot be written: `{name}` of item {row.item} has {len(text):,} characters, and an Excel "
                    f"cell has at most {_MAX_CELL_LENGTH:,}; export CSV or XLIFF instead."
                )


def read(path: Path, *, language: str) -> list[TextRow]:  # noqa: ARG001 - same signature as in xliff.py
    """Return the rows of the first sheet that has all needed columns.

    Raise a DataError if a needed column contains a formula, because the result of the formula is unknown.
    """
    return read_workbook(path, lambda book: _read_rows(book, path))


def _read_rows(book: Any, path: Path) -> list[TextRow]:
    headers = {sheet.title: normalise_columns(map(get_text, next(read_cells(sheet), ()))) for sheet in book.worksheets}
    chosen = next((title for title, columns in headers.items() if set(NEEDED) <= set(columns)), None)
    columns = headers[chosen] if chosen is not None else next(iter(headers.values()), [])
    validate_columns(columns, path)
    table = []
    for number, cells in enumerate(read_cells(book[chosen]), start=1):
        if number == 1 or not any(cell.value is not None for cell in cells):
            continue
        for column, cell in zip(columns, cells, strict=False):
            if column in NEEDED and cell.data_type == "f":
                raise DataError(f"{path}, row {number}: `{column}` is a formula; replace the formula by its value.")
        table.append((number, dict(zip(columns, map(get_text, cells), strict=False))))
    return parse_rows(path, table)
