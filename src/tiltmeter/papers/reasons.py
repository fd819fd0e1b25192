"""Known reasons why printed numbers differ, and remarks on tables; both are read from reasons.toml."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from tiltmeter.papers.printed import Printed
from tiltmeter.papers.rounding import NOISE, agrees
from tiltmeter.papers.sources.desk import Desk
from tiltmeter.papers.sources.lookup import find
from tiltmeter.papers.sources.recipe import NotAvailable


@dataclass(frozen=True, slots=True)
class Reason:
    """Why some numbers differ. It applies to a number only if it predicts its value; see `reasons.toml`."""

    id: str
    paper: str
    tables: tuple[str, ...]
    summary: str
    evidence: str
    where: Mapping[str, list[str]] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    instead: Mapping[str, str] | None = None
    ours: Mapping[str, str] | None = None
    within: float = 0.0
    relative: float = 0.0
    of_width: float = 0.0

    def covers(self, number: Printed) -> bool:
        """Whether the number is in the tables and cells that the reason is about."""
        return (
            number.paper.key == self.paper
            and number.table in self.tables
            and (not self.kinds or number.kind in self.kinds)
            and all(number.cell.get(name) in values for name, values in self.where.items())
        )

    def explains(self, number: Printed, ours: float, desk: Desk, *, from_models: bool = False) -> bool:
        """Whether the number differs as the reason predicts."""
        if self.ours is not None:
            expected = self.ours.get(number.cell["metric"])
            return expected is not None and agrees(expected, ours, number.digits)
        if self.instead is not None:
            source = find(number, from_models=from_models, instead=self.instead)
            try:
                ours = desk.compute(source.recipe)[source.key] if source.recipe else ours
            except (NotAvailable, KeyError):
                return False
        return agrees(number.text, ours, number.digits) or self._is_near(number, ours)

    def _is_near(self, number: Printed, ours: float) -> bool:
        printed = float(number.text)
        rounding = 0.5 * 10.0**-number.digits if self.of_width else 0.0
        reach = max(self.within, self.relative * abs(printed), self.of_width * number.width + rounding)
        return abs(ours - printed) <= reach + NOISE


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark on tables whose numbers agree or could not be recomputed."""

    paper: str
    tables: tuple[str, ...]
    text: str
    evidence: str


@cache
def reasons() -> tuple[Reason, ...]:
    """All known reasons, the more specific ones first."""
    return tuple(Reason(**_tuples(entry)) for entry in _content()["reason"])


@cache
def remarks() -> tuple[Remark, ...]:
    """All remarks."""
    return tuple(Remark(**_tuples(entry)) for entry in _content()["remark"])


def reason_for(number: Printed, ours: float, desk: Desk, *, from_models: bool = False) -> Reason | None:
    """The known reason why a number differs, if there is one."""
    for reason in reasons():
        if reason.covers(number) and reason.explains(number, ours, desk, from_models=from_models):
            return reason
    return None


def _content() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("reasons.toml").read_text(encoding="utf-8"))


def _tuples(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()}
