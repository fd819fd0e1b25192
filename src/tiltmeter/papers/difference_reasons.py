"""Known reasons why recomputed numbers differ from printed ones, and remarks on tables, from reasons.toml."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from tiltmeter.papers.printed_numbers import PrintedNumber
from tiltmeter.papers.rounding import NOISE, matches_printed
from tiltmeter.papers.sources.recipe import NotAvailable
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.papers.sources.source_lookup import find_source


@dataclass(frozen=True, slots=True)
class Reason:
    """A known reason why recomputed numbers differ from printed ones.

    A reason applies to a number only if it predicts the value; `reasons.toml` explains the fields.
    """

    id: str
    paper: str
    tables: tuple[str, ...]
    summary: str
    evidence: str
    where: Mapping[str, list[str]] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    other_cell: Mapping[str, str] | None = None
    ours: Mapping[str, str] | None = None
    within: float = 0.0
    relative: float = 0.0
    of_width: float = 0.0

    @property
    def is_tolerance(self) -> bool:
        """Whether the reason only bounds the difference, so that the numbers are not explained item by item."""
        return bool(self.within or self.relative or self.of_width)

    def covers(self, number: PrintedNumber) -> bool:
        """Return whether the reason is about the table and the cell of this number."""
        return (
            number.paper.key == self.paper
            and number.table in self.tables
            and (not self.kinds or number.kind in self.kinds)
            and all(number.cell.get(name) in values for name, values in self.where.items())
        )

    def explains(self, number: PrintedNumber, ours: float, context: RecipeContext, *, from_models: bool) -> bool:
        """Return whether the recomputed value (`ours`) differs from the printed number as the reason predicts."""
        if self.ours is not None:
            expected = self.ours.get(number.cell["metric"])
            return expected is not None and matches_printed(expected, ours, number.digits)
        if self.other_cell is not None:
            source = find_source(number, from_models=from_models, other_cell=self.other_cell)
            try:
                ours = context.compute_numbers(source.recipe)[source.key] if source.recipe else ours
            except (NotAvailable, KeyError):
                return False
        return matches_printed(number.text, ours, number.digits) or self._is_within_tolerance(number, ours)

    def _is_within_tolerance(self, number: PrintedNumber, ours: float) -> bool:
        printed = float(number.text)
        rounding = 0.5 * 10.0**-number.digits if self.of_width else 0.0
        reach = max(self.within, self.relative * abs(printed), self.of_width * number.width + rounding)
        return abs(ours - printed) <= reach + NOISE


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark on tables whose numbers agree with the printed ones or could not be recomputed."""

    paper: str
    tables: tuple[str, ...]
    text: str
    evidence: str


@cache
def load_reasons() -> tuple[Reason, ...]:
    """Return all known reasons; more specific reasons are first."""
    return tuple(Reason(**_convert_lists(entry)) for entry in _read_file()["reason"])


@cache
def load_remarks() -> tuple[Remark, ...]:
    """Return all remarks."""
    return tuple(Remark(**_convert_lists(entry)) for entry in _read_file()["remark"])


def find_reason(number: PrintedNumber, ours: float, context: RecipeContext, *, from_models: bool) -> Reason | None:
    """Return the known reason why a printed number differs from the recomputed value `ours`; None if there is none."""
    for reason in load_reasons():
        if reason.covers(number) and reason.explains(number, ours, context, from_models=from_models):
            return reason
    return None


def _read_file() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("reasons.toml").read_text(encoding="utf-8"))


def _convert_lists(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()}
