"""Compute the speed and the remaining time of a step, and describe its progress as text."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tiltmeter.progress.progress import Progress


@dataclass(slots=True)
class Pace:
    """The speed of a step, computed from its progress reports.

    A unit is one piece of work, for example a question. `stored` is the number of units that were already done at the
    first report. `loaded` is the time of the first report with new units, and `at_load` the number of units done at
    that time. The speed is measured from `loaded`, because earlier work, such as loading a model, is done only once.
    `began` is the time at which the step began, and `ended` the time of the last report.
    """

    label: str = ""
    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)
    began: float = field(init=False)
    ended: float = field(init=False)
    stored: int | None = field(default=None, init=False)
    loaded: float | None = field(default=None, init=False)
    at_load: int = field(default=0, init=False)
    done: int = field(default=0, init=False)
    total: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.began = self.ended = self.clock()

    def update(self, progress: Progress) -> None:
        """Record a progress report."""
        self.ended = self.clock()
        if self.stored is None:
            self.stored = progress.done
        elif self.loaded is None and progress.done > self.stored:
            self.loaded, self.at_load = self.ended, progress.done
        self.done, self.total = progress.done, progress.total

    @property
    def rate(self) -> float | None:
        """The speed in units per second; None if unknown."""
        if self.loaded is None or self.done <= self.at_load or self.ended <= self.loaded:
            return None
        return (self.done - self.at_load) / (self.ended - self.loaded)

    def estimate_remaining(self, now: float | None = None) -> float | None:
        """Return the remaining seconds, from the mean speed up to `now` (default: the last report); None if unknown."""
        if self.loaded is None or self.total is None or self.done <= self.at_load:
            return None
        elapsed = (self.ended if now is None else now) - self.loaded
        return elapsed / (self.done - self.at_load) * (self.total - self.done)

    def find_speed_start(self) -> tuple[float, int] | None:
        """Return the time at which the speed measurement starts, and the number of units done at that time.

        Return None if no report had new units. If one report contained all new units, the measurement starts at the
        beginning of the step and includes loading.
        """
        if self.loaded is None:
            return None
        if self.at_load == self.total:
            return self.began, self.stored or 0
        return self.loaded, self.at_load


def describe_progress(progress: Progress, pace: Pace) -> str:
    """Return the progress as text, for example `500 of 6,000, 7/s, about 14 minutes left`."""
    left = pace.estimate_remaining()
    parts = [
        f"{progress.done:,}" + (f" of {progress.total:,}" if progress.total is not None else ""),
        describe_speed(progress, pace),
        f"about {describe_duration(left)} left" if left else "",
    ]
    return ", ".join(part for part in parts if part)


def describe_speed(progress: Progress, pace: Pace) -> str:
    """Return the speed and the note of a progress report as text; unknown values are omitted."""
    rate = pace.rate
    speed = "" if rate is None else f"{rate:,.0f}/s" if rate >= 1 else f"{60 * rate:,.1f}/min"
    return ", ".join(part for part in (speed, progress.note) if part)


def describe_duration(seconds: float) -> str:
    """Return a duration as text, in minutes (rounded up) or, above 90 minutes, in hours.

    >>> describe_duration(40), describe_duration(200), describe_duration(9000)
    ('1 minute', '4 minutes', '2.5 hours')
    """
    minutes = math.ceil(seconds / 60)
    if minutes > 90:
        return f"{minutes / 60:.1f} hours"
    return f"{minutes} minute{'s' if minutes > 1 else ''}"
