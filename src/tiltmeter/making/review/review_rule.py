"""The k-of-n rule for the decisions of several reviewers; StereoSet kept items on which three of five people agreed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tiltmeter.errors import UsageError

ReviewVerdict = Literal["accept", "edit", "drop"]
VERDICTS: tuple[ReviewVerdict, ...] = ("accept", "edit", "drop")
# open: decisions are missing; conflict: agreement is impossible; adjudicated: somebody settled the conflict.
ReviewState = Literal["open", "agreed", "conflict", "adjudicated"]


@dataclass(frozen=True, slots=True)
class ReviewRule:
    """The rule that `agree` of `reviewers` people have to make the same decision."""

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

    `texts` has all texts of the item after the decision, and is empty if it is dropped; `accepted` has the reasons for
    accepting validation findings, by code. `shown` is a digest of the texts that the person saw.
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
        """Return whether both decisions drop the item, or keep it with the same texts."""
        return (self.verdict == "drop") == (other.verdict == "drop") and self.texts == other.texts


@dataclass(frozen=True, slots=True)
class ReviewOutcome:
    """The state of an item, and the decisions that settle it."""

    state: ReviewState
    settled_by: tuple[ReviewDecision, ...] = ()


def settle_decisions(decisions: Iterable[ReviewDecision], rule: ReviewRule) -> ReviewOutcome:
    """Return the outcome of the decisions, one for each reviewer; the last adjudication overrides them.

    It is also a conflict if two different decisions have enough votes.

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
