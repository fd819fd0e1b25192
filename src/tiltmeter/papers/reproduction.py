"""Recompute the numbers of the papers' tables and compare them with the printed ones."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tiltmeter.errors import UsageError
from tiltmeter.papers.printed import Paper, Printed, paper, papers, printed
from tiltmeter.papers.reasons import Reason, Remark, reason_for, remarks
from tiltmeter.papers.rounding import agrees
from tiltmeter.papers.sources.desk import Desk, UsedFile
from tiltmeter.papers.sources.lookup import find
from tiltmeter.papers.sources.recipe import NotAvailable, NumberSource

ALL = "all"


class Status(StrEnum):
    """The result of comparing a number."""

    AGREES = "agrees"
    KNOWN = "differs for a known reason"
    DIFFERS = "differs"
    ABSENT = "not available"


@dataclass(frozen=True, slots=True)
class ReproducedNumber:
    """A printed number with the recomputed one and the result. `note` says why a number is not available."""

    printed: Printed
    status: Status
    source: str
    ours: float | None = None
    reason: Reason | None = None
    note: str = ""


@dataclass(frozen=True)
class Reproduction:
    """The outcomes of all selected numbers, and the released files used."""

    outcomes: Sequence[ReproducedNumber]
    files: Mapping[str, UsedFile]

    @property
    def holds(self) -> bool:
        """Whether no number differs without a known reason."""
        return all(outcome.status is not Status.DIFFERS for outcome in self.outcomes)

    def papers(self) -> list[Paper]:
        """The papers of the selected numbers."""
        return list({outcome.printed.paper.key: outcome.printed.paper for outcome in self.outcomes}.values())

    def tables(self, source: Paper) -> dict[str, list[ReproducedNumber]]:
        """The outcomes of a paper by table."""
        tables: dict[str, list[ReproducedNumber]] = {}
        for outcome in self.outcomes:
            if outcome.printed.paper.key == source.key:
                tables.setdefault(outcome.printed.table, []).append(outcome)
        return tables

    def remarks(self) -> list[Remark]:
        """The remarks on the tables of the selected numbers."""
        tables = {(outcome.printed.paper.key, outcome.printed.table) for outcome in self.outcomes}
        return [remark for remark in remarks() if any((remark.paper, table) in tables for table in remark.tables)]


def count(outcomes: Iterable[ReproducedNumber]) -> dict[Status, int]:
    """The number of outcomes with each status."""
    counted = Counter(outcome.status for outcome in outcomes)
    return {status: counted[status] for status in Status}


def reproduce(
    key: str,
    *,
    table: str | None = None,
    model: str | None = None,
    language: str | None = None,
    from_models: bool = False,
    desk: Desk | None = None,
) -> Reproduction:
    """Recompute the numbers of a paper, or of all papers, and compare them with the printed ones.

    They are recomputed from the predictions and translations released with the papers, or with `from_models` by running
    the models. `model` is the name of a row in the tables.

    >>> reproduction = reproduce("oeztuerk2023", table="2")  # doctest: +SKIP
    >>> reproduction.holds  # doctest: +SKIP
    True
    """
    desk = desk or Desk()
    numbers = [number for source in _papers(key) for number in printed(source)]
    numbers = _chosen(numbers, "table", table, lambda number: number.table)
    numbers = _chosen(numbers, "model", model, lambda number: number.cell.get("model") or number.cell.get("system"))
    numbers = _chosen(numbers, "language", language, _language)
    outcomes = [_outcome(number, desk, from_models) for number in numbers]
    return Reproduction(outcomes, dict(desk.files))


def _papers(key: str) -> list[Paper]:
    return list(papers().values()) if key == ALL else [paper(key)]


def _chosen(
    numbers: list[Printed], noun: str, wanted: str | None, value: Callable[[Printed], str | None]
) -> list[Printed]:
    if wanted is None:
        return numbers
    chosen = [number for number in numbers if (value(number) or "").casefold() == wanted.casefold()]
    if not chosen:
        known = ", ".join(dict.fromkeys(name for number in numbers if (name := value(number))))
        raise UsageError(f"There is no {noun} {wanted!r} here; there is {known}.")
    return chosen


def _language(number: Printed) -> str | None:
    """The language of a number; in the thesis it is part of the name of the row."""
    if "language" in number.cell:
        return number.cell["language"] or None
    return "de" if number.cell["model"].endswith("German") else "en"


def _outcome(number: Printed, desk: Desk, from_models: bool) -> ReproducedNumber:
    source = find(number, from_models=from_models)
    name = source.recipe.name if source.recipe else ""
    try:
        ours = _value(source, desk)
    except NotAvailable as lack:
        return ReproducedNumber(number, Status.ABSENT, name, note=str(lack))
    if agrees(number.text, ours, number.digits):
        return ReproducedNumber(number, Status.AGREES, name, ours)
    reason = reason_for(number, ours, desk, from_models=from_models)
    return ReproducedNumber(number, Status.KNOWN if reason else Status.DIFFERS, name, ours, reason)


def _value(source: NumberSource, desk: Desk) -> float:
    if source.recipe is None:
        raise NotAvailable(source.lacking)
    numbers = desk.compute(source.recipe)
    if source.key not in numbers:
        raise NotAvailable(f"{source.recipe.name} does not give it.")
    return numbers[source.key]
