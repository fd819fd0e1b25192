"""The progress file of a run: the run writes this file up to ten times per second, and the studio reads it."""

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
# The maximum share of a run's time that may be spent on computing interim values.
_VALUES_SHARE = 0.05


class ProgressFile:
    """The progress of a run, which is written to a file: the current model, the answered questions, and interim values.

    Interim values are the measures of the items answered up to now. Inside the context `write_periodically`, a thread
    writes the file whenever the progress has changed.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self._clock = path, clock
        self.began = clock()
        self.stages: list[Pace] = []
        self._phase = "starting"
        self._values: Sequence[Any] = []
        self._next_values = self.began
        self._messages: list[str] = []
        self._changed = True

    @contextmanager
    def write_periodically(self) -> Iterator[None]:
        """Write the file periodically inside the context, and once when the context ends."""
        ended = threading.Event()

        def write() -> None:
            while not ended.wait(SECONDS_BETWEEN_WRITES):
                self.write_if_changed()

        self.write_if_changed()
        thread = threading.Thread(target=write, name="progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self.write_if_changed()

    @contextmanager
    def watch_progress(self, label: str) -> Iterator[ReportProgress]:
        """Record the progress of one model, or of one head of a model, as a stage.

        Pass this method to `evaluate` as the argument `watch`.
        """
        stage = Pace(label, self._clock)
        self.stages.append(stage)
        self._set_phase("loading")

        def report(progress: Progress) -> None:
            stage.update(progress)
            self._set_phase("loading" if stage.loaded is None else "answering")

        yield report
        stage.ended = self._clock()
        self._set_phase("measuring")

    def record_interim_values(self, values: Callable[[], Sequence[Any]]) -> None:
        """Call `values` and record the interim values (dataclasses); do nothing if the last call was too recent.

        This limits the time that the run spends on interim values.
        """
        began = self._clock()
        if began < self._next_values:
            return
        self._values = values()
        now = self._clock()
        self._next_values = now + max(1.0, (now - began) / _VALUES_SHARE)
        self._changed = True

    def record_message(self, sentence: str) -> None:
        """Record a message about requests and cost; pass this method to `evaluate` as the argument `tell`."""
        self._messages.append(sentence)
        self._changed = True

    def write_if_changed(self) -> None:
        """Write the file if the progress has changed."""
        if self._changed:
            # Reset the flag before reading the state, so that a change during the write is written next time.
            self._changed = False
            try:
                write_text(self._path, json.dumps(self._build_state(), ensure_ascii=False))
            except (OSError, TiltmeterError):  # Windows cannot replace a file that is open; the next call tries again
                self._changed = True

    def _set_phase(self, phase: str) -> None:
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
            # A model with a next-sentence head has two stages, one per head. They count as one model.
            "model": len({known.label.rpartition(" (")[0] for known in self.stages}),
            "answered": stage.done if stage else 0,
            "questions": (stage.total or 0) if stage else 0,
            "remaining": None if remaining is None else round(remaining, 1),
            "told": list(self._messages),
            "values": [asdict(value) for value in self._values],
        }
