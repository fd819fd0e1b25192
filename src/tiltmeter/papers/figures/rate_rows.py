"""The rates of GEST's stereotypes as printed in a table and as recomputed, row by row."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from scipy.stats import rankdata

from tiltmeter.forms.gest import FEMALE, MALE, STEREOTYPES
from tiltmeter.papers.reproduction import ReproducedNumber
from tiltmeter.papers.sources.table_facts import compute_stereotype_rate

PRINTED, RECOMPUTED, FROM_RUNS = "printed", "recomputed", "from runs"
SOURCES = (PRINTED, RECOMPUTED, FROM_RUNS)


@dataclass(frozen=True, slots=True)
class Rate:
    """The masculine rate of one stereotype with the ends of its interval, if they are known."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class RateRow:
    """The rates of one row of a table: of a model with one template, or of a system or model in one language."""

    table: str
    system: str
    language: str
    template: str
    source: str
    rates: dict[int, Rate] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The template or the language of the row."""
        return f"template {self.template}" if self.template else self.language

    @property
    def is_xlm(self) -> bool:
        """Whether the model is one of the XLM models, to which the paper limits its comparison of Slavic models."""
        return "xlm" in self.system

    @property
    def is_complete(self) -> bool:
        """Whether the row has the rates of all stereotypes."""
        return set(STEREOTYPES) <= set(self.rates)

    def average(self, side: Iterable[int]) -> float:
        """Return the arithmetic mean of the rates of stereotypes."""
        return fmean(self.rates[number].value for number in side)

    @property
    def stereotype_rate(self) -> float:
        """f_s, the difference between the two sides, for translation systems; g_s, their ratio, for models."""
        if self.table == "8":
            return self.average(MALE) - self.average(FEMALE)
        return compute_stereotype_rate({number: rate.value for number, rate in self.rates.items()})

    def rank_stereotypes(self) -> dict[int, float]:
        """Return the feminine rank of each stereotype: 1 for the lowest rate; equal rates share the mean rank."""
        ranks = rankdata([rate.value for rate in self.rates.values()])
        return {number: float(rank) for number, rank in zip(self.rates, ranks, strict=True)}


def build_rate_rows(outcomes: Sequence[ReproducedNumber]) -> list[RateRow]:
    """Return the printed rows, each followed by its recomputed row if its rates could be recomputed."""
    rows: dict[tuple[str, ...], RateRow] = {}
    ends: dict[tuple[str, ...], dict[str, float]] = {}
    for outcome in outcomes:
        cell = outcome.printed.cell
        for source, value in ((PRINTED, float(outcome.printed.text)), (RECOMPUTED, outcome.ours)):
            if value is not None:
                row = RateRow(outcome.printed.table, cell["system"], cell["language"], cell["template"], source)
                place = (row.table, row.system, row.language, row.template, row.source)
                rows.setdefault(place, row)
                ends.setdefault((*place, cell["stereotype"]), {})[outcome.printed.kind] = value
    for (*row_place, stereotype), found in ends.items():
        if "value" in found:
            rate = Rate(found["value"], found.get("lower end"), found.get("upper end"))
            rows[tuple(row_place)].rates[int(stereotype)] = rate
    return [row for row in rows.values() if row.rates]


def select_complete_rows(rows: Iterable[RateRow]) -> list[RateRow]:
    """Return the rows with the rates of all stereotypes."""
    return [row for row in rows if row.is_complete]


def group_by_source(rows: Iterable[RateRow]) -> Mapping[str, list[RateRow]]:
    """Return the rows of each source, printed first; sources without rows are left out."""
    listed = list(rows)
    groups = {source: [row for row in listed if row.source == source] for source in SOURCES}
    return {source: group for source, group in groups.items() if group}
