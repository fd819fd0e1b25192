"""Slopes of measures by the size of models."""

from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from tiltmeter.comparing.group_difference import build_members_row
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.size_regression import Slope
from tiltmeter.measures.verdict_rule import ALPHA
from tiltmeter.printable_text import escape_row

# The value of the field `family` for the common slope within all model families.
POOLED = "within families"


@dataclass(frozen=True, slots=True)
class SizedModel:
    """A model with its family, number of parameters, and its value on the shared items with an interval."""

    model: str
    family: str
    parameters: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class SizeSlope:
    """The slope of a measure by size, in one model family or within all families (POOLED).

    The slope is the change of the measure if the number of parameters is ten times larger. `p_holm` is the p-value
    corrected by Holm's method for a test family of `tests` slopes. A test family has all slopes of one measure in one
    part and language; the common slopes within all families are corrected separately.
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
        """Whether the slope is significant for these models after the correction for multiple tests."""
        return self.p_holm < ALPHA

    def to_dict(self) -> dict[str, Any]:
        """Return the slope as a dictionary for JSON."""
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
        """Return a line with the number of slopes."""
        significant = sum(slope.significant for slope in self.slopes)
        return f"<SizeComparison: {len(self.slopes):,} slopes, {significant:,} significant>"

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each slope."""
        rows = []
        for one in self.slopes:
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
                    **build_members_row(one.estimate.over_members),
                }
            )
        return pd.DataFrame([escape_row(row) for row in rows])

    def _repr_html_(self) -> str:
        """Return the slopes as an HTML table for notebooks."""
        return str(self.to_frame().to_html(index=False, border=0, float_format="{:.4g}".format, notebook=True))
