"""The result of laying out runs: tables of texts with headings, blocks and bold cells."""

from collections.abc import Iterable
from dataclasses import dataclass

NO_NUMBER = "—"


@dataclass(frozen=True, slots=True)
class LaidOutCell:
    """A cell as text, and whether it is bold."""

    text: str = NO_NUMBER
    bold: bool = False


@dataclass(frozen=True, slots=True)
class LaidOutRow:
    """A row with its labels; `models` are the display names of the models whose numbers it has."""

    labels: tuple[str, ...]
    cells: tuple[LaidOutCell, ...]
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LaidOutBlock:
    """The rows of one block; the heading is empty if the block has no name."""

    heading: str
    rows: tuple[LaidOutRow, ...]


@dataclass(frozen=True, slots=True)
class LaidOutTable:
    """A table in the layout of a paper. All columns have the same number of headings, one for each level.

    `bold_note` explains which cells are bold, and `row_note` names the models of rows with several models.
    """

    title: str
    heads: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]
    blocks: tuple[LaidOutBlock, ...]
    bold_note: str = ""
    row_note: str = ""

    def group_headings(self, level: int) -> list[tuple[str, int]]:
        """Return the headings on a level with the number of adjacent columns that each spans."""
        groups: list[tuple[str, int]] = []
        above: tuple[str, ...] | None = None
        for column in self.columns:
            if column[: level + 1] == above:
                groups[-1] = (column[level], groups[-1][1] + 1)
            else:
                groups.append((column[level], 1))
            above = column[: level + 1]
        return groups


def list_notes(tables: Iterable[LaidOutTable]) -> list[str]:
    """Return the different notes on tables, with the models of each row in one note."""
    tables = list(tables)
    return list(dict.fromkeys(filter(None, (*(t.bold_note for t in tables), *(t.row_note for t in tables)))))
