"""Differences between groups of models, or of languages, on the items that all their members have."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pandas as pd

from tiltmeter.comparing.cells import shorten_names
from tiltmeter.comparing.paired_difference import PairedDifference
from tiltmeter.measures.crossed_effects import MemberInference
from tiltmeter.measures.multiple_testing import adjust_holm, group_indexes
from tiltmeter.measures.records import OVERALL
from tiltmeter.printable_text import escape_row


@dataclass(frozen=True, slots=True)
class Group:
    """The members of a group, models or languages, with their values on the shared items; a label: `instruct=true`."""

    label: str
    members: Mapping[str, float]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class GroupDifference(PairedDifference):
    """The difference of two groups on the items that all their members have.

    `left_out` is the number of items that only some members have; `members` is "models" or "languages". `over_members`
    is None with fewer than FEWEST_MEMBERS in a group.
    """

    left: Group
    right: Group
    members: str
    left_out: int
    over_members: MemberInference | None

    def to_dict(self) -> dict[str, Any]:
        """The difference for JSON output."""
        c = self.contrast
        return {
            "benchmark": self.benchmark,
            "subject": self.subject,
            "part": self.part,
            "measure": self.quantity.name,
            "ideal": self.quantity.ideal,
            "left": {"group": self.left.label, self.members: dict(self.left.members), "value": c.left},
            "right": {"group": self.right.label, self.members: dict(self.right.members), "value": c.right},
            "difference": c.difference,
            "low": c.low,
            "high": c.high,
            "farther": c.farther,
            "farther_low": c.farther_low,
            "farther_high": c.farther_high,
            "p_value": c.p_value,
            "p_holm": self.p_holm,
            "p_equivalence": self.p_equivalence,
            "tests": self.tests,
            "verdict": self.verdict,
            "contradiction": self.contradiction,
            "n": c.n,
            "clusters": c.clusters,
            "left_out": self.left_out,
            "over_members": None if self.over_members is None else asdict(self.over_members),
        }


@dataclass(frozen=True, slots=True, repr=False)
class GroupComparison:
    """All differences between groups, with notes for the reader."""

    differences: list[GroupDifference]
    notes: list[str]

    def __repr__(self) -> str:
        """How many differences there are, in a line."""
        significant = sum(difference.verdict == "significant" for difference in self.differences)
        return f"<GroupComparison: {len(self.differences):,} differences, {significant:,} significant>"

    def to_frame(self) -> pd.DataFrame:
        """The differences as a table, one row each; `low over members` and so on are empty where there are too few."""
        rows = []
        for one in self.differences:
            over = one.over_members
            rows.append(
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
                    "low over members": over.low if over else None,
                    "high over members": over.high if over else None,
                    "p over members": over.p_holm if over else None,
                    "verdict": one.verdict,
                }
            )
        return pd.DataFrame([escape_row(row) for row in rows])

    def _repr_html_(self) -> str:
        """The differences as a table, for notebooks."""
        return str(self.to_frame().to_html(index=False, border=0, float_format="{:.4g}".format, notebook=True))


def correct_member_tests(differences: Sequence[GroupDifference]) -> list[GroupDifference]:
    """The differences with the p-values over members corrected by Holm's method, in the same families.

    Not every contrast has enough members, so that these families may be smaller. A difference of members like these is
    no more certain than that of these members, whose corrected p-value comes first.
    """
    corrected = list(differences)
    for indexes in group_indexes(differences, lambda d: (d.benchmark, d.quantity.name, d.part == OVERALL)):
        found = [(index, over) for index in indexes if (over := differences[index].over_members) is not None]
        p_values = adjust_holm([over.p_value for _, over in found])
        for (index, over), p_holm in zip(found, p_values, strict=True):
            of_members = replace(over, p_holm=max(p_holm, differences[index].p_holm))
            corrected[index] = replace(corrected[index], over_members=of_members)
    return corrected


def describe_related_members(differences: Sequence[GroupDifference], families: Mapping[str, str]) -> Iterator[str]:
    """A note on members of one family in a group, which intervals over members take for independent of each other."""
    most: Counter[str] = Counter()
    for difference in differences:
        if difference.over_members is not None:
            for group in (difference.left, difference.right):
                most |= Counter(family for member in group.members if (family := families.get(member)))
    related = [f"{family} ({count})" for family, count in most.items() if count > 1]
    if related:
        members = differences[0].members
        yield (
            f"The intervals for {members} like these take {members} for independent of each other. Those of one family "
            f"in a group are not, and make them too narrow: {shorten_names(related)}."
        )
