"""Slopes of measures by the size of models."""

from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.size_regression import Slope
from tiltmeter.measures.verdict_rule import ALPHA
from tiltmeter.printable_text import escape_row

# The name of the slope that all families have in common.
POOLED = "within families"


@dataclass(frozen=True, slots=True)
class SizedModel:
    """A model with its family and its number of parameters, and its value on the shared items with the interval."""

    model: str
    family: str
    parameters: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class SizeSlope:
    """The slope of a measure per tenfold number of parameters, of one family or, as POOLED, within all of them.

    `p_holm` is corrected over a family of `tests`: the slopes of families, or the pooled slopes, of one measure and
    benchmark.
    """

    subject: str
    benchmark: str
    part: str
    quantity: Quantity
    family: str
    models: tuple[SizedModel, ...]
    estimate: Slope
    left_out: int
    p_holm: float = 1.0
    tests: int = 1

    @property
    def significant(self) -> bool:
        """Whether the slope is significant after correction, for these models."""
        return self.p_holm < ALPHA

    def to_dict(self) -> dict[str, Any]:
        """The slope for JSON output."""
        estimate = asdict(self.estimate)
        return {
            "benchmark": self.benchmark,
            "subject": self.subject,
            "part": self.part,
            "measure": self.quantity.name,
            "family": self.family,
            "slope": estimate.pop("value"),
            **estimate,
            "p_holm": self.p_holm,
            "tests": self.tests,
            "significant": self.significant,
            "left_out": self.left_out,
            "models": [asdict(model) for model in self.models],
        }


@dataclass(frozen=True, slots=True, repr=False)
class SizeComparison:
    """All slopes by size, with notes for the reader."""

    slopes: list[SizeSlope]
    notes: list[str]

    def __repr__(self) -> str:
        """How many slopes there are, in a line."""
        significant = sum(slope.significant for slope in self.slopes)
        return f"<SizeComparison: {len(self.slopes):,} slopes, {significant:,} significant>"

    def to_frame(self) -> pd.DataFrame:
        """The slopes as a table, one row each."""
        rows = []
        for one in self.slopes:
            over = one.estimate.over_members
            rows.append(
                {
                    "subject": one.subject,
                    "part": one.part,
                    "measure": one.quantity.name,
                    "family": one.family,
                    "models": len(one.models),
                    "slope": one.estimate.value,
                    "low": one.estimate.low,
                    "high": one.estimate.high,
                    "n": one.estimate.n,
                    "p": one.p_holm,
                    "low over members": over.low if over else None,
                    "high over members": over.high if over else None,
                    "p over members": over.p_holm if over else None,
                }
            )
        return pd.DataFrame([escape_row(row) for row in rows])

    def _repr_html_(self) -> str:
        """The slopes as a table, for notebooks."""
        return str(self.to_frame().to_html(index=False, border=0, float_format="{:.4g}".format, notebook=True))
