"""The result of a comparison of a model before and after a change: did the change help, and at what cost elsewhere?"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import pandas as pd

from tiltmeter.comparing.paired_difference import Difference
from tiltmeter.comparing.tuning_overlap import TuningOverlap
from tiltmeter.measures.estimates import Interval
from tiltmeter.measures.records import OVERALL
from tiltmeter.measures.verdict_rule import ALPHA
from tiltmeter.printable_text import escape_row, escape_unsafe
from tiltmeter.runs.run_items import get_item_texts

BEFORE, AFTER = "before", "after"
_FLIPPED_COLUMNS = ("subject", "part", "item", "direction", "change", "attributes", "texts")

# "target": what the change was meant to improve. "quality": LMS or an accuracy. "elsewhere": all other results.
ChangeRole = Literal["target", "elsewhere", "quality"]
ChangeOutcome = Literal[
    "closer", "farther", "not worse", "inconclusive", "identical", "contradictory", "not interpretable"
]
ChangeVerdict = Literal["helped", "helped but harmed elsewhere", "no evidence", "made worse"]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ChangeRow:
    """The change of one result. In `difference`, the left side is the model after the change, the right side before it.

    `where` selects the items by an attribute, for example one bias type; it is empty for all items. `margin` is the
    largest increase of the distance from the ideal that counts as not worse; None if the measure has no margin.
    `p_closer` and `p_farther` test whether the result is closer to or farther from the ideal, corrected by Holm's
    method for `tests` tests: those of all targets, or those of all other results.
    """

    role: ChangeRole
    difference: Difference
    where: Mapping[str, str]
    margin: float | None
    p_closer: float
    p_farther: float
    tests: int

    def __repr__(self) -> str:
        """Return the result, the values before and after, and the outcome in one line."""
        values = f"{self.before:.4g} to {self.after:.4g}"
        return escape_unsafe(f"<ChangeRow: {self.role}, {self.name}: {values}, {self.outcome}>")

    @property
    def location(self) -> str:
        """The benchmark, language and part, such as `stereoset:en intrasentence`; without the part if it is pooled."""
        part = "" if self.difference.part in ("all", OVERALL) else f" {self.difference.part}"
        return f"{self.difference.subject}{part}"

    @property
    def name(self) -> str:
        """The location, the group of items and the measure, such as `stereoset:en, gender: SS`."""
        return f"{', '.join([self.location, *self.where.values()])}: {self.difference.quantity.name}"

    @property
    def before(self) -> float:
        """The value before the change, on the items measured before and after it."""
        return self.difference.contrast.right

    @property
    def after(self) -> float:
        """The value after the change, on the items measured before and after it."""
        return self.difference.contrast.left

    @property
    def farther(self) -> float:
        """The distance from the ideal after the change minus that before it; negative values are improvements."""
        return self.difference.contrast.farther

    @property
    def interval(self) -> Interval:
        """The 95% interval of `farther`, widened by the largest change that missing answers could cause."""
        return self.difference.possible_farther

    @property
    def outcome(self) -> ChangeOutcome:
        """The result of the tests: closer to the ideal, farther from it, not worse beyond the margin, or undecided."""
        difference, (low, high) = self.difference, self.interval
        if difference.doubts:
            return "not interpretable"
        if difference.contradiction:
            return "contradictory"
        if difference.contrast.test == "identical":
            return "identical"
        if self.p_closer < ALPHA and high < 0:
            return "closer"
        is_within_margin = self.margin is not None and high < self.margin
        # A loss of quality within the margin is accepted; an additional bias is not.
        if self.p_farther < ALPHA and low > 0 and not (self.role == "quality" and is_within_margin):
            return "farther"
        return "not worse" if is_within_margin else "inconclusive"

    def list_flips(self) -> list[tuple[tuple[str, str], float, bool]]:
        """Return the items whose preference flipped: (part and id, change, whether it is towards the stereotype)."""
        difference = self.difference
        directions = difference.left.cell.compute_directions(difference.quantity, difference.items)
        by_item = dict(zip(difference.items, directions, strict=True))
        return [(item, gap, bool(gap * by_item[item] > 0)) for item, gap in difference.list_disagreements()]

    def to_dict(self) -> dict[str, Any]:
        """Return the row as a dictionary for JSON."""
        low, high = self.interval
        return {
            "role": self.role,
            "where": dict(self.where),
            "outcome": self.outcome,
            "before": self.before,
            "after": self.after,
            "farther": self.farther,
            "low": low,
            "high": high,
            "margin": self.margin,
            "p_closer": self.p_closer,
            "p_farther": self.p_farther,
            "tests": self.tests,
            "difference": self.difference.to_dict(),
        }


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ModelChange:
    """The comparison of a model before and after a change.

    `before` and `after` are the names of the models. `rows` are all compared results; those of the target are first.
    `overlaps` are the numbers of items that are similar to the texts that the model was tuned on, and `without_overlap`
    the rows of the targets without these items. `sentence` is the answer to the question whether the change helped.
    """

    before: str
    after: str
    verdict: ChangeVerdict
    sentence: str
    rows: list[ChangeRow]
    quality_margin: float
    overlaps: list[TuningOverlap] = field(default_factory=list)
    without_overlap: list[ChangeRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        """Return the verdict and the number of results in one line."""
        models = f"{self.before} to {self.after}"
        return escape_unsafe(f"<ModelChange: {models}: {self.verdict}, {len(self.rows):,} results>")

    def select_rows(self, *roles: ChangeRole) -> list[ChangeRow]:
        """Return the rows with one of these roles."""
        return [row for row in self.rows if row.role in roles]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as a dictionary for JSON."""
        return {
            "before": self.before,
            "after": self.after,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "quality_margin": self.quality_margin,
            "rows": [row.to_dict() for row in self.rows],
            "overlaps": [{**asdict(overlap), "items": sorted(overlap.items)} for overlap in self.overlaps],
            "without_overlap": [row.to_dict() for row in self.without_overlap],
            "notes": self.notes,
        }

    def list_flipped_items(self, top: int = 0) -> pd.DataFrame:
        """Return the items whose preference flipped: for each target at most `top`, or all if `top` is 0.

        The item with the largest change is first. `direction` is "towards" or "away" from the stereotype. The column
        `texts` is empty if the run has no texts, or if the licence of the data set does not allow showing them.
        """
        rows = [entry for row in self.select_rows("target") for entry in _list_flipped_items(row, top)]
        return pd.DataFrame([escape_row(row) for row in rows], columns=list(_FLIPPED_COLUMNS))

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each result."""
        return pd.DataFrame([escape_row(_build_table_row(row)) for row in self.rows])

    def _repr_html_(self) -> str:
        """Return the results as an HTML table for notebooks."""
        return str(self.to_frame().to_html(index=False, border=0, float_format="{:.4g}".format, notebook=True))


def _build_table_row(row: ChangeRow) -> dict[str, Any]:
    low, high = row.interval
    return {
        "role": row.role,
        "subject": row.difference.subject,
        "part": row.difference.part,
        "group": ", ".join(row.where.values()) or "all",
        "measure": row.difference.quantity.name,
        "before": row.before,
        "after": row.after,
        "farther": row.farther,
        "low": low,
        "high": high,
        "n": row.difference.contrast.n,
        "p closer": row.p_closer,
        "p farther": row.p_farther,
        "outcome": row.outcome,
    }


def _list_flipped_items(row: ChangeRow, top: int) -> list[dict[str, object]]:
    difference = row.difference
    cell = difference.left.cell
    texts = get_item_texts(cell.texts) if cell.texts is not None else {}
    entries: list[dict[str, object]] = []
    for key, gap, is_towards in row.list_flips()[: top or None]:
        text = texts.get(key[1])
        words = [] if text is None else [text.context, *(f"{role}: {words}" for role, words in text.texts.items())]
        entries.append(
            {
                "subject": difference.subject,
                "part": key[0],
                "item": key[1],
                "direction": "towards" if is_towards else "away",
                "change": gap,
                "attributes": ", ".join(cell.get_attributes(key).values()),
                "texts": " / ".join(filter(None, words)),
            }
        )
    return entries
