"""The rows that all formats have in common."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from tiltmeter.errors import DataError

DECISIONS = ("accept", "drop")


@dataclass(frozen=True, slots=True)
class TextRow:
    """One text of an item. People fill in `corrected`, `decision` (of the item) and `comment`.

    `place` is where the row is in the file it was read from, `fault` what is wrong with it there.
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
# Without these a file says nothing about an item, or loses what people wrote.
NEEDED = ("item", "field", "source", "translation", "corrected", "decision", "comment")


def normalise_columns(header: Iterable[str]) -> list[str]:
    """The names of columns as they were exported: a spreadsheet may have changed spaces and capitals."""
    return [name.strip().lower() for name in header]


def validate_columns(columns: Iterable[str], path: object) -> None:
    """Raise a DataError unless the needed columns are there, each once."""
    columns = list(columns)
    if missing := [name for name in NEEDED if name not in columns]:
        raise DataError(f"{path} has no column {missing[0]!r}; export it again, and keep the columns.")
    if repeated := [name for name in NEEDED if columns.count(name) > 1]:
        raise DataError(f"{path} has the column {repeated[0]!r} twice; remove one.")


def parse_rows(path: object, table: Iterable[tuple[int, Mapping[str, str]]]) -> list[TextRow]:
    """The rows of a table with their numbers; empty ones and unknown columns are ignored."""
    rows = [parse_row(values, f"row {number}") for number, values in table if any(values.values())]
    if not rows:
        raise DataError(f"{path} has no rows; export it again.")
    return rows


def parse_row(values: Mapping[str, str], place: str) -> TextRow:
    """A row of the values in a file; unknown columns are ignored."""
    known = {name: (values.get(name) or "") for name in COLUMNS}
    known |= {name: known[name].strip() for name in ("item", "field", "corrected", "comment")}
    known["decision"] = known["decision"].strip().lower()
    return TextRow(**known, place=place)
