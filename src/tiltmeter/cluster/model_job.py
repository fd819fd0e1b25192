"""A job: one model and all its cells, in a process of its own: `python -m tiltmeter.cluster.model_job FOLDER`.

The model is opened once and asked cell after cell, by the code of `tiltmeter run`. What a job is to do is in the file
`job.json` of its folder, so that every engine starts it in the same way.
"""

import json
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypedDict

from tiltmeter.addresses import without_secrets
from tiltmeter.cluster.job_state import JobState, wait_for_lock
from tiltmeter.cluster.plan_cells import ModelCells, PlannedCell
from tiltmeter.cluster.plan_file import planned_model
from tiltmeter.datasets.cache import cache_dir
from tiltmeter.datasets.hashing import hashed_once
from tiltmeter.errors import TiltmeterError, UsageError
from tiltmeter.files import make_folder, write_text
from tiltmeter.guarded_output import guarded_output
from tiltmeter.reading import read_json

if TYPE_CHECKING:
    from tiltmeter.cluster.cell_run import OpenModel
    from tiltmeter.engine.execute import Progress

logger = logging.getLogger(__name__)

JOB, LOG = "job.json", "log.txt"
# The exit code of a process that another one has taken the job from.
_TAKEN_OVER = 75


class Outcome(TypedDict):
    """How a job ended: `finished`, `failed` or `busy` (it runs elsewhere); the cells that failed, with the reasons."""

    state: str
    failed: dict[str, str]


def write_job(entry: ModelCells) -> None:
    """Write what a job is to do."""
    make_folder(entry.folder)
    values = {
        "model": entry.model.to_dict(),
        "cells": [asdict(cell) for cell in entry.cells],
        "caller": socket.gethostname(),
        "directory": str(Path.cwd()),
    }
    write_text(entry.folder / JOB, json.dumps(values, ensure_ascii=False, indent=1) + "\n")


@hashed_once()
def run_job(folder: Path, **about: Any) -> Outcome:
    """Do the job of a folder, or what is left of it; `about` is added to its state.

    It raises nothing but interrupts: what goes wrong is the reason of a cell's failure.
    """
    values = read_json(folder / JOB)
    directory = Path(values["directory"])
    if directory.is_dir():  # names of models and files may be relative to it
        os.chdir(directory)
    entry = ModelCells(planned_model(values["model"]), tuple(PlannedCell(**cell) for cell in values["cells"]), folder)
    try:
        with wait_for_lock(folder) as lock:
            cells = entry.unfinished
            kept = {"model": entry.model.name, "cells": len(entry.cells), "finished": len(entry.cells) - len(cells)}
            with JobState(lock, {**about, **kept, "failed": {}, "timings": []}, _taken_over) as state:
                return _run_cells(entry, cells, state, same_machine=values["caller"] == socket.gethostname())
    except UsageError as error:
        return {"state": "busy", "failed": {"": str(error)}}


def _run_cells(entry: ModelCells, cells: list[PlannedCell], state: JobState, *, same_machine: bool) -> Outcome:
    failed: dict[str, str] = {}
    done = len(entry.cells) - len(cells)
    try:
        with ExitStack() as stack:
            model: OpenModel | None = None
            for cell in cells:
                state.update(cell=cell.folder, answered=0, questions=0, stage="")

                def measured(cell: PlannedCell = cell) -> None:
                    nonlocal model
                    if model is None:
                        from tiltmeter.cluster.cell_run import open_for_cells  # torch takes seconds

                        model = stack.enter_context(open_for_cells(entry, same_machine=same_machine))
                    pace = Pace(state)
                    model.measure(cell, pace.watch)
                    timings = state.values["timings"]
                    state.update(timings=[*timings, {"cell": cell.folder, **pace.summary()}])

                reason = _reason(measured)
                if reason is None:
                    done += 1
                elif model is None:  # it cannot be opened, which is so for all its cells
                    failed = {left.folder: reason for left in cells}
                    break
                else:
                    failed[cell.folder] = reason
                state.update(finished=done, failed=dict(failed))
    except BaseException:
        state.update(state="stopped", finished=done, failed=failed)
        raise
    outcome: Outcome = {"state": "failed" if failed else "finished", "failed": failed}
    state.update(**outcome, finished=done, cell="", stage="")
    return outcome


def _reason(work: Callable[[], None]) -> str | None:
    """Do the work; None, or why it failed, in a sentence."""
    try:
        work()
    except TiltmeterError as error:
        return str(error)
    except MemoryError:
        return "The memory of its machine does not suffice for this model; give the job more, or several GPUs."
    except OSError as error:
        about = f"{error.filename}: " if error.filename is not None else ""
        reason = f"{about}{error.strerror or error}; check the path, its permissions and the space on its disk."
        return without_secrets(reason)
    except Exception as error:
        logger.exception("A cell failed.")
        first, *_ = [*str(error).strip().splitlines(), ""]
        reason = f"{type(error).__name__}{f' ({first[:200]})' if first else ''}; {LOG} of its folder says more."
        return without_secrets(reason)
    return None


class Pace:
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
            "cache": str(cache_dir()),
        }


def _taken_over() -> None:
    logger.error("Another process has taken this job over, since this one did not write its state for long.")
    os._exit(_TAKEN_OVER)  # stored answers are safe: each batch is one transaction


def _stop(number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt(number)


def main(folder: Path) -> int:
    """Do a job, and print how it ended as JSON on standard output."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    try:
        with redirect_stdout(sys.stderr):
            outcome = run_job(folder)
    except KeyboardInterrupt:
        return 130
    print(json.dumps(outcome, ensure_ascii=False), flush=True)
    return 0


if __name__ == "__main__":
    with guarded_output():
        logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
        sys.exit(main(Path(sys.argv[1])))
