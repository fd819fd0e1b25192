"""Measure how long runs take on this machine, and store the timings in the cache for later time estimates."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.errors import TiltmeterError
from tiltmeter.progress.pace import Pace
from tiltmeter.progress.progress import Progress, ReportProgress, ShowProgress
from tiltmeter.runs.result import Result
from tiltmeter.runs.timing_store import Timing, TimingStore

_TIMINGS = "timings.sqlite"


class RunTimer:
    """Measures the stages of a run; a stage is the work of one model, or of one head of a model.

    Pass `watch_progress` to the run, which shows the progress with the given function, and call `save` at the end.
    """

    def __init__(self, watch: ShowProgress) -> None:
        self._watch = watch
        self._began = time.monotonic()
        self._stages: list[Pace] = []

    @contextmanager
    def watch_progress(self, label: str) -> Iterator[ReportProgress]:
        """Show the progress of a stage, and measure its speed."""
        stage = Pace(label)
        self._stages.append(stage)
        with self._watch(label) as show:

            def report(progress: Progress) -> None:
                stage.update(progress)
                show(progress)

            yield report
        stage.ended = stage.clock()

    def save(self, result: Result) -> None:
        """Store the timings of a finished run; ignore errors, because timings are only used for time estimates."""
        with suppress(TiltmeterError, OSError):
            if timings := compute_timings(result, self._stages, self._began):
                with TimingStore(get_timings_file()) as store:
                    store.add_timings(timings)


def get_timings_file() -> Path:
    """Return the path of the database with the timings of this machine."""
    return get_cache_folder() / _TIMINGS


def load_timings() -> list[Timing]:
    """Return the stored timings of earlier runs, newest first; empty if no timings are stored."""
    if not get_timings_file().is_file():
        return []
    with TimingStore(get_timings_file()) as timings:
        return timings.list_newest_timings()


def compute_timings(result: Result, stages: Sequence[Pace], began: float) -> list[Timing]:
    """Return a timing for each model that answered new questions, that is, questions without stored answers.

    `began` is the time at which the run began, on the clock of the stages.
    """
    now = time.monotonic()
    manifest = result.manifest
    timings: dict[str, Timing] = {}
    before = began
    for stage in stages:
        name, _, kind = stage.label.rpartition(" (")
        model, start, before = manifest.find_model(name), before, stage.ended
        if (speed_start := stage.find_speed_start()) is None:
            continue
        asked_from, first = speed_start
        # If one batch answered all questions, loading and answering cannot be separated, and the speed is unknown.
        if asked_from == stage.began:
            asked_from, first = stage.ended, stage.done
        timing = Timing(
            model=name,
            kind=kind.rstrip(")"),
            bytes=model.bytes if model else None,
            device=model.hardware if model else "server",
            forms=" ".join(manifest.list_forms()),
            protocol=str(manifest.request["protocol"]),
            items=sum(entry.items for entry in manifest.data),
            questions=stage.total or 0,
            start_seconds=asked_from - start,
            asked=stage.done - first,
            asking_seconds=stage.ended - asked_from,
            end_seconds=now - stages[-1].ended,
            tokens=(model.tokens if model else None) or 0,
        )
        # A model with a next-sentence head is measured in two stages, whose timings are combined.
        timings[name] = timings[name].combine_with(timing) if name in timings else timing
    return list(timings.values())
