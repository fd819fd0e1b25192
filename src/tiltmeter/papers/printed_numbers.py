"""The papers and their printed numbers. Each number has its row and column in a table, or its place in the text."""

import csv
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from io import StringIO
from typing import Any

from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import UsageError

# The CSV columns that contain numbers, with the kind of number. All other columns identify the cell of the table.
ENDS = {"value": "value", "lower": "lower end", "upper": "upper end", "standard_error": "standard error"}

# The name of the metric for numbers that are counts of items.
COUNT = "count"

# The value in a CSV file of a number that is only in a figure, so that it is recomputed without a comparison.
UNPRINTED = "not printed"

# The table name for numbers in running text, captions and figures.
TEXT = "text"
_TEXT_ROWS = ("place", "of", "model", "language", "metric")

# Identifies the cell of a table: maps the names of CSV columns (model, language, metric, …) to their values.
CellKey = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class OmittedNumbers:
    """Numbers of a paper that are not recomputed: their place in the paper, and the reason."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: its citation, the layout and captions of its tables, and the numbers that are not recomputed."""

    key: str
    file: str
    citation: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    captions: Mapping[str, str]
    digits: int | None = None
    table_digits: Mapping[str, int] = field(default_factory=dict)
    left_out: tuple[OmittedNumbers, ...] = ()

    def get_row_names(self, table: str) -> tuple[str, ...]:
        """Return the names of the CSV columns that form the heads of the rows of a table."""
        return _TEXT_ROWS if table == TEXT else self.rows

    def get_column_names(self, table: str) -> tuple[str, ...]:
        """Return the names of the CSV columns that form the heads of the columns of a table."""
        return () if table == TEXT else self.columns

    def count_decimals(self, table: str) -> int:
        """Return the number of decimals in a table, including final zeros that the paper does not print."""
        return self.table_digits.get(table, self.digits or 0)


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """One printed number: its text as printed, and its table and cell. The text is empty if only a figure shows it.

    `kind` is "value", "lower end", "upper end" or "standard error". `width` is the width of the printed interval; it is
    0 if there is no interval.
    """

    paper: Paper
    table: str
    cell: CellKey
    kind: str
    text: str
    width: float = 0.0

    @property
    def digits(self) -> int:
        """The number of decimals, including final zeros that are not printed; -3 if rounded to thousands."""
        if self.table == TEXT:
            return int(self.cell["digits"] or len(self.text.partition(".")[2]))
        least = 0 if self.cell.get("metric") == COUNT else self.paper.count_decimals(self.table)
        return max(len(self.text.partition(".")[2]), least)

    def build_row_head(self) -> tuple[str, ...]:
        """Return the head of the number's row, such as model and language."""
        return tuple(self.cell[name] for name in self.paper.get_row_names(self.table) if self.cell.get(name))

    def build_column_head(self) -> tuple[str, ...]:
        """Return the head of the number's column, such as the metric."""
        return tuple(self.cell[name] for name in self.paper.get_column_names(self.table) if self.cell.get(name))


@cache
def load_papers() -> dict[str, Paper]:
    """Return a mapping from the key of each paper, such as "gest2024", to the paper."""
    text = files(__package__).joinpath("papers.toml").read_text(encoding="utf-8")
    return {key: _build_paper(key, **entry) for key, entry in tomllib.loads(text).items()}


def find_paper(key: str) -> Paper:
    """Return the paper with this key; raise UsageError if there is no such paper."""
    if key not in load_papers():
        keys = ", ".join(load_papers())
        raise UsageError(f"There is no paper {key!r}{suggest_name(key, load_papers())}; choose {keys} or all.")
    return load_papers()[key]


def read_printed_numbers(source: Paper) -> list[PrintedNumber]:
    """Return all printed numbers of a paper, table by table, in the order of the CSV files."""
    text = files(__package__).joinpath("tables", source.file).read_text(encoding="utf-8")
    rows = [
        *csv.DictReader(StringIO(text)),
        *({**row, "table": TEXT} for row in _read_text_rows() if row["paper"] == source.key),
    ]
    numbers = [number for row in rows for number in _parse_row(source, row)]
    order = {table: index for index, table in enumerate(source.captions)}
    return sorted(numbers, key=lambda number: order[number.table])


def _parse_row(source: Paper, row: dict[str, str]) -> list[PrintedNumber]:
    cell = {name: value for name, value in row.items() if name != "table" and name not in ENDS}
    width = float(row["upper"]) - float(row["lower"]) if row.get("lower") and row.get("upper") else 0.0
    return [
        PrintedNumber(source, row["table"], cell, kind, "" if row[name] == UNPRINTED else row[name], width)
        for name, kind in ENDS.items()
        if row.get(name)
    ]


def format_table_title(tables: Iterable[str]) -> str:
    """Return the names of tables as a phrase for a sentence.

    >>> format_table_title(["3"]), format_table_title(["4.1", "4.3"]), format_table_title(["2", "text"])
    ('Table 3', 'Table 4.1, 4.3', 'Table 2, text')
    """
    tables = list(tables)
    numbered = [table for table in tables if table != TEXT]
    return ", ".join([*([f"Table {', '.join(numbered)}"] if numbered else []), *([TEXT] if TEXT in tables else [])])


@cache
def _read_text_rows() -> list[dict[str, str]]:
    text = files(__package__).joinpath("tables", "text.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(StringIO(text)))


def _build_paper(
    key: str, *, rows: list[str], columns: list[str], left_out: Iterable[Mapping[str, str]] = (), **rest: Any
) -> Paper:
    omitted = tuple(OmittedNumbers(**entry) for entry in left_out)
    return Paper(key, rows=tuple(rows), columns=tuple(columns), left_out=omitted, **rest)
