"""Format tables as CSV for spreadsheets: no cell is interpreted as a formula, and no text in a cell ends the row."""

from collections.abc import Iterable, Sequence

# Spreadsheets interpret a cell that begins with one of these characters as a formula. An apostrophe in front of the
# character prevents this.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# Cells that contain one of these characters are quoted. Many programs end a row at any unquoted carriage return.
_QUOTED = (",", ";", '"', "\n", "\r", "\t")
# The missing values of Python, numpy and pandas, converted to text.
_MISSING = ("None", "nan", "NaT", "<NA>")


def format_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV, with a line feed after each row; None and NaN become empty cells.

    >>> format_csv(["item", "value"], [["=1+1", -2.5], ["a\\rb", None]])
    'item,value\\n\\'=1+1,-2.5\\n"a\\rb",\\n'
    """
    return "".join(",".join(map(_format_cell, row)) + "\n" for row in (columns, *rows))


def remove_formula_guard(cell: str) -> str:
    """Return the text of a cell without the apostrophe that `format_csv` adds to prevent formulas.

    >>> remove_formula_guard("'=1+1"), remove_formula_guard("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


def _format_cell(value: object) -> str:
    text = str(value)
    if isinstance(value, str):
        text = f"'{text}" if text.startswith(_FORMULA) else text
    elif text in _MISSING:
        return ""
    quoted = any(character in text for character in _QUOTED) or text != text.strip()
    return '"' + text.replace('"', '""') + '"' if quoted else text
