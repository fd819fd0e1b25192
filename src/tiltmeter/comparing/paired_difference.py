"""Differences between two models or languages on the same items, with tests, corrected p-values and verdicts."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Generic, Literal, Protocol, TypeVar

import pandas as pd

from tiltmeter.comparing.cells import Cell
from tiltmeter.comparing.missing_answer_bounds import NO_MISSING_ANSWERS, MissingAnswerBounds
from tiltmeter.measures.contrasts import Contrast, find_disagreements
from tiltmeter.measures.estimates import Interval
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.multiple_testing import adjust_holm, correct_detectable_effect, group_indexes_by_key
from tiltmeter.measures.records import OVERALL
from tiltmeter.measures.verdict_rule import ALPHA, PORTION, WHOLE_RUN, Families
from tiltmeter.printable_text import escape_row, escape_unsafe

DifferenceKind = Literal[
    "not interpretable", "contradictory", "identical", "significant", "no difference", "inconclusive"
]


class HasLabel(Protocol):
    """A side of a comparison that has a label."""

    @property
    def label(self) -> str:
        """The label that distinguishes the two sides."""
        ...


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class PairedDifference:
    """The difference in a measure between two sides, on the items that both sides have.

    `subject` names the common properties of the two sides, such as `stereoset:de`. `p_holm` is the p-value corrected by
    Holm's method for a test family of `tests` tests (see `correct_test_families`). `p_equivalence` and `detectable`
    (the minimum detectable difference) are corrected in the same way. `doubts` are the reasons why a side is not
    interpretable in a measure of bias. `contradiction` describes the sides whose parts or measures contradict each
    other, and the parts whose significant differences have opposite directions. `missing` is how much lower and higher
    the difference could be if answers that are missing were known; a verdict must hold for all of these values.
    """

    subject: str
    benchmark: str
    part: str
    left: HasLabel
    right: HasLabel
    quantity: Quantity
    contrast: Contrast
    p_holm: float = 1.0
    p_equivalence: float | None = None
    tests: int = 1
    doubts: tuple[str, ...] = ()
    contradiction: str = ""
    missing: MissingAnswerBounds = NO_MISSING_ANSWERS

    def __repr__(self) -> str:
        """Return the two sides, the measure, the difference and its verdict in one line."""
        sides = f"{self.left.label} and {self.right.label}"
        part = "" if self.part in ("all", OVERALL) else f", {self.part}"
        return escape_unsafe(
            f"<{type(self).__name__}: {self.subject}{part}, {sides}: {self.quantity.name} "
            f"{self.contrast.difference:+.4g} [{self.contrast.low:+.4g}, {self.contrast.high:+.4g}], {self.verdict}>"
        )

    @property
    def pair(self) -> tuple[str, ...]:
        """The key of the two sides and the measure; it is equal for all parts."""
        return (self.subject, self.quantity.name, self.left.label, self.right.label)

    @property
    def labels(self) -> tuple[str, str]:
        """The labels of the two sides."""
        return self.left.label, self.right.label

    @property
    def significant(self) -> bool:
        """Whether the verdict is that the difference is significant after the correction for multiple tests."""
        return self.verdict == "significant"

    @property
    def detectable(self) -> float:
        """The minimum detectable difference after the correction for multiple tests."""
        contrast = self.contrast
        return correct_detectable_effect(contrast.detectable, contrast.df, self.tests)

    @property
    def verdict(self) -> DifferenceKind:
        """The verdict on the difference (see `measures.verdict_rule`)."""
        if self.doubts:
            return "not interpretable"
        if self.contradiction:
            return "contradictory"
        if self.contrast.test == "identical":
            return "identical"
        without_missing = self._verdict_on_given_answers
        return (
            "inconclusive"
            if self.missing.largest_change and self._depends_on_missing_answers(without_missing)
            else without_missing
        )

    @property
    def _verdict_on_given_answers(self) -> DifferenceKind:
        if self.p_holm < ALPHA:
            return "significant"
        equivalent = self.p_equivalence is not None and self.p_equivalence < ALPHA / 2
        return "no difference" if equivalent else "inconclusive"

    def _depends_on_missing_answers(self, verdict: DifferenceKind) -> bool:
        """Return whether a verdict is wrong for some possible outcome of the missing answers."""
        low, high = self.possible
        if verdict == "significant":
            return low <= 0 <= high
        return max(abs(low), abs(high)) >= (self.quantity.measure.margin or 0.0)

    @property
    def possible(self) -> Interval:
        """The interval of the difference, widened by what missing answers could change."""
        return self.contrast.low - self.missing.below, self.contrast.high + self.missing.above

    @property
    def possible_farther(self) -> Interval:
        """The interval of `contrast.farther`, widened by what missing answers could change."""
        change = self.missing.largest_change
        return self.contrast.farther_low - change, self.contrast.farther_high + change

    def to_row(self) -> dict[str, Any]:
        """Return the difference as a row of a table."""
        c = self.contrast
        return {
            "subject": self.subject,
            "part": self.part,
            "left": self.left.label,
            "right": self.right.label,
            "measure": self.quantity.name,
            "left value": c.left,
            "right value": c.right,
            "difference": c.difference,
            "low": c.low,
            "high": c.high,
            "n": c.n,
            "p": self.p_holm,
            "verdict": self.verdict,
        }


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: its scores (`cell`), and the label that distinguishes it from the other side."""

    label: str
    cell: Cell


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Difference(PairedDifference):
    """The difference in a measure between two models, or between two languages of a model, on the shared items.

    `only_left` is the number of items that only the left side has, `only_right` the number that only the right side
    has.
    """

    left: Side
    right: Side
    items: pd.Index
    only_left: int
    only_right: int

    @property
    def pair(self) -> tuple[str, ...]:
        """The key of the two sides, their runs and the measure; it is equal for all parts."""
        sides = (self.left.label, self.left.cell.run, self.right.label, self.right.cell.run)
        return (self.subject, self.quantity.name, *sides)

    def list_disagreements(self) -> list[tuple[tuple[str, str], float]]:
        """Return the items on which the two sides disagree, with their differences; the largest difference is first."""
        ours, theirs = (side.cell.compute_item_values(self.quantity, self.items) for side in (self.left, self.right))
        apart = find_disagreements(self.quantity, ours, theirs)
        gaps = (ours - theirs).sum(axis=0)
        disagreed = [(self.items[index], float(gaps[index])) for index in map(int, apart.nonzero()[0])]
        return sorted(disagreed, key=lambda entry: (-abs(entry[1]), entry[0]))

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as a dictionary for JSON."""

        def describe(side: Side) -> dict[str, str]:
            cell = side.cell
            return {
                "run": cell.run,
                "model": cell.model,
                "language": cell.language,
                "protocol": cell.protocol,
                "family": cell.conditions.family,
                "kind": cell.conditions.kind or "unknown",
            }

        return {
            "benchmark": self.benchmark,
            "part": self.part,
            "measure": self.quantity.name,
            "ideal": self.quantity.ideal,
            "left": describe(self.left),
            "right": describe(self.right),
            "only_left": self.only_left,
            "only_right": self.only_right,
            **{
                name if name not in ("left", "right") else f"value_{name}": v
                for name, v in asdict(self.contrast).items()
            },
            "detectable": self.detectable,
            "p_holm": self.p_holm,
            "p_equivalence": self.p_equivalence,
            "verdict": self.verdict,
            "doubts": list(self.doubts),
            "contradiction": self.contradiction,
            "possible_low": self.possible[0],
            "possible_high": self.possible[1],
            "tests": self.tests,
            "significant": self.significant,
        }


Corrected = TypeVar("Corrected", bound=PairedDifference)


@dataclass(frozen=True, slots=True, repr=False)
class DifferenceTable(Generic[Corrected]):
    """A list of differences, with notes for the reader."""

    differences: list[Corrected]
    notes: list[str]

    def __repr__(self) -> str:
        """Return a line with the number of differences."""
        significant = sum(difference.verdict == "significant" for difference in self.differences)
        return f"<{type(self).__name__}: {len(self.differences):,} differences, {significant:,} significant>"

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each difference."""
        return pd.DataFrame([escape_row(difference.to_row()) for difference in self.differences])

    def _repr_html_(self) -> str:
        """Return the differences as an HTML table for notebooks."""
        return str(self.to_frame().to_html(index=False, border=0, float_format="{:.4g}".format, notebook=True))


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(DifferenceTable[Difference]):
    """All differences between models or languages, with notes for the reader."""


def correct_test_families(differences: Sequence[Corrected], families: Families = PORTION) -> list[Corrected]:
    """Correct the p-values by Holm's method in each test family.

    A test family has the differences of one measure in one part: between models in one language, or between languages
    of one model. With `WHOLE_RUN`, all differences are one family.
    """
    corrected = list(differences)
    for indexes in group_indexes_by_key(differences, lambda d: get_test_family(d, families)):
        for index, p_holm in zip(indexes, adjust_holm([differences[i].contrast.p_value for i in indexes]), strict=True):
            corrected[index] = replace(differences[index], p_holm=p_holm, tests=len(indexes))
        for index, p_value in zip(
            indexes, adjust_holm([_compute_equivalence_p(differences[i]) for i in indexes]), strict=True
        ):
            if differences[index].contrast.p_equivalence is not None:
                corrected[index] = replace(corrected[index], p_equivalence=p_value)
    return corrected


def get_test_family(difference: PairedDifference, families: Families) -> tuple[str, ...]:
    """Return the key that all differences of a test family share."""
    if families == WHOLE_RUN:
        return ()
    return difference.benchmark, difference.subject, difference.part, difference.quantity.name


def mark_contradictions(differences: Sequence[Corrected]) -> list[Corrected]:
    """Return the differences; add a `contradiction` over all parts if single parts differ in opposite directions."""
    parts = _find_significant_parts(differences)
    checked = []
    for difference in differences:
        sides = parts.get(difference.pair, {}) if difference.part == OVERALL else {}
        if sides and sides[True] and sides[False]:
            higher = (
                f"{side.label} is higher in {', '.join(sides[up])}"
                for side, up in ((difference.left, True), (difference.right, False))
            )
            reasons = filter(None, (difference.contradiction, ", ".join(higher)))
            difference = replace(difference, contradiction="; ".join(reasons))
        checked.append(difference)
    return checked


def _find_significant_parts(
    differences: Sequence[PairedDifference],
) -> dict[tuple[str, ...], dict[bool, list[str]]]:
    """Return the parts with a significantly higher (True) or lower (False) left side, for each pair of sides.

    A contradiction of parts is one claim, so the p-values are corrected over the parts.
    """
    single = [difference for difference in differences if difference.part != OVERALL]
    parts: dict[tuple[str, ...], dict[bool, list[str]]] = {}
    for indexes in group_indexes_by_key(single, lambda d: d.pair):
        for index, p_value in zip(indexes, adjust_holm([single[i].p_holm for i in indexes]), strict=True):
            if p_value < ALPHA:
                sides = parts.setdefault(single[index].pair, {True: [], False: []})
                sides[single[index].contrast.difference > 0].append(single[index].part)
    return parts


def _compute_equivalence_p(difference: PairedDifference) -> float:
    return 1.0 if difference.contrast.p_equivalence is None else difference.contrast.p_equivalence
