"""A job measures all cells (runs) of one model in one process: `python -m tiltmeter.cluster.model_job FOLDER`.

The model is opened once for all cells. The file `job.json` in the folder describes the job, so that every engine can
start the job with only the path of the folder.
"""

import json
import logging
import os
import sys
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from tiltmeter.cluster.job_lock import JobLock, JobTakenError, get_machine_id
from tiltmeter.cluster.job_signals import describe_failure, exit_after_takeover, raise_on_signals
from tiltmeter.cluster.job_state import JobState
from tiltmeter.cluster.plan_cells import ModelCells, PlannedCell
from tiltmeter.cluster.plan_file import build_planned_model
from tiltmeter.cluster.throughput import CellThroughput
from tiltmeter.datasets.file_hashes import cache_hashes
from tiltmeter.errors import TiltmeterError
from tiltmeter.files import create_folder, write_text
from tiltmeter.safe_output import guard_output
from tiltmeter.text_files import read_json

if TYPE_CHECKING:
    from tiltmeter.cluster.cell_run import OpenModel, OpenTranslator

logger = logging.getLogger(__name__)

JOB = "job.json"


class JobOutcome(TypedDict):
    """The outcome of a job: `state` is `finished`, `failed` or `busy` (another process runs the job).

    `failed` maps the folder of each failed cell (run) to the reason; the value of the key "" is a reason that concerns
    all cells.
    """

    state: str
    failed: dict[str, str]


def write_job(entry: ModelCells) -> None:
    """Write the file `job.json`, which describes the job of a model and its cells (runs)."""
    create_folder(entry.folder)
    values = {
        "model": entry.model.to_dict(),
        "cells": [asdict(cell) for cell in entry.cells],
        "caller": get_machine_id(),
        "directory": str(Path.cwd()),
    }
    write_text(entry.folder / JOB, json.dumps(values, ensure_ascii=False, indent=1) + "\n")


def build_failure(reason: str) -> JobOutcome:
    """Return the outcome of a job in which all cells (runs) failed for the same reason."""
    return {"state": "failed", "failed": {"": reason}}


@cache_hashes()
def run_job(folder: Path, call: str = "", **about: Any) -> JobOutcome:
    """Measure the unfinished cells (runs) of the job in a folder; `about` are additional values for its state file.

    `call` identifies the attempt to run the job, see `JobLock`. Errors (but not interrupts) become reasons in the
    outcome instead of being raised.
    """
    try:
        return _run_job(folder, call, about)
    except Exception as error:
        return build_failure(describe_failure(error))


def _run_job(folder: Path, call: str, about: dict[str, Any]) -> JobOutcome:
    values = read_json(folder / JOB)
    directory = Path(values["directory"])
    # Paths of models and files may be relative to the folder in which the command was started.
    if directory.is_dir():
        os.chdir(directory)
    entry = ModelCells(
        build_planned_model(values["model"]), tuple(PlannedCell(**cell) for cell in values["cells"]), folder
    )
    with ExitStack() as stack:
        try:
            lock = stack.enter_context(JobLock(folder, call, on_lost=exit_after_takeover))
        except JobTakenError as error:
            return {"state": "busy", "failed": {"": str(error)}}
        entry.finish_interrupted_saves()
        cells = entry.unfinished_cells
        known = {"model": entry.model.name, "cells": len(entry.cells), "finished": len(entry.cells) - len(cells)}
        known |= {"plan": entry.digest, "failed": {}, "timings": []}
        state = stack.enter_context(JobState(lock, {**about, **known}))
        same_machine = values["caller"] == get_machine_id()
        outcome = _run_cells(entry, cells, state, same_machine=same_machine)
        if same_machine:
            _merge_own_stores(entry)
        return outcome


def _merge_own_stores(entry: ModelCells) -> None:
    """Merge the job's stores into the cache, in case the command that started the job was killed.

    Errors are ignored here; if the command still runs, it merges the stores itself and reports errors.
    """
    from tiltmeter.cluster.job_stores import has_stores, merge_stores

    if has_stores(entry.folder):
        with suppress(TiltmeterError, OSError):
            merge_stores(entry.folder, remove=not entry.unfinished_cells)


def _run_cells(entry: ModelCells, cells: list[PlannedCell], state: JobState, *, same_machine: bool) -> JobOutcome:
    failed: dict[str, str] = {}
    done = len(entry.cells) - len(cells)
    try:
        with ExitStack() as stack:
            model: OpenModel | OpenTranslator | None = None
            for cell in cells:
                state.update_values(cell=cell.folder, answered=0, questions=0, stage="")

                try:
                    if model is None:
                        # Imported here, because it imports torch, which takes seconds.
                        from tiltmeter.cluster.cell_run import open_model_for_cells

                        watch = CellThroughput(state).watch_progress
                        model = stack.enter_context(open_model_for_cells(entry, same_machine=same_machine, watch=watch))
                    throughput = CellThroughput(state)
                    model.measure_cell(cell, throughput.watch_progress)
                    timings = state.values["timings"]
                    state.update_values(timings=[*timings, {"cell": cell.folder, **throughput.summarize()}])
                    done += 1
                except Exception as error:
                    reason = describe_failure(error)
                    # If the model cannot be opened, all cells fail.
                    if model is None:
                        failed = {left.folder: reason for left in cells}
                        break
                    failed[cell.folder] = reason
                state.update_values(finished=done, failed=dict(failed))
    except BaseException:
        state.update_values(state="stopped", finished=done, failed=failed)
        raise
    outcome: JobOutcome = {"state": "failed" if failed else "finished", "failed": failed}
    state.update_values(**outcome, finished=done, cell="", stage="")
    return outcome


def main(folder: Path) -> int:
    """Run a job, and print its outcome as JSON on standard output; redirect all other output to standard error."""
    raise_on_signals()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as output:
        # Redirect the output of all libraries, also of compiled code.
        os.dup2(2, 1)
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
