"""Run a matrix: start the jobs, wait until they end, and merge their stores into the cache."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from tiltmeter.cluster.job_engine import JobEngine
from tiltmeter.cluster.job_lock import JobLock, JobTakenError, find_held_folders
from tiltmeter.cluster.job_stores import has_stores, merge_stores
from tiltmeter.cluster.job_timings import save_timings
from tiltmeter.cluster.model_job import JobOutcome, write_job
from tiltmeter.cluster.plan_cells import ModelCells, RunMatrix
from tiltmeter.cluster.plan_file import PLAN_COPY
from tiltmeter.errors import TiltmeterError
from tiltmeter.files import create_folder, reject_unwritable_folder, write_text
from tiltmeter.text_files import read_text

# Seconds between two checks of the jobs.
_POLL_INTERVAL = 0.5


@dataclass
class MatrixResult:
    """The result of running a matrix: the numbers of all and of complete cells (runs), and the failed cells.

    `failed` maps (model, folder of the cell) to the reason of the failure. `elsewhere` are the models whose jobs are
    run by another command. `notes` are sentences for the user.
    """

    cells: int
    complete: int = 0
    failed: dict[tuple[str, str], str] = field(default_factory=dict)
    elsewhere: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


# A function that shows the states of jobs; it is called repeatedly with all models while jobs run.
Show = Callable[[Sequence[ModelCells]], None]


def run_matrix(
    matrix: RunMatrix, engine: JobEngine, *, show: Show = lambda _entries: None, wait: bool = True
) -> MatrixResult:
    """Start a job for each model with unfinished cells (runs); if `wait` is true, wait until all jobs have ended.

    If the call is interrupted, stored answers are kept, and the next call reuses them.
    """
    reject_unwritable_folder(matrix.out)
    create_folder(matrix.out)
    if matrix.plan is not None:
        write_text(matrix.out / PLAN_COPY, read_text(matrix.plan.path))
    result = MatrixResult(matrix.cell_count)
    to_do = _select_jobs(matrix, engine, result)
    ended: dict[str, JobOutcome] = {}
    try:
        engine.start_jobs(to_do)
        while wait and len(ended) < len(to_do):
            for entry, outcome in engine.take_ended_jobs():
                ended[entry.folder.name] = outcome
                if outcome["state"] == "busy":
                    result.elsewhere.append(entry.label)
                else:
                    _merge_stores(entry, result)
                    save_timings(matrix.out, entry)
            show(matrix.models)
            if len(ended) < len(to_do):
                time.sleep(_POLL_INTERVAL)
    except BaseException:
        engine.stop_jobs()
        if not engine.continues_after_exit:
            for entry in to_do:
                with suppress(Exception):
                    _merge_stores(entry, result)
        raise
    engine.stop_jobs()
    _process_ended_jobs(matrix, ended, result)
    return result


def _select_jobs(matrix: RunMatrix, engine: JobEngine, result: MatrixResult) -> list[ModelCells]:
    """Return the models whose jobs must be started or waited for, and write their job files."""
    held = find_held_folders(entry.folder for entry in matrix.models)
    to_do = []
    for entry in matrix.models:
        if not (started := engine.is_started(entry)) and entry.folder in held:
            result.elsewhere.append(entry.label)
        elif started or entry.unfinished_cells:
            try:
                # The job file is also written for queued jobs, which read it when they start.
                write_job(entry)
                to_do.append(entry)
            except (TiltmeterError, OSError) as error:
                result.failed |= {(entry.label, cell.folder): str(error) for cell in entry.unfinished_cells}
        else:
            # An earlier command may have ended before it merged the stores of this job.
            _merge_stores(entry, result)
            save_timings(matrix.out, entry)
    return to_do


def _process_ended_jobs(matrix: RunMatrix, ended: dict[str, JobOutcome], result: MatrixResult) -> None:
    for entry in matrix.models:
        left = entry.unfinished_cells
        result.complete += len(entry.cells) - len(left)
        outcome = ended.get(entry.folder.name)
        if outcome is None or outcome["state"] == "busy":
            continue
        default = outcome["failed"].get("", "The job ended before it measured this cell.")
        for cell in left:
            result.failed[entry.label, cell.folder] = outcome["failed"].get(cell.folder, default)


def _merge_stores(entry: ModelCells, result: MatrixResult) -> None:
    """Lock a job and merge its stores of answers into the cache; delete the stores if all cells (runs) are complete."""
    if not has_stores(entry.folder):
        return
    try:
        with JobLock(entry.folder, wait=False):
            merge_stores(entry.folder, remove=not entry.unfinished_cells)
    except JobTakenError:
        # The process that holds the lock will merge the stores.
        pass
    except (TiltmeterError, OSError) as error:
        result.notes.append(
            f"The answers of {entry.label} could not be added to the cache: {error} The answers are kept in "
            f"{entry.folder}; run the same command again to retry."
        )
