"""Differences between groups of models, or between groups of languages, on the items that all members share."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tiltmeter.comparing.cells import shorten_names
from tiltmeter.comparing.paired_difference import DifferenceTable, PairedDifference, get_test_family
from tiltmeter.measures.crossed_effects import MemberInference
from tiltmeter.measures.multiple_testing import adjust_holm, group_indexes_by_key
from tiltmeter.measures.verdict_rule import PORTION, Families


@dataclass(frozen=True, slots=True)
class Group:
    """A group of models or languages, with the values of its members on the shared items.

    The label is the attribute that the members share: for example, `instruct=true`.
    """

    label: str
    members: Mapping[str, float]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class GroupDifference(PairedDifference):
    """The difference of two groups on the items that all their members (models or languages) share.

    `left_out` is the number of items that only some members have; `members` is "models" or "languages". `over_members`
    is the interval and test for other members like these; it is None if a group has fewer than FEWEST_MEMBERS members.
    """

    left: Group
    right: Group
    members: str
    left_out: int
    over_members: MemberInference | None

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as a dictionary for JSON."""
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
            "factor": c.factor,
            "left_out": self.left_out,
            "over_members": None if self.over_members is None else asdict(self.over_members),
        }

    def to_row(self) -> dict[str, Any]:
        """Return the difference as a row of a table."""
        row = PairedDifference.to_row(self)
        verdict = row.pop("verdict")  # the verdict is moved to the last column
        return {**row, **build_members_row(self.over_members), "verdict": verdict}


def build_members_row(over: MemberInference | None) -> dict[str, float | None]:
    """Return the table columns with the interval and the p-value for other models or languages like the members."""
    return {
        "low over members": over.low if over else None,
        "high over members": over.high if over else None,
        "p over members": over.p_holm if over else None,
    }


@dataclass(frozen=True, slots=True, repr=False)
class GroupComparison(DifferenceTable[GroupDifference]):
    """All differences between groups, with notes for the reader."""


def correct_member_tests(differences: Sequence[GroupDifference], families: Families = PORTION) -> list[GroupDifference]:
    """Correct the p-values for other members (`over_members`) by Holm's method, in each test family.

    Differences without `over_members` are not counted. The corrected p-value for other members is never smaller than
    the corrected p-value of the same difference for the compared members.
    """
    corrected = list(differences)
    for indexes in group_indexes_by_key(differences, lambda d: get_test_family(d, families)):
        members = [(index, over) for index in indexes if (over := differences[index].over_members) is not None]
        p_values = adjust_holm([over.p_value for _, over in members])
        for (index, over), p_holm in zip(members, p_values, strict=True):
            of_members = replace(over, p_holm=max(p_holm, differences[index].p_holm))
            corrected[index] = replace(corrected[index], over_members=of_members)
    return corrected


def describe_related_members(differences: Sequence[GroupDifference], families: Mapping[str, str]) -> Iterator[str]:
    """Yield a note if members of a group belong to one family, because intervals over members assume independence."""
    most: Counter[str] = Counter()
    for difference in differences:
        if difference.over_members is not None:
            for group in (difference.left, difference.right):
                most |= Counter(family for member in group.members if (family := families.get(member)))
    related = [f"{family} ({count})" for family, count in most.items() if count > 1]
    if related:
        members = differences[0].members
        yield (
            f"The intervals for {members} like these assume independent {members}. They are too narrow if {members} of "
            f"a group belong to the same family: {shorten_names(related)}."
        )
