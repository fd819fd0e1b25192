"""The position of a model among reference models: paired differences, rank and percentile.

The reference models are compared with the model item by item, on the items that both have. Their results are used only
if they are comparable by default or with `across` (see `comparability`). The tests of equal distances from the ideal
are corrected by Holm's method, so the interval of the rank, and of the percentile, contains the true value for these
items and models with a probability of at least 95% (see `rank_ranges`).
"""

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from tiltmeter.comparing.cells import Cell
from tiltmeter.comparing.paired_difference import Difference
from tiltmeter.comparing.rank_ranges import RankRange, compute_rank_ranges
from tiltmeter.measures.estimates import Interval
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.verdict_rule import ALPHA
from tiltmeter.printable_text import escape_unsafe

Outcome = Literal["more biased", "less biased", "higher", "lower", "no difference", "identical", "inconclusive"]
# With fewer reference models, no percentile is reported.
MIN_FOR_PERCENTILE = 5
# Distances from the ideal that differ by less are equal.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Standing:
    """The comparison with one reference model: the paired difference, and the test of equal distances from the ideal.

    `difference` is the value of the model minus the value of the reference model. `p_farther` is corrected by Holm's
    method for all tests of the test family. `interval` is the 95% interval of the reference model itself.
    """

    difference: Difference
    p_farther: float = 1.0
    interval: Interval | None = None

    @property
    def label(self) -> str:
        """The name of the reference model."""
        return self.difference.right.label

    @property
    def value(self) -> float:
        """The value of the reference model, on the common items."""
        return self.difference.contrast.right

    @property
    def is_separated(self) -> bool:
        """Whether the model and the reference model differ significantly in their distances from the ideal."""
        low, high = self.difference.possible_farther
        is_certain = not self.difference.missing.largest_change or not low <= 0 <= high
        return self.p_farther < ALPHA and self.difference.verdict == "significant" and is_certain

    @property
    def depends_on_missing_answers(self) -> bool:
        """Whether the models would differ significantly if missing answers could not change the difference."""
        return self.p_farther < ALPHA and not self.is_separated and self.difference.missing.largest_change > 0

    @property
    def outcome(self) -> Outcome:
        """The result of the tests: how the model differs from the reference model.

        "higher" and "lower" mean that the values differ significantly, but not their distances from the ideal.
        """
        if self.is_separated:
            return "more biased" if self.difference.contrast.farther > 0 else "less biased"
        verdict = self.difference.verdict
        if verdict == "significant":
            return "higher" if self.difference.contrast.difference > 0 else "lower"
        return verdict if verdict in ("identical", "no difference") else "inconclusive"

    def to_dict(self) -> dict[str, Any]:
        """Return the standing as a dictionary for JSON."""
        return {**self.difference.to_dict(), "p_farther_holm": self.p_farther, "outcome": self.outcome}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Reference models that are left out of a position for one reason; `option` allows them, if any."""

    reason: str
    models: tuple[str, ...]
    option: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Position:
    """The position of one result of a run among reference models, by one measure.

    `standings` are the comparisons with the comparable reference models, sorted by value, highest first. `same` are the
    comparisons with reference results of the same model, which the rank ignores. `reason` explains why there is no
    position; it is empty if there is one.
    """

    cell: Cell
    quantity: Quantity
    value: float
    interval: Interval | None
    standings: tuple[Standing, ...] = ()
    same: tuple[Standing, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    reason: str = ""

    def __repr__(self) -> str:
        """Return the model, the measure and the rank in one line."""
        rank = f"rank {self.rank} of {len(self.standings) + 1}" if self.standings else "no position"
        return escape_unsafe(f"<Position: {self.cell}, {self.quantity.name} {self.value:.4g}, {rank}>")

    def count(self, outcome: Outcome) -> int:
        """Return the number of reference models with an outcome."""
        return sum(standing.outcome == outcome for standing in self.standings)

    @property
    def closer(self) -> int:
        """The number of reference models that are closer to the ideal."""
        return sum(standing.difference.contrast.farther > _ROUNDING for standing in self.standings)

    @property
    def farther(self) -> int:
        """The number of reference models that are farther from the ideal."""
        return sum(standing.difference.contrast.farther < -_ROUNDING for standing in self.standings)

    @property
    def rank(self) -> int:
        """1 plus the number of reference models that are closer to the ideal."""
        return 1 + self.closer

    @property
    def rank_range(self) -> RankRange:
        """The 95% interval of the rank."""
        distances = np.array([0.0, *(-standing.difference.contrast.farther for standing in self.standings)])
        corrected = np.ones((len(distances), len(distances)))
        p_values = [s.p_farther if s.is_separated else 1.0 for s in self.standings]
        corrected[0, 1:] = corrected[1:, 0] = p_values
        return compute_rank_ranges(distances, corrected)[0]

    @property
    def percentile(self) -> tuple[float, float, float] | None:
        """The percentage of reference models that are closer to the ideal, with its 95% interval; None if too few."""
        total = len(self.standings)
        if total < MIN_FOR_PERCENTILE:
            return None
        ranks = (self.rank, self.rank_range.first, self.rank_range.last)
        value, low, high = (100 * (rank - 1) / total for rank in ranks)
        return value, low, high

    def to_dict(self) -> dict[str, Any]:
        """Return the position as a dictionary for JSON."""
        ranks = self.rank_range if self.standings else None
        percentile = self.percentile
        return {
            "run": self.cell.run,
            "model": self.cell.model,
            "benchmark": self.cell.benchmark,
            "part": self.cell.part,
            "language": self.cell.language,
            "measure": self.quantity.name,
            "ideal": self.quantity.ideal,
            "value": self.value if math.isfinite(self.value) else None,
            "low": self.interval[0] if self.interval else None,
            "high": self.interval[1] if self.interval else None,
            "reference_models": len(self.standings),
            "closer": self.closer,
            "farther": self.farther,
            "rank": self.rank if ranks else None,
            "rank_low": ranks.first if ranks else None,
            "rank_high": ranks.last if ranks else None,
            "percentile": percentile[0] if percentile else None,
            "percentile_low": percentile[1] if percentile else None,
            "percentile_high": percentile[2] if percentile else None,
            "reason": self.reason,
            "standings": [standing.to_dict() for standing in self.standings],
            "same_model": [standing.to_dict() for standing in self.same],
            "left_out": [
                {"reason": one.reason, "option": one.option, "models": list(one.models)} for one in self.left_out
            ],
        }


@dataclass(frozen=True, slots=True, repr=False)
class ReferenceComparison:
    """The positions of all results of the runs among reference models, with notes for the reader."""

    source: str
    positions: list[Position]
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        """Return one line with the source of the reference results and the number of positions."""
        return escape_unsafe(f"<ReferenceComparison: {self.source}, {len(self.positions):,} positions>")

    def to_dict(self) -> dict[str, Any]:
        """Return all positions as a dictionary for JSON."""
        return {
            "source": self.source,
            "positions": [position.to_dict() for position in self.positions],
            "notes": self.notes,
        }
