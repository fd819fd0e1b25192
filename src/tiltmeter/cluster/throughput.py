"""The progress of a cell while it is asked, and how fast that was."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tiltmeter.cluster.job_state import JobState
from tiltmeter.datasets.cache_folder import get_cache_folder

if TYPE_CHECKING:
    from tiltmeter.engine.execution import Progress


class CellThroughput:
    """The progress of a cell for the state of its job, and how fast it was asked, for estimates."""

    def __init__(self, state: JobState) -> None:
        self._state = state
        self._began = time.monotonic()
        self.questions = self.asked = self.stored = 0
        self.start_seconds = self.asking_seconds = 0.0

    @contextmanager
    def watch(self, label: str) -> Iterator[Callable[["Progress"], None]]:
        """The `watch` of a run, once for each kind of head."""
        stored: int | None = None
        loaded: float | None = None
        before = time.monotonic()
        first = last = 0

        def report(now: "Progress") -> None:
            nonlocal stored, loaded, first, last
            clock = time.monotonic()
            if stored is None:
                stored, last = now.answered, now.answered
                self.questions += now.questions
                self.stored += stored
            elif loaded is None and now.answered > stored:
                # Loading is not part of the pace, unless all is answered in one batch.
                loaded, first = (before, stored) if now.answered == now.questions else (clock, now.answered)
            last = now.answered
            self._state.update(stage=label, answered=now.answered, questions=now.questions)

        yield report
        if loaded is not None:
            self.start_seconds += loaded - before
            self.asking_seconds += time.monotonic() - loaded
            self.asked += last - first

    def summary(self) -> dict[str, Any]:
        """Numbers of questions and seconds."""
        return {
            "questions": self.questions,
            "stored": self.stored,
            "asked": self.asked,
            "start_seconds": round(self.start_seconds, 3),
            "asking_seconds": round(self.asking_seconds, 3),
            "seconds": round(time.monotonic() - self._began, 3),
            "cache": str(get_cache_folder()),
        }
