"""Read the sheets of Excel files with openpyxl, which the extra `xlsx` installs."""

import warnings
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar
from zipfile import ZipFile

from tiltmeter.errors import DataError
from tiltmeter.registry import import_extra
from tiltmeter.text_files import read_bytes

# Maximum size in bytes of an Excel file after unpacking; such a file has about 30,000 texts. Parsing needs up to ten
# times as much memory.
_MAX_BYTES = 1 << 25
# Maximum number of rows of an Excel sheet, and maximum number of columns that are read.
_MAX_ROWS, _MAX_COLUMNS = 1_048_576, 32
T = TypeVar("T")


def read_workbook(path: Path, read: Callable[[Any], T]) -> T:
    """Call `read` with the openpyxl workbook of an Excel file, and return its result.

    Raise a DataError if the file is not an Excel file, is too large, or is unsafe to parse.
    """
    openpyxl = import_extra("openpyxl", "xlsx", "Excel files")
    # openpyxl gets the content instead of the path, because it rejects paths that do not end in .xlsx.
    content = BytesIO(read_bytes(path))
    try:
        _reject_unsafe_file(content, path)
        with warnings.catch_warnings():
            # The warnings are about styles and other parts that are not read.
            warnings.simplefilter("ignore")
            return read(openpyxl.load_workbook(content, read_only=True))
    except DataError:
        raise
    except Exception as error:
        # openpyxl and its parser raise many types of errors for unusual XML.
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise DataError(
            f"{path} cannot be read as an Excel file ({reason[:200]}); save it again as .xlsx, or use CSV."
        ) from error


def read_cells(sheet: Any) -> Iterator[tuple[Any, ...]]:
    """Return the cells of each row. The dimensions that the sheet declares are ignored, because they may be wrong."""
    sheet.reset_dimensions()
    rows: Iterator[tuple[Any, ...]] = sheet.iter_rows(max_row=_MAX_ROWS, max_col=_MAX_COLUMNS)
    return rows


def get_text(cell: Any) -> str:
    """Return the text of a cell; empty if the cell is empty."""
    return "" if cell.value is None else str(cell.value)


def _reject_unsafe_file(content: BytesIO, path: Path) -> None:
    """Raise a DataError if a file is too large for the memory, or if its XML defines entities (Excel never does)."""
    with ZipFile(content) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > _MAX_BYTES:
            raise DataError(
                f"{path} has {unpacked:,} bytes after unpacking, and the limit is {_MAX_BYTES:,}; split the file, or "
                "use CSV."
            )
        for entry in archive.infolist():
            part = archive.read(entry)
            if any("<!DOCTYPE".encode(encoding) in part for encoding in ("utf-8", "utf-16-le", "utf-16-be")):
                raise DataError(
                    f"{path}: {entry.filename} declares a document type (DOCTYPE); save the file again in a "
                    "spreadsheet program, or use CSV."
                )
    content.seek(0)
