"""The speed of a step, and its progress in words."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tiltmeter.progress.progress import Progress


@dataclass(slots=True)
class Pace:
    """The reports of a step and its speed.

    `stored` units were done at the first report. `loaded` is the time of the first new units, when `at_load` were done:
    the speed is measured from there, since the time before, such as that of loading a model, is spent only once.
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
        """Take a report into account."""
        self.ended = self.clock()
        if self.stored is None:
            self.stored = progress.done
        elif self.loaded is None and progress.done > self.stored:
            self.loaded, self.at_load = self.ended, progress.done
        self.done, self.total = progress.done, progress.total

    @property
    def rate(self) -> float | None:
        """Units per second; None if not known yet."""
        if self.loaded is None or self.done <= self.at_load or self.ended <= self.loaded:
            return None
        return (self.done - self.at_load) / (self.ended - self.loaded)

    def estimate_remaining(self, now: float | None = None) -> float | None:
        """Seconds until the step is done, by its speed up to `now` (None: the last report); None if not known yet."""
        if self.loaded is None or self.total is None or self.done <= self.at_load:
            return None
        elapsed = (self.ended if now is None else now) - self.loaded
        return elapsed / (self.done - self.at_load) * (self.total - self.done)

    def find_speed_start(self) -> tuple[float, int] | None:
        """Time and count that a speed of the whole step is measured from; None if there was nothing new.

        If all units came in one report, there is no speed after it: loading is then part of the speed.
        """
        if self.loaded is None:
            return None
        if self.at_load == self.total:
            return self.began, self.stored or 0
        return self.loaded, self.at_load


def describe_progress(progress: Progress, pace: Pace) -> str:
    """The progress in words, such as `500 of 6,000, 7/s, padding 10.0%, about 14 minutes left`."""
    left = pace.estimate_remaining()
    parts = [
        f"{progress.done:,}" + (f" of {progress.total:,}" if progress.total is not None else ""),
        describe_speed(progress, pace),
        f"about {describe_duration(left)} left" if left else "",
    ]
    return ", ".join(part for part in parts if part)


def describe_speed(progress: Progress, pace: Pace) -> str:
    """Speed, padding and note of a report, as far as there are any."""
    rate = pace.rate
    speed = "" if rate is None else f"{rate:,.0f}/s" if rate >= 1 else f"{60 * rate:,.1f}/min"
    padding = f"padding {progress.padding:.1%}" if progress.padding else ""
    return ", ".join(part for part in (speed, padding, progress.note) if part)


def describe_duration(seconds: float) -> str:
    """A duration in words.

    >>> describe_duration(40), describe_duration(200), describe_duration(9000)
    ('1 minute', '4 minutes', '2.5 hours')
    """
    minutes = math.ceil(seconds / 60)
    if minutes > 90:
        return f"{minutes / 60:.1f} hours"
    return f"{minutes} minute{'s' if minutes > 1 else ''}"
