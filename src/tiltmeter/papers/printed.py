"""The papers and their tables: every number as it is printed, with its place."""

import csv
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from io import StringIO
from typing import Any

from tiltmeter.datasets.suggest import did_you_mean
from tiltmeter.errors import UsageError

# The columns that hold numbers; all others say where in the table a number stands.
ENDS = {"value": "value", "lower": "lower end", "upper": "upper end", "standard_error": "standard error"}

# The metric that is a number of items.
COUNT = "count"

Place = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: how its tables are laid out and what they are about."""

    key: str
    file: str
    citation: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    captions: Mapping[str, str]
    digits: int | None = None
    table_digits: Mapping[str, int] = field(default_factory=dict)

    def least_digits(self, table: str) -> int:
        """How many digits a table prints after the point where it does not drop a final zero."""
        return self.table_digits.get(table, self.digits or 0)


@dataclass(frozen=True, slots=True)
class Printed:
    """One number of one table: the text that is printed, and where it stands.

    `kind` says whether it is the value itself, an end of its interval or its standard error; `width` is that of the
    interval, if one is printed.
    """

    paper: Paper
    table: str
    place: Place
    kind: str
    text: str
    width: float = 0.0

    @property
    def digits(self) -> int:
        """The digits after the point that the number is printed with."""
        least = 0 if self.place.get("metric") == COUNT else self.paper.least_digits(self.table)
        return max(len(self.text.partition(".")[2]), least)

    def row(self) -> tuple[str, ...]:
        """What stands at the head of its row."""
        return tuple(self.place[name] for name in self.paper.rows if self.place.get(name))

    def column(self) -> tuple[str, ...]:
        """What stands at the head of its column."""
        return tuple(self.place[name] for name in self.paper.columns if self.place.get(name))


@cache
def papers() -> dict[str, Paper]:
    """All papers by their keys."""
    text = files(__package__).joinpath("papers.toml").read_text(encoding="utf-8")
    return {key: _paper(key, **entry) for key, entry in tomllib.loads(text).items()}


def paper(key: str) -> Paper:
    """The paper with this key."""
    if key not in papers():
        there = ", ".join(papers())
        raise UsageError(f"There is no paper {key!r}{did_you_mean(key, papers())}; there are {there}, and all of them.")
    return papers()[key]


def printed(of: Paper) -> list[Printed]:
    """All numbers of a paper, table by table, in the order in which the file has them."""
    text = files(__package__).joinpath("tables", of.file).read_text(encoding="utf-8")
    numbers = [number for row in csv.DictReader(StringIO(text)) for number in _numbers(of, row)]
    order = {table: place for place, table in enumerate(of.captions)}
    return sorted(numbers, key=lambda number: order[number.table])


def _numbers(of: Paper, row: dict[str, str]) -> list[Printed]:
    place = {name: value for name, value in row.items() if name != "table" and name not in ENDS}
    width = float(row["upper"]) - float(row["lower"]) if row.get("lower") and row.get("upper") else 0.0
    return [Printed(of, row["table"], place, kind, row[name], width) for name, kind in ENDS.items() if row.get(name)]


def _paper(key: str, *, rows: list[str], columns: list[str], **rest: Any) -> Paper:
    return Paper(key, rows=tuple(rows), columns=tuple(columns), **rest)
