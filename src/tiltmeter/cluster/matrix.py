"""A call of `tiltmeter matrix`: jobs are started, watched, and what they stored is merged into the cache."""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiltmeter.cluster.engine import Engine
from tiltmeter.cluster.job_state import is_held, read_state
from tiltmeter.cluster.job_stores import merge_stores
from tiltmeter.cluster.model_job import Outcome, write_job
from tiltmeter.cluster.plan_cells import ModelCells, RunMatrix, forms_of
from tiltmeter.cluster.plan_file import PLAN_COPY
from tiltmeter.cluster.timings import Timing, Timings
from tiltmeter.datasets.cache import cache_dir
from tiltmeter.errors import TiltmeterError
from tiltmeter.files import check_folder, make_folder, write_text
from tiltmeter.reading import read_json, read_text
from tiltmeter.runs.run_files import MANIFEST

# Seconds between two looks at the jobs.
_LOOK = 0.5
_TIMINGS = "timings.sqlite"
# Which jobs' timings are kept already.
_RECORDED = "recorded.json"


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
    matrix: RunMatrix, engine: Engine, *, show: Show = lambda _entries: None, wait: bool = True, look: float = _LOOK
) -> MatrixResult:
    """Start a job for each model that has unfinished cells, and wait until all have ended.

    If the call is interrupted, what jobs have stored is kept; calling again goes on from there.
    """
    check_folder(matrix.out)
    make_folder(matrix.out)
    write_text(matrix.out / PLAN_COPY, read_text(matrix.plan.path))
    result = MatrixResult(matrix.cells)
    to_do: list[ModelCells] = []
    for entry in matrix.models:
        if engine.is_started(entry):
            to_do.append(entry)
        elif is_held(entry.folder):
            result.elsewhere.append(entry.model.name)
        elif entry.unfinished:
            _merge(entry, result)  # of a call that was interrupted
            write_job(entry)
            to_do.append(entry)
        else:
            _merge(entry, result)
    ended: dict[str, Outcome] = {}
    try:
        engine.start(to_do)
        while wait and len(ended) < len(to_do):
            for entry, outcome in engine.ended():
                ended[entry.folder.name] = outcome
                if outcome["state"] == "busy":
                    result.elsewhere.append(entry.model.name)
                else:
                    _merge(entry, result)
                    _record(matrix.out, entry)
            show(matrix.models)
            if len(ended) < len(to_do):
                time.sleep(look)
    except BaseException:
        engine.stop()
        if not engine.goes_on:
            for entry in to_do:
                with suppress(Exception):
                    _merge(entry, result)
        raise
    engine.stop()
    _conclude(matrix, ended, result)
    return result


def _conclude(matrix: RunMatrix, ended: dict[str, Outcome], result: MatrixResult) -> None:
    for entry in matrix.models:
        left = entry.unfinished
        result.complete += len(entry.cells) - len(left)
        outcome = ended.get(entry.folder.name)
        if outcome is None or outcome["state"] == "busy":
            continue
        of_job = outcome["failed"].get("", "Its job ended before it was asked.")
        for cell in left:
            reason = outcome["failed"].get(cell.folder, of_job)
            result.failed[entry.model.name, cell.folder] = reason


def _merge(entry: ModelCells, result: MatrixResult) -> None:
    """Add what a job stored to the cache; the job's stores are removed once its cells are complete."""
    try:
        merge_stores(entry.folder, remove=not entry.unfinished)
    except (TiltmeterError, OSError) as error:
        result.notes.append(
            f"The answers of {entry.model.name} are not in the cache yet ({error}) They stay in {entry.folder}, and "
            "the next call tries again."
        )


def _record(out: Path, entry: ModelCells) -> None:
    """Keep how fast a job's model answered, for estimates of the time."""
    state = read_state(entry.folder)
    with suppress(TiltmeterError, OSError, KeyError, TypeError, ValueError):
        known = read_json(out / _RECORDED) if (out / _RECORDED).is_file() else []
        if state.get("job") in known:
            return
        found = [_timing(entry, values) for values in state.get("timings", []) if values["asked"]]
        with Timings(cache_dir() / _TIMINGS) as timings:
            timings.add(found)
        write_text(out / _RECORDED, json.dumps([*known, state["job"]]))


def _timing(entry: ModelCells, values: dict[str, Any]) -> Timing:
    """What a cell took, from the state of its job and the manifest of its run."""
    manifest = read_json(entry.folder / values["cell"] / MANIFEST)
    model = manifest["models"][0]
    compute = model.get("compute") or {}
    return Timing(
        model=str(model["name"]),
        kind=str(model.get("kind", "chat")),
        bytes=model.get("bytes"),
        device=", ".join(compute.get("hardware") or [str(model.get("device", "server"))]),
        forms=" ".join(forms_of(manifest["request"]["on"])),
        protocol=str(manifest["request"]["protocol"]),
        items=sum(int(portion["items"]) for portion in manifest["data"]),
        questions=values["questions"],
        start_seconds=values["start_seconds"],
        asked=values["asked"],
        asking_seconds=values["asking_seconds"],
        end_seconds=max(0.0, values["seconds"] - values["start_seconds"] - values["asking_seconds"]),
    )


def known_timings() -> list[Timing]:
    """What runs took before; empty if nothing is known."""
    if not (cache_dir() / _TIMINGS).is_file():
        return []
    with Timings(cache_dir() / _TIMINGS) as timings:
        return timings.newest()
