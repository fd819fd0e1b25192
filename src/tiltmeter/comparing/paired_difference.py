"""Differences between two sides on the same items: with their tests, corrected p-values and verdicts."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Protocol, TypeVar

import pandas as pd

from tiltmeter.comparing.cells import Cell
from tiltmeter.measures.contrasts import Contrast, find_disagreements
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.multiple_testing import adjust_holm, group_indexes
from tiltmeter.measures.records import OVERALL
from tiltmeter.measures.verdict_rule import ALPHA
from tiltmeter.printable_text import escape_row, escape_unsafe

DifferenceKind = Literal[
    "not interpretable", "contradictory", "identical", "significant", "no difference", "inconclusive"
]


class Labelled(Protocol):
    """A side of a comparison, by its label."""

    @property
    def label(self) -> str:
        """The label, which distinguishes the side from the other."""
        ...


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class PairedDifference:
    """A measure compared between two sides, on the items that both have.

    `subject` is what the two sides have in common, such as `stereoset:de`. `p_holm` is the p-value corrected over a
    family of `tests`: all tests of the same measure and benchmark, those of pooled parts apart; `p_equivalence` is
    corrected in the same way. `doubts` are the reasons why a side is not interpretable, in a measure of bias;
    `contradiction` names the parts with significant differences in opposite directions.
    """

    subject: str
    benchmark: str
    part: str
    left: Labelled
    right: Labelled
    quantity: Quantity
    contrast: Contrast
    p_holm: float = 1.0
    p_equivalence: float | None = None
    tests: int = 1
    doubts: tuple[str, ...] = ()
    contradiction: str = ""

    def __repr__(self) -> str:
        """The two sides, the measure, the difference and its verdict, in a line."""
        sides = f"{self.left.label} and {self.right.label}"
        part = "" if self.part in ("all", OVERALL) else f", {self.part}"
        return escape_unsafe(
            f"<{type(self).__name__}: {self.subject}{part}, {sides}: {self.quantity.name} "
            f"{self.contrast.difference:+.4g} [{self.contrast.low:+.4g}, {self.contrast.high:+.4g}], {self.verdict}>"
        )

    @property
    def pair(self) -> tuple[str, ...]:
        """Identifies the two sides and the measure, regardless of the part."""
        return (self.subject, self.quantity.name, self.left.label, self.right.label)

    @property
    def significant(self) -> bool:
        """Whether the difference is significant after correction."""
        return self.p_holm < ALPHA

    @property
    def verdict(self) -> DifferenceKind:
        """The verdict on the difference, by the rule of `measures.rule`."""
        if self.doubts:
            return "not interpretable"
        if self.contradiction:
            return "contradictory"
        if self.contrast.test == "identical":
            return "identical"
        if self.significant:
            return "significant"
        equivalent = self.p_equivalence is not None and self.p_equivalence < ALPHA / 2
        return "no difference" if equivalent else "inconclusive"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison; `label` distinguishes it from the other."""

    label: str
    cell: Cell


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Difference(PairedDifference):
    """A measure compared between two models, or two languages of a model, on the items that both have.

    `only_left` and `only_right` count the items left out because the other side does not have them.
    """

    left: Side
    right: Side
    items: pd.Index
    only_left: int
    only_right: int

    @property
    def pair(self) -> tuple[str, ...]:
        """Identifies the two sides, their runs and the measure, regardless of the part."""
        sides = (self.left.label, self.left.cell.run, self.right.label, self.right.cell.run)
        return (self.subject, self.quantity.name, *sides)

    def list_disagreements(self) -> list[tuple[tuple[str, str], float]]:
        """The items on which the two sides disagree, by part and id, with their difference, largest first."""
        ours, theirs = (side.cell.values(self.quantity, self.items) for side in (self.left, self.right))
        apart = find_disagreements(self.quantity, ours, theirs)
        gaps = (ours - theirs).sum(axis=0)
        disagreed = [(self.items[index], float(gaps[index])) for index in map(int, apart.nonzero()[0])]
        return sorted(disagreed, key=lambda entry: (-abs(entry[1]), entry[0]))

    def to_dict(self) -> dict[str, Any]:
        """The difference for JSON output."""

        def described(side: Side) -> dict[str, str]:
            cell = side.cell
            return {
                "run": cell.run,
                "model": cell.model,
                "language": cell.language,
                "protocol": cell.protocol,
                "family": cell.asking.family,
                "kind": cell.asking.kind or "unknown",
            }

        return {
            "benchmark": self.benchmark,
            "part": self.part,
            "measure": self.quantity.name,
            "ideal": self.quantity.ideal,
            "left": described(self.left),
            "right": described(self.right),
            "only_left": self.only_left,
            "only_right": self.only_right,
            **{
                name if name not in ("left", "right") else f"value_{name}": v
                for name, v in asdict(self.contrast).items()
            },
            "p_holm": self.p_holm,
            "p_equivalence": self.p_equivalence,
            "verdict": self.verdict,
            "doubts": list(self.doubts),
            "contradiction": self.contradiction,
            "tests": self.tests,
            "significant": self.significant,
        }


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """All differences, with notes for the reader."""

    differences: list[Difference]
    notes: list[str]

    def __repr__(self) -> str:
        """How many differences there are, in a line."""
        significant = sum(difference.verdict == "significant" for difference in self.differences)
        return f"<Comparison: {len(self.differences):,} differences, {significant:,} significant>"

    def to_frame(self) -> pd.DataFrame:
        """The differences as a table, one row each."""
        return pd.DataFrame(
            [
                escape_row(
                    {
                        "subject": one.subject,
                        "part": one.part,
                        "left": one.left.label,
                        "right": one.right.label,
                        "measure": one.quantity.name,
                        "left value": one.contrast.left,
                        "right value": one.contrast.right,
                        "difference": one.contrast.difference,
                        "low": one.contrast.low,
                        "high": one.contrast.high,
                        "n": one.contrast.n,
                        "p": one.p_holm,
                        "verdict": one.verdict,
                    }
                )
                for one in self.differences
            ]
        )

    def _repr_html_(self) -> str:
        """The differences as a table, for notebooks."""
        return str(self.to_frame().to_html(index=False, border=0, float_format="{:.4g}".format, notebook=True))


Corrected = TypeVar("Corrected", bound=PairedDifference)


def correct_test_families(differences: Sequence[Corrected]) -> list[Corrected]:
    """The differences with p-values corrected by Holm's method over all of one measure and benchmark."""
    corrected = list(differences)
    for indexes in group_indexes(differences, lambda d: (d.benchmark, d.quantity.name, d.part == OVERALL)):
        for index, p_holm in zip(indexes, adjust_holm([differences[i].contrast.p_value for i in indexes]), strict=True):
            corrected[index] = replace(differences[index], p_holm=p_holm, tests=len(indexes))
        for index, p_value in zip(
            indexes, adjust_holm([_compute_equivalence_p(differences[i]) for i in indexes]), strict=True
        ):
            if differences[index].contrast.p_equivalence is not None:
                corrected[index] = replace(corrected[index], p_equivalence=p_value)
    return corrected


def mark_contradictions(differences: Sequence[Corrected]) -> list[Corrected]:
    """The differences, those of pooled parts with the contradiction added if parts differ in both directions."""
    parts: dict[tuple[str, ...], dict[bool, list[str]]] = {}
    for difference in differences:
        if difference.part != OVERALL and difference.significant:
            sides = parts.setdefault(difference.pair, {True: [], False: []})
            sides[difference.contrast.difference > 0].append(difference.part)
    checked = []
    for difference in differences:
        sides = parts.get(difference.pair, {}) if difference.part == OVERALL else {}
        if sides and sides[True] and sides[False]:
            higher = (
                f"{side.label} is higher in {', '.join(sides[up])}"
                for side, up in ((difference.left, True), (difference.right, False))
            )
            difference = replace(difference, contradiction=", ".join(higher))
        checked.append(difference)
    return checked


def _compute_equivalence_p(difference: PairedDifference) -> float:
    return 1.0 if difference.contrast.p_equivalence is None else difference.contrast.p_equivalence
