"""The progress of a review and the agreement of its reviewers. `tiltmeter make status` and the data card show them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from tiltmeter.making.project import Project
from tiltmeter.making.reliability import Agreement, compute_cohen_kappa, compute_krippendorff_alpha
from tiltmeter.making.review.review import Review
from tiltmeter.making.review.review_outcomes import get_review_rule, is_own_conflict
from tiltmeter.making.review.review_rule import ReviewDecision, ReviewRule
from tiltmeter.making.review.review_times import ReviewerTime, estimate_hours_left, summarise_times
from tiltmeter.making.review.review_views import ReviewProgress


@dataclass(frozen=True, slots=True)
class ReviewAgreement:
    """The agreement on verdicts (accept, edit, drop), of all reviewers together and of each pair of reviewers.

    `same` is the share of pairs of decisions on the same item that are equal, including the texts; None if there are no
    pairs. Only independent decisions count. Adjudications, and decisions that a reviewer made after seeing the
    decisions of others, are left out.
    """

    together: Agreement
    pairs: dict[tuple[str, str], Agreement]
    same: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the agreement as JSON values."""
        return {
            "together": self.together.to_json(),
            "pairs": [{"reviewers": list(names), **found.to_json()} for names, found in self.pairs.items()],
            "same_texts": self.same,
        }


@dataclass(frozen=True, slots=True)
class ReviewSummary:
    """The rule, progress and agreement of a review.

    `adjudicators` maps each person to a number of adjudications, and `own_conflicts` to the number of these about items
    on which the same person had decided. `times` has the time of each reviewer.
    """

    rule: ReviewRule
    progress: ReviewProgress
    agreement: ReviewAgreement
    adjudicators: Counter[str]
    own_conflicts: Counter[str]
    times: dict[str, ReviewerTime]

    def to_json(self) -> dict[str, Any]:
        """Return the summary as JSON values."""
        return {
            "agreeing": self.rule.agree,
            "reviewers_per_item": self.rule.reviewers,
            "states": dict(self.progress.states),
            "reviewers": {
                name: {"decided": decided, "left": left} for name, (decided, left) in self.progress.reviewers.items()
            },
            "adjudicators": dict(self.adjudicators),
            "own_conflicts": dict(self.own_conflicts),
            "times": {name: time.to_json() for name, time in self.times.items()},
            "hours_left": estimate_hours_left(self.times, self.progress.missing),
            "agreement": self.agreement.to_json(),
        }

    def format_lines(self) -> list[str]:
        """Return the summary as lines of text."""
        states = ", ".join(f"{count:,} {state}" for state, count in self.progress.states.items())
        lines = [f"items: {states}; {self.rule} reviewers must agree"]
        for name, (decided, left) in self.progress.reviewers.items():
            lines.append(f"{name}: decided items: {decided:,}, remaining items: {left:,}")
        for name, time in self.times.items():
            if time.seconds_per_item is not None:
                lines.append(f"{name}: {time.seconds / 3600:.1f} hours, {time.seconds_per_item:.0f} s per item")
        if (hours := estimate_hours_left(self.times, self.progress.missing)) is not None:
            lines.append(f"forecast: {hours:.1f} hours of review remain")
        for name, count in self.adjudicators.items():
            own = self.own_conflicts[name]
            also = f", {own:,} of them after a decision of the same person" if own else ""
            lines.append(f"{name}: adjudicated items: {count:,}{also}")
        if self.agreement.together.items:
            lines.append(f"agreement on the verdicts accept, edit and drop: {self.agreement.together}")
            lines += [f"agreement, {one} and {other}: {found}" for (one, other), found in self.agreement.pairs.items()]
            if self.agreement.same is not None:
                lines.append(
                    f"{self.agreement.same:.0%} of the pairs of decisions on the same item are equal, including the "
                    "texts"
                )
        return lines


def summarise_review(project: Project, progress: ReviewProgress | None = None) -> ReviewSummary | None:
    """Return the summary of a project's review; None if the project has no reviewer.

    `progress` is the progress of the review, if the caller has already computed it.
    """
    if not project.store.list_reviewer_names():
        return None
    progress = progress or Review(project).count_states()
    adjudications = [decision for decision in project.store.list_decisions() if decision.adjudicates]
    adjudicators = Counter(decision.reviewer for decision in adjudications)
    own = Counter(
        decision.reviewer
        for decision in adjudications
        if is_own_conflict(project, project.store.get_item(decision.item), decision.reviewer)
    )
    times = summarise_times(project.store, progress)
    agreement = compute_decision_agreement(project.store.list_blind_decisions())
    return ReviewSummary(get_review_rule(project), progress, agreement, adjudicators, own, times)


def compute_decision_agreement(decisions: Iterable[ReviewDecision]) -> ReviewAgreement:
    """Return the agreement of reviewers, computed from their independent decisions.

    Each reviewer has at most one decision for each version of an item.
    """
    by_item: dict[tuple[str, str], dict[str, ReviewDecision]] = {}
    for decision in decisions:
        by_item.setdefault((decision.item, decision.shown), {})[decision.reviewer] = decision
    names = sorted({name for own in by_item.values() for name in own})
    rows = [[own[name].verdict if name in own else None for name in names] for own in by_item.values()]
    pairs = {}
    for one, other in combinations(names, 2):
        both = [(own[one].verdict, own[other].verdict) for own in by_item.values() if one in own and other in own]
        if both:
            pairs[one, other] = compute_cohen_kappa(both, key=f"{one} {other}")
    return ReviewAgreement(
        compute_krippendorff_alpha(rows), pairs, _compute_same_share([list(own.values()) for own in by_item.values()])
    )


def _compute_same_share(items: Sequence[Sequence[ReviewDecision]]) -> float | None:
    equal = [one.is_same_as(other) for decisions in items for one, other in combinations(decisions, 2)]
    return sum(equal) / len(equal) if equal else None
