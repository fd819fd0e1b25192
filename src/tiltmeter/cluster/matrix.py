"""A call of `tiltmeter matrix`: jobs are started, watched, and what they stored is merged into the cache."""

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

# Seconds between two looks at the jobs.
_LOOK = 0.5


@dataclass
class MatrixResult:
    """How a call ended: complete cells, the reasons of those that failed, and sentences on what else is to be told."""

    cells: int
    complete: int = 0
    failed: dict[tuple[str, str], str] = field(default_factory=dict)
    elsewhere: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


# Called again and again while jobs run, with all models and those that have ended.
Show = Callable[[Sequence[ModelCells]], None]


def run_matrix(
    matrix: RunMatrix, engine: JobEngine, *, show: Show = lambda _entries: None, wait: bool = True, look: float = _LOOK
) -> MatrixResult:
    """Start a job for each model that has unfinished cells, and wait until all have ended.

    If the call is interrupted, what jobs have stored is kept; calling again goes on from there.
    """
    reject_unwritable_folder(matrix.out)
    create_folder(matrix.out)
    write_text(matrix.out / PLAN_COPY, read_text(matrix.plan.path))
    result = MatrixResult(matrix.cells)
    to_do = _select_jobs(matrix, engine, result)
    ended: dict[str, JobOutcome] = {}
    try:
        engine.start(to_do)
        while wait and len(ended) < len(to_do):
            for entry, outcome in engine.ended():
                ended[entry.folder.name] = outcome
                if outcome["state"] == "busy":
                    result.elsewhere.append(entry.label)
                else:
                    _merge_stores(entry, result)
                    save_timings(matrix.out, entry)
            show(matrix.models)
            if len(ended) < len(to_do):
                time.sleep(look)
    except BaseException:
        engine.stop()
        if not engine.goes_on:
            for entry in to_do:
                with suppress(Exception):
                    _merge_stores(entry, result)
        raise
    engine.stop()
    _process_ended_jobs(matrix, ended, result)
    return result


def _select_jobs(matrix: RunMatrix, engine: JobEngine, result: MatrixResult) -> list[ModelCells]:
    """The models whose jobs are to be started or waited for, and what they are to do in their folders."""
    held = find_held_folders(entry.folder for entry in matrix.models)
    to_do = []
    for entry in matrix.models:
        if not (started := engine.is_started(entry)) and entry.folder in held:
            result.elsewhere.append(entry.label)
        elif started or entry.unfinished:
            try:
                write_job(entry)  # one that is queued reads it when it starts
                to_do.append(entry)
            except (TiltmeterError, OSError) as error:
                result.failed |= {(entry.label, cell.folder): str(error) for cell in entry.unfinished}
        else:  # an earlier call was interrupted, or did not wait
            _merge_stores(entry, result)
            save_timings(matrix.out, entry)
    return to_do


def _process_ended_jobs(matrix: RunMatrix, ended: dict[str, JobOutcome], result: MatrixResult) -> None:
    for entry in matrix.models:
        left = entry.unfinished
        result.complete += len(entry.cells) - len(left)
        outcome = ended.get(entry.folder.name)
        if outcome is None or outcome["state"] == "busy":
            continue
        of_job = outcome["failed"].get("", "Its job ended before it was asked.")
        for cell in left:
            reason = outcome["failed"].get(cell.folder, of_job)
            result.failed[entry.label, cell.folder] = reason


def _merge_stores(entry: ModelCells, result: MatrixResult) -> None:
    """Add what a job stored to the cache; the job's stores are removed once its cells are complete.

    No job can start meanwhile: its store is used by one process at a time.
    """
    if not has_stores(entry.folder):
        return
    try:
        with JobLock(entry.folder, wait=False):
            merge_stores(entry.folder, remove=not entry.unfinished)
    except JobTakenError:
        pass  # another call merges it
    except (TiltmeterError, OSError) as error:
        result.notes.append(
            f"The answers of {entry.label} are not in the cache yet: {error} They stay in {entry.folder}, and "
            "the next call tries again."
        )
