"""The rule that k of n reviewers must agree on an item. StereoSet kept an item if three of five people agreed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tiltmeter.errors import UsageError

ReviewVerdict = Literal["accept", "edit", "drop"]
VERDICTS: tuple[ReviewVerdict, ...] = ("accept", "edit", "drop")
# open: decisions are missing. agreed: enough reviewers agree. conflict: agreement is impossible. adjudicated: a person
# has settled the conflict.
ReviewState = Literal["open", "agreed", "conflict", "adjudicated"]


@dataclass(frozen=True, slots=True)
class ReviewRule:
    """The rule that `agree` of `reviewers` people must make the same decision on an item."""

    agree: int = 1
    reviewers: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.agree <= self.reviewers:
            raise UsageError(
                f"`agreeing` in project.toml is {self.agree}, but should be from 1 to `reviewers_per_item` "
                f"({self.reviewers})."
            )

    def __str__(self) -> str:
        return f"{self.agree} of {self.reviewers}"


@dataclass(frozen=True, slots=True)
class ReviewDecision:
    """The decision of a person on an item.

    `texts` has all texts of the item after the decision; it is empty if the item is dropped. `accepted` maps the codes
    of validation findings to the reasons for accepting them. `shown` is a digest of the texts that the person saw.
    `via` is the program or file from which the decision came. `adjudicates` is true if the decision settles a
    disagreement of reviewers. `number` is the id of the decision in the database.
    """

    item: str
    reviewer: str
    verdict: ReviewVerdict
    texts: Mapping[str, str] = field(default_factory=dict)
    accepted: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""
    via: str = ""
    shown: str = ""
    adjudicates: bool = False
    at: str = ""
    number: int = 0

    def is_same_as(self, other: "ReviewDecision") -> bool:
        """Tell whether both decisions drop the item, or both keep it with equal texts."""
        return (self.verdict == "drop") == (other.verdict == "drop") and self.texts == other.texts


@dataclass(frozen=True, slots=True)
class ReviewOutcome:
    """The result of a review of an item: its state, and the equal decisions that settle it (empty if not settled)."""

    state: ReviewState
    settled_by: tuple[ReviewDecision, ...] = ()


def settle_decisions(decisions: Iterable[ReviewDecision], rule: ReviewRule) -> ReviewOutcome:
    """Return the outcome of the decisions on an item. Each reviewer has made one decision.

    If there are adjudications, only the last adjudication counts. If two different decisions both have enough votes,
    the outcome is a conflict.

    >>> keep, drop = (ReviewDecision("a", "", verdict) for verdict in ("accept", "drop"))
    >>> settle_decisions([keep, drop, keep, drop], ReviewRule(3, 5)).state
    'open'
    >>> settle_decisions([keep, drop, keep, drop, keep], ReviewRule(3, 5)).state
    'agreed'
    >>> settle_decisions([keep, drop], ReviewRule(1, 1)).state
    'conflict'
    """
    everything = list(decisions)
    adjudications = [decision for decision in everything if decision.adjudicates]
    if adjudications:
        return ReviewOutcome("adjudicated", (adjudications[-1],))
    groups = _group_equal_decisions(everything)
    enough = [group for group in groups if len(group) >= rule.agree]
    if len(enough) == 1:
        return ReviewOutcome("agreed", tuple(enough[0]))
    most = max(map(len, groups), default=0)
    missing = max(0, rule.reviewers - len(everything))
    return ReviewOutcome("conflict" if enough or most + missing < rule.agree else "open")


def _group_equal_decisions(decisions: Sequence[ReviewDecision]) -> list[list[ReviewDecision]]:
    groups: list[list[ReviewDecision]] = []
    for decision in decisions:
        for group in groups:
            if decision.is_same_as(group[0]):
                group.append(decision)
                break
        else:
            groups.append([decision])
    return groups
