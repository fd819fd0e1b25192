"""Record the progress of a cell (one run of a matrix), and measure its questions per second."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tiltmeter.cluster.job_state import JobState
from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.progress.pace import Pace
from tiltmeter.progress.progress import Progress, ReportProgress


class CellThroughput:
    """Writes the progress of a cell (a run) to the state of its job, and measures its speed for time estimates."""

    def __init__(self, state: JobState) -> None:
        self._state = state
        self._began = time.monotonic()
        self.questions = self.asked = self.stored = 0
        self.start_seconds = self.asking_seconds = 0.0

    @contextmanager
    def watch_progress(self, label: str) -> Iterator[ReportProgress]:
        """Yield a function that receives progress reports; `watch_progress` is called once for each prediction head."""
        pace = Pace(label)

        def report(now: Progress) -> None:
            pace.update(now)
            self._state.update_values(stage=label, answered=now.done, questions=now.total)

        yield report
        self.questions += pace.total or 0
        self.stored += pace.stored or 0
        if (start := pace.find_speed_start()) is not None:
            began, first = start
            self.start_seconds += began - pace.began
            self.asking_seconds += time.monotonic() - began
            self.asked += pace.done - first

    def summarize(self) -> dict[str, Any]:
        """Return the numbers of questions, stored answers and asked questions, and the durations in seconds."""
        return {
            "questions": self.questions,
            "stored": self.stored,
            "asked": self.asked,
            "start_seconds": round(self.start_seconds, 3),
            "asking_seconds": round(self.asking_seconds, 3),
            "seconds": round(time.monotonic() - self._began, 3),
            "cache": str(get_cache_folder()),
        }
