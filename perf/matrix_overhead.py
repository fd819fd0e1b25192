"""What a matrix costs beside the same runs in one process, and how two workers scale.

    python -m perf.matrix_overhead --limit 200

The same cells by `evaluate` in one process, by the local engine with one job at a time, and with two; each process has
one thread. Processor time is told beside the time that passed, for the machine may do other work.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

from perf.matrix_scene import make_models, make_plan
from tiltmeter.cluster.engine_local import LocalEngine
from tiltmeter.cluster.matrix import run_matrix
from tiltmeter.cluster.plan_cells import RunMatrix, make_matrix
from tiltmeter.cluster.plan_file import read_plan

_ONE_PROCESS = """
import sys
from pathlib import Path
from tiltmeter import evaluate
from tiltmeter.cluster.plan_cells import make_matrix
from tiltmeter.cluster.plan_file import read_plan
matrix = make_matrix(read_plan(Path(sys.argv[1])), Path(sys.argv[2]))
for entry in matrix.models:
    for cell in entry.cells:
        evaluate(entry.model.name, cell.on, limit=cell.limit, batch_tokens=entry.model.options["batch_tokens"],
                 out=entry.folder / cell.folder)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=60, help="items of each part and language")
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--on", default="starter")
    parser.add_argument("--languages", default="en,de,fr,es,tr")
    parser.add_argument("--repeats", type=int, default=1)
    given = parser.parse_args()
    for _ in range(given.repeats):
        with tempfile.TemporaryDirectory(prefix="tiltmeter-overhead-") as name:
            folder = Path(name)
            models = make_models(folder / "models", ("bert", "gpt2"), given.width, given.layers)
            matrix = make_plan(folder, models, [given.on], given.languages.split(","), given.limit)
            print(json.dumps(measure(folder, matrix), indent=1), flush=True)


def measure(folder: Path, matrix: RunMatrix) -> dict[str, Any]:
    """Seconds and processor seconds of the three ways."""
    found: dict[str, Any] = {"models": len(matrix.models), "cells": matrix.cells}
    plan = matrix.plan.path

    def one_process(out: Path) -> None:
        words = [sys.executable, "-c", _ONE_PROCESS, str(plan), str(out)]
        subprocess.run(words, check=True, stderr=subprocess.DEVNULL)

    def jobs(count: int, out: Path) -> None:
        result = run_matrix(make_matrix(read_plan(plan), out), LocalEngine(count))
        assert result.complete == result.cells, result.failed

    for name, work in (
        ("one process", one_process),
        ("matrix, one job", lambda out: jobs(1, out)),
        ("matrix, two jobs", lambda out: jobs(2, out)),
    ):
        os.environ["TILTMETER_CACHE"] = tempfile.mkdtemp(dir=folder)
        began, before = time.monotonic(), _used()
        work(Path(tempfile.mkdtemp(dir=folder)))
        found[name] = {"seconds": round(time.monotonic() - began, 1), "processor": round(_used() - before, 1)}
    single, one, two = (found[name] for name in ("one process", "matrix, one job", "matrix, two jobs"))
    found["overhead"] = round(one["seconds"] / single["seconds"] - 1, 3)
    found["overhead in processor time"] = round(one["processor"] / single["processor"] - 1, 3)
    found["two jobs beside one"] = round(one["seconds"] / two["seconds"], 2)
    return found


def _used() -> float:
    """The processor time of this process and of those that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main()
