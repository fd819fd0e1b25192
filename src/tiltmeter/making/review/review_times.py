"""The time that reviewers need for an item, without pauses, and a forecast of the hours that remain."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tiltmeter.making.project_store import ProjectStore
from tiltmeter.making.review.review_views import ReviewProgress

# The longest time that counts for one decision. The page excludes pauses; this is a limit for wrong values.
LONGEST = 3600.0
# A forecast needs the times of at least this number of decisions.
FEWEST = 5


@dataclass(frozen=True, slots=True)
class ReviewerTime:
    """The time of a reviewer: decisions with a known time, their seconds, and the number of items that remain."""

    decisions: int
    seconds: float
    remaining: int

    @property
    def seconds_per_item(self) -> float | None:
        """The mean time for an item; None if no time is known."""
        return self.seconds / self.decisions if self.decisions else None

    @property
    def hours_left(self) -> float | None:
        """The forecast: mean time for an item, multiplied by the remaining items; None with too few known times.

        >>> ReviewerTime(10, 360.0, 100).hours_left, ReviewerTime(2, 60.0, 100).hours_left
        (1.0, None)
        """
        if self.decisions < FEWEST:
            return None
        return self.seconds / self.decisions * self.remaining / 3600

    def to_json(self) -> dict[str, Any]:
        """Return the time as JSON values."""
        return {
            "decisions": self.decisions,
            "seconds": round(self.seconds, 1),
            "seconds_per_item": self.seconds_per_item,
            "hours_left": self.hours_left,
        }


def summarise_times(store: ProjectStore, progress: ReviewProgress) -> dict[str, ReviewerTime]:
    """Return the time of each reviewer."""
    times = store.sum_decision_times()
    return {
        name: ReviewerTime(*times.get(name, (0, 0.0)), remaining) for name, (_, remaining) in progress.reviewers.items()
    }


def estimate_hours_left(times: Mapping[str, ReviewerTime], missing: int) -> float | None:
    """Return the hours that remain for all reviewers together; None if too few times are known.

    `missing` is the number of decisions that are missing.
    """
    decisions = sum(time.decisions for time in times.values())
    if decisions < FEWEST:
        return None
    return sum(time.seconds for time in times.values()) / decisions * missing / 3600
