"""The assignment of items to reviewers, by variety of the language and by load, and the calibration round before it.

In the calibration round, all reviewers decide on the same items. The other items are closed until somebody has seen the
agreement on these items and opens the others.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.errors import UsageError
from tiltmeter.making.project import Project
from tiltmeter.making.review.assignment_tables import ReviewerProfile
from tiltmeter.making.review.review import Review
from tiltmeter.making.review.review_queue import QueuedItem
from tiltmeter.making.review.review_status import ReviewAgreement, compute_decision_agreement

# The number of items of the calibration round.
CALIBRATION = 30


@dataclass(frozen=True, slots=True)
class CalibrationStatus:
    """The state of the calibration round: its items, how many each reviewer has decided on, and the agreement."""

    items: int
    decided: dict[str, int]
    is_open: bool
    agreement: ReviewAgreement

    @property
    def unfinished(self) -> list[str]:
        """The reviewers who have not decided on all items of the round."""
        return [name for name, count in self.decided.items() if count < self.items]

    def format_lines(self) -> list[str]:
        """Return the state as lines of text."""
        state = "the other items are open" if self.is_open else "the other items are closed"
        lines = [f"calibration: {self.items:,} items; {state}"]
        lines += [f"{name}: {count:,} of {self.items:,} calibration items" for name, count in self.decided.items()]
        lines.append(f"agreement on the calibration items: {self.agreement.together}")
        lines += [f"agreement, {one} and {other}: {found}" for (one, other), found in self.agreement.pairs.items()]
        return lines

    def to_json(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {
            "items": self.items,
            "decided": self.decided,
            "open": self.is_open,
            "agreement": self.agreement.to_json(),
        }


def parse_profile(text: str) -> ReviewerProfile:
    """Return the reviewer that a text such as `Ana`, `Ana=es-MX` or `Ana=es-MX*0.5` describes.

    >>> parse_profile("Ana=es-MX*0.5")
    ReviewerProfile(name='Ana', variety='es-MX', share=0.5)
    """
    name, _, rest = text.partition("=")
    variety, star, share = rest.partition("*")
    try:
        number = float(share) if star else 1.0
    except ValueError:
        number = 0.0
    if not name.strip() or not 0 < number <= 100:
        raise UsageError(f"{text!r} is not a reviewer; write NAME, NAME=VARIETY or NAME=VARIETY*SHARE.")
    return ReviewerProfile(name.strip(), variety.strip(), number)


def assign_items(
    project: Project, profiles: Sequence[ReviewerProfile], *, calibration: int = CALIBRATION
) -> dict[str, int]:
    """Assign all items that need decisions; return the number of assigned items of each reviewer.

    An item gets as many reviewers as the project requires, if possible of different varieties. The numbers of items are
    proportional to the shares. Earlier assignments are replaced; decisions are kept. `calibration` is the number of
    items that all reviewers decide on first, unless the project already has such items.
    """
    review = Review(project)
    names = [profile.name.casefold() for profile in profiles]
    if len(set(names)) < len(names):
        raise UsageError("A reviewer is given twice; give each reviewer once.")
    if len(profiles) < review.rule.reviewers:
        raise UsageError(
            f"Each item needs {review.rule.reviewers} reviewers, but there are {len(profiles)}; give more with "
            "--reviewer, or lower `reviewers_per_item` in project.toml."
        )
    for profile in profiles:
        review.add_reviewer(profile.name)
    store = project.store
    with store.begin_transaction():
        queued = [one for one, _ in review.list_queued_items()]
        chosen = store.list_calibration_items()
        if not chosen and calibration:
            chosen = _choose_calibration_items([one for one in queued if not one.deciders], calibration)
            store.set_calibration_items(chosen)
        known = {name.casefold(): name for name in store.list_reviewer_names()}
        own = [ReviewerProfile(known[one.name.casefold()], one.variety, one.share) for one in profiles]
        rest = [one for one in queued if one.item not in set(chosen) and one.state == "open"]
        assigned = _distribute_items(rest, own, review.rule.reviewers)
        store.replace_assignments(own, assigned)
    counts = Counter(name for names in assigned.values() for name in names)
    return {profile.name: counts[profile.name] for profile in own}


def _choose_calibration_items(queued: Sequence[QueuedItem], count: int) -> list[str]:
    """Return items at equal distances in an order by part and subject, so that all parts and subjects are present."""
    ordered = sorted(queued, key=lambda one: (one.part, one.subject))
    count = min(count, len(ordered))
    return [ordered[(2 * place + 1) * len(ordered) // (2 * count)].item for place in range(count)]


def _distribute_items(
    queued: Sequence[QueuedItem], profiles: Sequence[ReviewerProfile], reviewers: int
) -> dict[str, list[str]]:
    """Return a dictionary from item to the reviewers who are to decide on the item."""
    load: Counter[str] = Counter(name for one in queued for name in one.deciders)
    varieties: Mapping[str, str] = {profile.name: profile.variety for profile in profiles}
    assigned = {}
    for one in queued:
        names: list[str] = []
        while len(one.deciders) + len(names) < reviewers:
            present = Counter(varieties.get(name, "") for name in (*one.deciders, *names))
            free = [profile for profile in profiles if profile.name not in (*one.deciders, *names)]
            if not free:
                break
            # A variety that the item lacks comes first, then the reviewer with the lowest load for the share.
            best = min(free, key=lambda own: (present[own.variety], (load[own.name] + 1) / own.share, own.name))
            names.append(best.name)
            load[best.name] += 1
        assigned[one.item] = names
    return assigned


def summarise_calibration(project: Project) -> CalibrationStatus | None:
    """Return the state of the calibration round; None if the project has none."""
    store = project.store
    items = set(store.list_calibration_items())
    if not items:
        return None
    decisions = [one for one in store.list_blind_decisions() if one.item in items]
    pairs = {(one.reviewer, one.item) for one in store.list_decisions() if not one.adjudicates and one.item in items}
    decided = Counter(reviewer for reviewer, _ in pairs)
    names = [profile.name for profile in store.list_reviewer_profiles()]
    agreement = compute_decision_agreement(decisions)
    return CalibrationStatus(
        len(items), {name: decided[name] for name in names}, store.is_calibration_open(), agreement
    )


def open_items(project: Project) -> CalibrationStatus:
    """Open the items that are closed during the calibration round; return the state of the round.

    Raise a UsageError if a reviewer has not decided on all calibration items.
    """
    status = summarise_calibration(project)
    if status is None:
        raise UsageError("The project has no calibration round; its items are open.")
    if status.unfinished:
        raise UsageError(
            f"{', '.join(status.unfinished)} have not decided on all {status.items} calibration items; wait, or assign "
            "the items again without them."
        )
    with project.store.begin_transaction():
        project.store.open_calibration()
    return summarise_calibration(project) or status
