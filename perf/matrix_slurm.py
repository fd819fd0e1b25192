"""The matrix of `perf.matrix_ray` on a real Slurm, with a cancelled job, time limits and restarted daemons.

    TILTMETER_MIRROR=… python -m perf.matrix_slurm --limit 60

It needs root and the packages of Slurm. Jobs have a time limit of one minute and are requeued some seconds before it.
At the end every cell must be complete and identical to a single run.
"""

import argparse
import json
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

from perf.matrix_ray import BENCHMARKS, LANGUAGES
from perf.matrix_scene import differing, make_models, make_plan
from tests.support.slurm import Slurm, wait_until, why_not
from tiltmeter.cluster.engine_slurm import SUBMITTED, SlurmEngine
from tiltmeter.cluster.job_state import read_state
from tiltmeter.cluster.job_table import build_job_rows, summarize_jobs
from tiltmeter.cluster.matrix import run_matrix
from tiltmeter.cluster.plan_cells import RunMatrix
from tiltmeter.text_files import read_json


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=60, help="the number of items of each part and language")
    parser.add_argument(
        "--before", type=int, default=25, help="requeue a job this number of seconds before its time limit"
    )
    given = parser.parse_args()
    if (reason := why_not()) is not None:
        raise SystemExit(reason)
    with tempfile.TemporaryDirectory(prefix="tiltmeter-slurm-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        print(json.dumps(measure(folder, given.limit, given.before), indent=1))


def measure(folder: Path, limit: int, before: int) -> dict[str, Any]:
    """Return the results of one matrix."""
    os.environ["TILTMETER_CACHE"] = str(folder / "cache")
    matrix = make_plan(folder, make_models(folder / "models"), BENCHMARKS, LANGUAGES, limit)
    slurm = Slurm(folder / "slurm")
    os.environ.update(slurm.environment)
    slurm.start()
    began = time.monotonic()
    trouble = _Trouble(slurm, matrix)
    try:
        trouble.start()
        first = run_matrix(matrix, SlurmEngine(minutes=1, partition="all", signal_seconds=before))
        trouble.join()
        print(summarize_jobs(build_job_rows(matrix.models)), flush=True)
        second = run_matrix(matrix, SlurmEngine(minutes=1, partition="all", signal_seconds=before))
        took = time.monotonic() - began
    finally:
        slurm.stop()
    requeued = sum(
        path.read_text(encoding="utf-8", errors="replace").count("Caught signal SIGUSR2")
        for path in (matrix.out / "slurm").glob("*.err")
    )
    compared, different = differing(matrix, folder / "single")
    return {
        "models": len(matrix.models),
        "cells": first.cells,
        "cancelled": trouble.cancelled,
        "daemons restarted": trouble.restarts,
        "requeued before the limit": requeued,
        "complete after the first call": first.complete,
        "reasons": sorted(set(first.failed.values())),
        "complete after the second": second.complete,
        "failed then": sorted(set(second.failed.values())),
        "seconds": round(took, 1),
        "compared": compared,
        "other bytes": different,
    }


class _Trouble(threading.Thread):
    """Cancels a running job, and then restarts the daemons of Slurm while other jobs run."""

    def __init__(self, slurm: Slurm, matrix: RunMatrix) -> None:
        super().__init__(daemon=True)
        self._slurm, self._matrix = slurm, matrix
        self.cancelled = self.restarts = 0

    def run(self) -> None:
        asking = next(entry for entry in [self._asking()] if entry is not None)
        number = read_json(asking.folder / SUBMITTED)["id"]
        self._slurm.run("scancel", number)
        self.cancelled += 1
        wait_until(lambda: self._asking() is not None, "no other job ran", 300)
        self._slurm.stop_slurm()
        self._slurm.start_slurm()
        self.restarts += 1

    def _asking(self) -> Any:
        """Wait for the first job that computes answers, and return it."""

        def running() -> list[Any]:
            found = [entry for entry in self._matrix.models if (entry.folder / SUBMITTED).is_file()]
            return [entry for entry in found if read_state(entry.folder).get("answered")]

        wait_until(lambda: bool(running()), "no job ran", 300)
        return running()[0]


if __name__ == "__main__":
    main()
