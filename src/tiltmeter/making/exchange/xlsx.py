"""Excel files, by openpyxl (the extra `xlsx`)."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

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
from tiltmeter.text_files import read_bytes
from tiltmeter.translators.translator_protocol import import_extra

_WIDTHS = {"source": 45, "translation": 45, "corrected": 45, "problem": 40, "proposals": 40, "comment": 30}
# The largest file when it is unpacked, in bytes, which takes up to ten times as much memory; some 30,000 texts.
_LARGEST = 1 << 25
# Excel has no more rows; columns beyond these are not read.
_MOST_ROWS, _MOST_COLUMNS = 1_048_576, 32
# The longest text of a cell in Excel, in characters.
_LONGEST_CELL = 32_767
# Columns that people fill in.
_FILLED_IN = ("corrected", "decision", "comment")


def write(rows: Sequence[TextRow], path: Path, *, source: str, language: str) -> None:  # noqa: ARG001 - as other formats
    """Write the rows to one sheet: a fixed header, wrapped texts, a list of decisions to choose from."""
    _reject_long_texts(rows, path)
    openpyxl = _import_openpyxl()
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
    with write_atomically(path) as part:
        book.save(part)


def _reject_long_texts(rows: Sequence[TextRow], path: Path) -> None:
    """A DataError if a text is longer than a cell, which would cut it."""
    for row in rows:
        for name, text in asdict(row).items():
            if len(text) > _LONGEST_CELL:
                raise DataError(
                    f"{path} cannot hold `{name}` of item {row.item}: it has {len(text):,} characters, and a cell of "
                    f"Excel has at most {_LONGEST_CELL:,}; export CSV or XLIFF instead."
                )


def read(path: Path, *, language: str) -> list[TextRow]:  # noqa: ARG001 - as other formats
    """The rows of the first sheet that has the columns; a formula is an error, since its text is not in the file."""
    openpyxl = _import_openpyxl()
    content = BytesIO(read_bytes(path))  # not the path, since openpyxl refuses other suffixes
    try:
        _reject_unsafe_file(content, path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on styles and other parts that are not read
            return _read_rows(openpyxl.load_workbook(content, read_only=True), path)
    except DataError:
        raise
    except Exception as error:  # openpyxl and its parser raise anything for XML that is not as Excel writes it
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise DataError(
            f"{path} is not an Excel file that can be read ({reason[:200]}); save it again as .xlsx, or use CSV."
        ) from error


def _reject_unsafe_file(content: BytesIO, path: Path) -> None:
    """A DataError for a file that would fill the memory, or whose XML defines entities, which Excel does not write."""
    with ZipFile(content) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > _LARGEST:
            raise DataError(
                f"{path} has {unpacked:,} bytes when it is unpacked, and {_LARGEST:,} are the most; use CSV instead, "
                "or divide it."
            )
        for entry in archive.infolist():
            part = archive.read(entry)
            if any("<!DOCTYPE".encode(encoding) in part for encoding in ("utf-8", "utf-16-le", "utf-16-be")):
                raise DataError(
                    f"{path}: {entry.filename} declares a document type, which no spreadsheet needs; remove it."
                )
    content.seek(0)


def _read_rows(book: Any, path: Path) -> list[TextRow]:
    """The rows of the first sheet that has the columns."""
    headers = {sheet.title: normalise_columns(map(_get_text, _read_first_row(sheet))) for sheet in book.worksheets}
    chosen = next((title for title, columns in headers.items() if set(NEEDED) <= set(columns)), None)
    columns = headers[chosen] if chosen is not None else next(iter(headers.values()), [])
    validate_columns(columns, path)
    table = []
    for number, cells in enumerate(_read_cells(book[chosen]), start=1):
        if number == 1 or not any(cell.value is not None for cell in cells):
            continue
        for column, cell in zip(columns, cells, strict=False):
            if column in NEEDED and cell.data_type == "f":
                raise DataError(f"{path}, row {number}: `{column}` is a formula; put its value in its place.")
        table.append((number, dict(zip(columns, map(_get_text, cells), strict=False))))
    return parse_rows(path, table)


def _read_first_row(sheet: Any) -> tuple[Any, ...]:
    return next(_read_cells(sheet), ())


def _read_cells(sheet: Any) -> Iterator[tuple[Any, ...]]:
    """The cells of each row, up to Excel's number of rows; the size that a sheet claims may be too small, or any."""
    sheet.reset_dimensions()
    found: Iterator[tuple[Any, ...]] = sheet.iter_rows(max_row=_MOST_ROWS, max_col=_MOST_COLUMNS)
    return found


def _get_text(cell: Any) -> str:
    return "" if cell.value is None else str(cell.value)


def _import_openpyxl() -> Any:
    return import_extra("openpyxl", "xlsx", "Excel files")
