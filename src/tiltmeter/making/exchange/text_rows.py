"""The rows that all formats have in common."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from tiltmeter.errors import DataError

DECISIONS = ("accept", "drop")


@dataclass(frozen=True, slots=True)
class TextRow:
    """One text of an item. People fill in `corrected`, `decision` (of the item) and `comment`.

    `place` is where the row is in the file it was read from.
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


COLUMNS = tuple(field.name for field in fields(TextRow) if field.name != "place")
NEEDED = ("item", "field", "source", "translation")


def check_columns(columns: Iterable[str], path: object) -> None:
    """Raise a DataError unless the needed columns are there."""
    if missing := [name for name in NEEDED if name not in set(columns)]:
        raise DataError(f"{path} has no column {missing[0]!r}; export it again, and keep the columns.")


def row_of(values: Mapping[str, str], place: str) -> TextRow:
    """A row of the values in a file; unknown columns are ignored."""
    known = {name: (values.get(name) or "") for name in COLUMNS}
    known |= {name: known[name].strip() for name in ("corrected", "comment")}
    known["decision"] = known["decision"].strip().lower()
    return TextRow(**known, place=place)
