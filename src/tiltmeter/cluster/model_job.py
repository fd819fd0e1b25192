"""A job: one model and all its cells, in a process of its own: `python -m tiltmeter.cluster.model_job FOLDER`.

The model is opened once and asked cell after cell, by the code of `tiltmeter run`. What a job is to do is in the file
`job.json` of its folder, so that every engine starts it in the same way.
"""

import json
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypedDict

from tiltmeter.cluster.job_lock import JobLock, JobTakenError, get_machine_id
from tiltmeter.cluster.job_state import JobState
from tiltmeter.cluster.plan_cells import ModelCells, PlannedCell
from tiltmeter.cluster.plan_file import build_planned_model
from tiltmeter.cluster.throughput import CellThroughput
from tiltmeter.datasets.file_hashes import cache_hashes
from tiltmeter.errors import TiltmeterError
from tiltmeter.files import create_folder, write_text
from tiltmeter.redaction import redact_secrets
from tiltmeter.safe_output import guard_output
from tiltmeter.text_files import read_json

if TYPE_CHECKING:
    from tiltmeter.cluster.cell_run import OpenModel

logger = logging.getLogger(__name__)

JOB, LOG = "job.json", "log.txt"
# The exit code of a process that another one has taken the job from.
_TAKEN_OVER = 75


class JobOutcome(TypedDict):
    """How a job ended: `finished`, `failed` or `busy` (it runs elsewhere); the cells that failed, with the reasons."""

    state: str
    failed: dict[str, str]


def write_job(entry: ModelCells) -> None:
    """Write what a job is to do."""
    create_folder(entry.folder)
    values = {
        "model": entry.model.to_dict(),
        "cells": [asdict(cell) for cell in entry.cells],
        "caller": get_machine_id(),
        "directory": str(Path.cwd()),
    }
    write_text(entry.folder / JOB, json.dumps(values, ensure_ascii=False, indent=1) + "\n")


def build_failure(reason: str) -> JobOutcome:
    """The outcome of a job that ended without one, or could not begin."""
    return {"state": "failed", "failed": {"": reason}}


@cache_hashes()
def run_job(folder: Path, call: str = "", **about: Any) -> JobOutcome:
    """Do the job of a folder, or what is left of it; `about` is added to its state.

    `call` identifies the start of the job: an engine that starts it again gives the same. It raises nothing but
    interrupts: what goes wrong is the reason of a failure.
    """
    outcome: JobOutcome | None = None

    def done() -> None:
        nonlocal outcome
        outcome = _run_job(folder, call, about)

    reason = _run_safely(done)
    return outcome if outcome is not None else build_failure(reason or "Its job ended without a word.")


def _run_job(folder: Path, call: str, about: dict[str, Any]) -> JobOutcome:
    values = read_json(folder / JOB)
    directory = Path(values["directory"])
    if directory.is_dir():  # names of models and files may be relative to it
        os.chdir(directory)
    entry = ModelCells(
        build_planned_model(values["model"]), tuple(PlannedCell(**cell) for cell in values["cells"]), folder
    )
    with ExitStack() as stack:
        try:
            lock = stack.enter_context(JobLock(folder, call, on_lost=_on_taken_over))
        except JobTakenError as error:
            return {"state": "busy", "failed": {"": str(error)}}
        entry.finish_saves()
        cells = entry.unfinished
        kept = {"model": entry.model.name, "cells": len(entry.cells), "finished": len(entry.cells) - len(cells)}
        kept |= {"plan": entry.digest, "failed": {}, "timings": []}
        state = stack.enter_context(JobState(lock, {**about, **kept}))
        is_at_home = values["caller"] == get_machine_id()
        outcome = _run_cells(entry, cells, state, same_machine=is_at_home)
        if is_at_home:
            _merge_own_stores(entry)
        return outcome


def _merge_own_stores(entry: ModelCells) -> None:
    """Add what the job stored to the cache of this machine; its caller may have been killed meanwhile.

    What cannot be merged stays for the caller, which says so.
    """
    from tiltmeter.cluster.job_stores import has_stores, merge_stores

    if has_stores(entry.folder):
        with suppress(TiltmeterError, OSError):
            merge_stores(entry.folder, remove=not entry.unfinished)


def _run_cells(entry: ModelCells, cells: list[PlannedCell], state: JobState, *, same_machine: bool) -> JobOutcome:
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
                    pace = CellThroughput(state)
                    model.measure(cell, pace.watch)
                    timings = state.values["timings"]
                    state.update(timings=[*timings, {"cell": cell.folder, **pace.summary()}])

                reason = _run_safely(measured)
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
    outcome: JobOutcome = {"state": "failed" if failed else "finished", "failed": failed}
    state.update(**outcome, finished=done, cell="", stage="")
    return outcome


def _run_safely(work: Callable[[], None]) -> str | None:
    """Do the work; None, or why it failed, in a sentence."""
    try:
        work()
    except TiltmeterError as error:
        return str(error)
    except MemoryError:
        return "The memory of its machine does not suffice for this model; give the job more, or several GPUs."
    except OSError as error:
        about = f"{error.filename}: " if error.filename is not None else ""
        told = f"{about}{error.strerror or error}; check the path, its permissions and the space on its disk."
        return redact_secrets(told)
    except Exception as error:
        logger.exception("A cell failed.")
        first, *_ = [*str(error).strip().splitlines(), ""]
        told = redact_secrets(f"{type(error).__name__}{f' ({first[:200]})' if first else ''}")
        return f"{told}; {LOG} of its folder says more."
    return None


def _on_taken_over() -> None:
    logger.error("Another process has taken this job over, since this one did not write its state for long.")
    os._exit(_TAKEN_OVER)  # stored answers are safe: each batch is one transaction


def _stop(number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt(number)


def main(folder: Path) -> int:
    """Do a job, and print how it ended as JSON on standard output; all else that is printed goes to standard error."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as output:
        os.dup2(2, 1)  # what libraries print, those that are not written in Python among them
        with guard_output():
            logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
            try:
                outcome = run_job(folder)
            except KeyboardInterrupt:
                return 130
        output.write(json.dumps(outcome, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
