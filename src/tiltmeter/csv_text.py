"""Tables as CSV that spreadsheets show as it is: no cell is a formula, and no character breaks a row."""

from collections.abc import Iterable, Sequence

# A cell that begins like this is a formula to a spreadsheet, or may become one; an apostrophe keeps it a text.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# A carriage return ends a row for many readers, also where it stands alone.
_QUOTED = (",", ";", '"', "\n", "\r", "\t")
# What unknown values of Python, numpy and pandas are called.
_UNKNOWN = ("None", "nan", "NaT", "<NA>")


def format_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV, with a line feed after each row; None and NaN are empty cells.

    >>> format_csv(["item", "value"], [["=1+1", -2.5], ["a\\rb", None]])
    'item,value\\n\\'=1+1,-2.5\\n"a\\rb",\\n'
    """
    return "".join(",".join(map(_format_cell, row)) + "\n" for row in (columns, *rows))


def remove_guard(cell: str) -> str:
    """The text of a cell without the apostrophe that `format_csv` put before it.

    >>> remove_guard("'=1+1"), remove_guard("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


def _format_cell(value: object) -> str:
    text = str(value)
    if isinstance(value, str):
        text = f"'{text}" if text.startswith(_FORMULA) else text
    elif text in _UNKNOWN:
        return ""
    quoted = any(character in text for character in _QUOTED) or text != text.strip()
    return '"' + text.replace('"', '""') + '"' if quoted else text
