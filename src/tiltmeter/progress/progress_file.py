"""Progress in a file, for the studio: a process writes it, at most ten times a second, and others read it."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tiltmeter.errors import TiltmeterError
from tiltmeter.files import write_text
from tiltmeter.progress.pace import Pace
from tiltmeter.progress.progress import Progress, ReportProgress

SECONDS_BETWEEN_WRITES = 0.1
# The share of a run's time that computing values of answered items may take.
_VALUES_SHARE = 0.05


class ProgressFile:
    """The progress of a run: which model, questions answered of how many, and values of the items answered so far.

    Within the context `write_periodically`, a thread writes it to the file when it has changed.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self._clock = path, clock
        self.began = clock()
        self.stages: list[Pace] = []
        self._phase = "starting"
        self._values: Sequence[Any] = []
        self._next_values = self.began
        self._told: list[str] = []
        self._changed = True

    @contextmanager
    def write_periodically(self) -> Iterator[None]:
        """Write the file as long as the context lasts, and once at its end."""
        ended = threading.Event()

        def write() -> None:
            while not ended.wait(SECONDS_BETWEEN_WRITES):
                self.flush()

        self.flush()
        thread = threading.Thread(target=write, name="progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self.flush()

    @contextmanager
    def watch(self, label: str) -> Iterator[ReportProgress]:
        """Record the stage of one model; the `watch` of `evaluate`."""
        stage = Pace(label, self._clock)
        self.stages.append(stage)
        self._enter("loading")

        def report(progress: Progress) -> None:
            stage.update(progress)
            self._enter("loading" if stage.loaded is None else "answering")

        yield report
        stage.ended = self._clock()
        self._enter("measuring")

    def record_interim_values(self, values: Callable[[], Sequence[Any]]) -> None:
        """Record values of answered items, dataclasses; they are computed rarely enough to take little time."""
        began = self._clock()
        if began < self._next_values:
            return
        self._values = values()
        now = self._clock()
        self._next_values = now + max(1.0, (now - began) / _VALUES_SHARE)
        self._changed = True

    def tell(self, sentence: str) -> None:
        """Record a sentence on what the run takes; the `tell` of `evaluate`."""
        self._told.append(sentence)
        self._changed = True

    def flush(self) -> None:
        """Write the file if anything has changed."""
        if self._changed:
            # Set before the values are read: changes in the meantime are written the next time.
            self._changed = False
            try:
                write_text(self._path, json.dumps(self._build_state(), ensure_ascii=False))
            except (OSError, TiltmeterError):  # Windows replaces no file that is being read; the run must not fail
                self._changed = True

    def _enter(self, phase: str) -> None:
        self._phase = phase
        self._changed = True

    def _build_state(self) -> dict[str, Any]:
        now = self._clock()
        stage = self.stages[-1] if self.stages else None
        remaining = stage.estimate_remaining(now) if stage else None
        return {
            "phase": self._phase,
            "seconds": round(now - self.began, 1),
            "label": stage.label if stage else "",
            # A model with a next-sentence head has two stages.
            "model": len({known.label.rpartition(" (")[0] for known in self.stages}),
            "answered": stage.done if stage else 0,
            "questions": (stage.total or 0) if stage else 0,
            "remaining": None if remaining is None else round(remaining, 1),
            "told": list(self._told),
            "values": [asdict(value) for value in self._values],
        }
