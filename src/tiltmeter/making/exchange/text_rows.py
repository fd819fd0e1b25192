"""The rows of an exported or imported file. The file formats CSV, XLSX and XLIFF have the same rows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from tiltmeter.errors import DataError

DECISIONS = ("accept", "drop")


@dataclass(frozen=True, slots=True)
class TextRow:
    """One text of an item. Reviewers fill in `corrected`, `decision` (for the whole item) and `comment`.

    `about` is the subject of the item, such as its target. `place` says where the row is in the file, for example
    "row 3". `fault` is a problem that was found when the row was read.
    """

    item: str
    field: str
    about: str
    source: str
    translation: str
    problem: str = ""
    proposals: str = ""
    corrected: str = ""
    decision: str = ""
    comment: str = ""
    place: str = ""
    fault: str = ""


COLUMNS = tuple(field.name for field in fields(TextRow) if field.name not in ("place", "fault"))
# The columns that an imported file must have.
NEEDED = ("item", "field", "source", "translation", "corrected", "decision", "comment")


def normalise_columns(header: Iterable[str]) -> list[str]:
    """Return column names in lower case and without outer spaces, because spreadsheet programs may change them."""
    return [name.strip().lower() for name in header]


def validate_columns(columns: Iterable[str], path: object) -> None:
    """Raise a DataError unless each needed column occurs exactly once."""
    columns = list(columns)
    if missing := [name for name in NEEDED if name not in columns]:
        raise DataError(f"{path} has no column {missing[0]!r}; export the file again and keep all columns.")
    if repeated := [name for name in NEEDED if columns.count(name) > 1]:
        raise DataError(f"{path} has the column {repeated[0]!r} twice; remove one of them.")


def parse_rows(path: object, table: Iterable[tuple[int, Mapping[str, str]]]) -> list[TextRow]:
    """Return the rows of a table; ignore empty rows and unknown columns.

    Each entry of `table` has the row number and a mapping from column name to text.
    """
    rows = [_parse_row(values, f"row {number}") for number, values in table if any(values.values())]
    if not rows:
        raise DataError(f"{path} has no rows; export the file again.")
    return rows


def _parse_row(values: Mapping[str, str], place: str) -> TextRow:
    known = {name: (values.get(name) or "") for name in COLUMNS}
    known |= {name: known[name].strip() for name in ("item", "field", "corrected", "comment")}
    known["decision"] = known["decision"].strip().lower()
    return TextRow(**known, place=place)
