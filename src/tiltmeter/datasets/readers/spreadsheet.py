"""Read tables of texts as spreadsheet programs write them: CSV, TSV and Excel files with a header."""

import codecs
import csv
import io
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.csv_text import remove_formula_guard
from tiltmeter.datasets.raw_records import BrokenFileError
from tiltmeter.datasets.readers.excel_sheets import get_text, read_cells, read_workbook
from tiltmeter.errors import DataError
from tiltmeter.text_files import read_bytes

# The encodings of files that spreadsheet programs on Windows write in these languages; cp1252 in others.
_WINDOWS = {
    "cp1250": ("bs", "cs", "hr", "hu", "pl", "ro", "sk", "sl", "sq"),
    "cp1251": ("be", "bg", "kk", "mk", "ru", "sr", "uk"),
    "cp1253": ("el",),
    "cp1254": ("az", "tr"),
    "cp1255": ("he",),
    "cp1256": ("ar", "fa", "ur"),
    "cp1257": ("et", "lt", "lv"),
    "cp1258": ("vi",),
}
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Spreadsheet:
    """A table: the names of its columns, and the location and cells of each non-empty row.

    `details` describes the encoding and the separator, or the name of the sheet.
    """

    header: list[str]
    rows: list[tuple[str, list[str]]]
    details: str


def read_spreadsheet(path: Path, language: str | None = None) -> Spreadsheet:
    """Return the table in a CSV, TSV or Excel file; raise a BrokenFileError if the file has no such table.

    `language` is the language of the texts, if it is known. It decides in which encoding a file is read that is not
    UTF-8 or UTF-16.
    """
    return _read_excel(path) if path.suffix.lower() == ".xlsx" else _read_csv(path, language)


def _read_csv(path: Path, language: str | None) -> Spreadsheet:
    text, encoding = _decode(path, language)
    if "\0" in text:
        raise BrokenFileError("bad-csv", "contains null characters; save it as CSV UTF-8")
    first = text.lstrip("\r\n").split("\n", 1)[0]
    delimiter = "\t" if path.suffix.lower() == ".tsv" else max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[tuple[str, list[str]]] = []
    try:
        # The line at which a row begins, because a quoted text may contain line breaks.
        begin = 1
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append((f"line {begin}", [remove_formula_guard(cell) for cell in row]))
            begin = reader.line_num + 1
    except csv.Error as error:
        raise BrokenFileError("bad-csv", f"is not CSV: {error} (line {reader.line_num})") from error
    name = {",": "commas", ";": "semicolons", "\t": "tabs"}[delimiter]
    return _build_spreadsheet(rows, f"{encoding}, separated by {name}")


def _decode(path: Path, language: str | None) -> tuple[str, str]:
    content = read_bytes(path)
    if content.startswith(_UTF16):
        try:
            return content.decode("utf-16"), "UTF-16"
        except UnicodeDecodeError as error:
            raise BrokenFileError("bad-encoding", "is not valid UTF-16; save it as CSV UTF-8") from error
    try:
        return content.decode("utf-8-sig"), "UTF-8"
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        code = (language or "").partition("-")[0]
        encoding = next((name for name, languages in _WINDOWS.items() if code in languages), "cp1252")
        try:
            return content.decode(encoding), encoding
        except UnicodeDecodeError:
            message = f"is neither UTF-8 nor {encoding} (line {line}); save it as CSV UTF-8"
            raise BrokenFileError("bad-encoding", message) from error


def _read_excel(path: Path) -> Spreadsheet:
    def read(book: object) -> Spreadsheet:
        for sheet in book.worksheets:  # type: ignore[attr-defined]
            rows: list[tuple[str, list[str]]] = []
            for number, cells in enumerate(read_cells(sheet), start=1):
                if any(cell.value is not None for cell in cells):
                    if formula := next((cell for cell in cells if cell.data_type == "f"), None):
                        place = f"{formula.column_letter}{number}"
                        message = f"contains a formula in cell {place}; replace formulas by their values"
                        raise BrokenFileError("bad-csv", message)
                    rows.append((f"row {number}", [get_text(cell) for cell in cells]))
            if rows:
                return _build_spreadsheet(rows, f"sheet “{sheet.title}”")
        raise BrokenFileError("no-items", "contains no items")

    try:
        return read_workbook(path, read)
    except DataError as error:
        if isinstance(error.__cause__, BrokenFileError):
            raise error.__cause__ from None
        raise


def _build_spreadsheet(rows: list[tuple[str, list[str]]], details: str) -> Spreadsheet:
    if not rows:
        raise BrokenFileError("no-items", "contains no items")
    (_, first), *others = rows
    header = [name.strip() for name in first]
    while header and not header[-1]:
        header.pop()
    if repeated := next((name for name in header if name and header.count(name) > 1), None):
        raise BrokenFileError("bad-csv", f"has two columns with the name {repeated!r}; rename one of them")
    return Spreadsheet(header, others, details)
