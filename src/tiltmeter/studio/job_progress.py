"""What a job's process tells of its progress, written to a file at most ten times a second."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tiltmeter.engine.execution import Progress
from tiltmeter.errors import TiltmeterError
from tiltmeter.files import write_text
from tiltmeter.runs.interim_values import InterimValue

# Seconds between two writes.
EVERY = 0.1
# The share of a run's time that values so far may take.
_SHARE = 0.05


@dataclass(slots=True)
class JobStage:
    """What asking one model took: `began` when its questions were made, `loaded` when the first new answers came."""

    label: str
    began: float
    stored: int = 0
    loaded: float | None = None
    at_load: int = 0
    ended: float = 0.0
    answered: int = 0
    questions: int = 0


class JobProgress:
    """The progress of a run: which model, questions answered of how many, and values so far.

    Within the context `writing`, a thread writes it to the file when it has changed.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self._clock = path, clock
        self.began = clock()
        self.stages: list[JobStage] = []
        self._phase = "starting"
        self._values: list[InterimValue] = []
        self._next_values = self.began
        self._told: list[str] = []
        self._changed = True

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write the file as long as the context lasts, and once at its end."""
        ended = threading.Event()

        def write() -> None:
            while not ended.wait(EVERY):
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
    def watch(self, label: str) -> Iterator[Callable[[Progress], None]]:
        """The `watch` of `evaluate`."""
        stage = JobStage(label, self._clock())
        self.stages.append(stage)
        self._enter("loading")

        def report(progress: Progress) -> None:
            stage.ended = self._clock()
            if not stage.questions:
                stage.stored = progress.answered
            elif stage.loaded is None and progress.answered > stage.stored:
                stage.loaded, stage.at_load = stage.ended, progress.answered
            stage.answered, stage.questions = progress.answered, progress.questions
            self._enter("loading" if stage.loaded is None else "answering")

        yield report
        stage.ended = self._clock()
        self._enter("measuring")

    def so_far(self, values: Callable[[], list[InterimValue]]) -> None:
        """The `so_far` of `evaluate`: values are computed so rarely that they take little of the run's time."""
        began = self._clock()
        if began < self._next_values:
            return
        self._values = values()
        now = self._clock()
        self._next_values = now + max(1.0, (now - began) / _SHARE)
        self._changed = True

    def tell(self, sentence: str) -> None:
        """The `tell` of `evaluate`: what the run takes, in a sentence."""
        self._told.append(sentence)
        self._changed = True

    def flush(self) -> None:
        """Write the file if anything has changed."""
        if self._changed:
            # Before the values are read: what changes meanwhile is written the next time.
            self._changed = False
            try:
                write_text(self._path, json.dumps(self._state(), ensure_ascii=False))
            except (OSError, TiltmeterError):  # Windows replaces no file that is being read; the run must not end so
                self._changed = True

    def _enter(self, phase: str) -> None:
        self._phase = phase
        self._changed = True

    def _state(self) -> dict[str, Any]:
        now = self._clock()
        stage = self.stages[-1] if self.stages else None
        return {
            "phase": self._phase,
            "seconds": round(now - self.began, 1),
            "label": stage.label if stage else "",
            # A model with a next-sentence head has two stages.
            "model": len({known.label.rpartition(" (")[0] for known in self.stages}),
            "answered": stage.answered if stage else 0,
            "questions": stage.questions if stage else 0,
            "remaining": _estimate_remaining(stage, now) if stage else None,
            "told": list(self._told),
            "values": [asdict(value) for value in self._values],
        }


def _estimate_remaining(stage: JobStage, now: float) -> float | None:
    """Seconds until this model is through, by its pace since it was loaded; None if that is not known yet."""
    if stage.loaded is None or stage.answered <= stage.at_load:
        return None
    return round((now - stage.loaded) / (stage.answered - stage.at_load) * (stage.questions - stage.answered), 1)
