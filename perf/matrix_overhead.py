"""The overhead of a matrix over the same runs in one process, and the scaling with two workers.

    python -m perf.matrix_overhead --on stereoset --languages en --limit 1100 --repeats 3

The same cells are measured by `evaluate` in one process and by the local engine with one job, both at the same time
with one thread each, because the speed of a shared machine varies. Then the engine is measured alone, with one and two
jobs.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

from perf.matrix_scene import make_models, make_plan
from tiltmeter.cluster.plan_cells import RunMatrix

_ONE_PROCESS = """
from tiltmeter import evaluate
for entry in matrix.models:
    for cell in entry.cells:
        evaluate(entry.model.name, cell.on, limit=cell.limit, batch_tokens=entry.model.options["batch_tokens"],
                 out=entry.folder / cell.folder)
"""
_JOBS = """
from tiltmeter.cluster.engine_local import LocalEngine
from tiltmeter.cluster.matrix import run_matrix
result = run_matrix(matrix, LocalEngine(JOBS))
assert result.complete == result.cells, result.failed
"""
_MATRIX = """
import sys
from pathlib import Path
from tiltmeter.cluster.plan_cells import make_matrix
from tiltmeter.cluster.plan_file import read_plan
matrix = make_matrix(read_plan(Path(sys.argv[1])), Path(sys.argv[2]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=60, help="the number of items of each part and language")
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--on", default="starter")
    parser.add_argument("--languages", default="en,de,fr,es,tr")
    parser.add_argument("--repeats", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tiltmeter-overhead-") as name:
        folder = Path(name)
        models = make_models(folder / "models", ("bert", "gpt2"), given.width, given.layers)
        matrix = make_plan(folder, models, [given.on], given.languages.split(","), given.limit)
        print(json.dumps(measure(folder, matrix, given.repeats), indent=1), flush=True)


def measure(folder: Path, matrix: RunMatrix, repeats: int) -> dict[str, Any]:
    """Return wall and CPU seconds of both ways and their ratios: medians and all values."""
    found: dict[str, list[Any]] = {"pairs": [], "one job": [], "two jobs": []}
    one, two = (_JOBS.replace("JOBS", str(count)) for count in (1, 2))
    for turn in range(repeats):
        pair = [_ONE_PROCESS, one]
        taken = timed(folder, matrix, pair if turn % 2 else pair[::-1])
        found["pairs"].append(taken if turn % 2 else taken[::-1])
        print("side by side", found["pairs"][-1], file=sys.stderr, flush=True)
        for name, program in (("one job", one), ("two jobs", two)):
            found[name] += timed(folder, matrix, [program])
            print(name, found[name][-1], file=sys.stderr, flush=True)
    overheads = [[round(many / single - 1, 3) for single, many in zip(*pair, strict=True)] for pair in found["pairs"]]
    scaling = [one[0] / two[0] for one, two in zip(found["one job"], found["two jobs"], strict=True)]
    return {
        "models": len(matrix.models),
        "cells": matrix.cell_count,
        "seconds and processor seconds": found,
        "overheads": overheads,
        "overhead": statistics.median(time for time, _ in overheads),
        "overhead in processor time": statistics.median(processor for _, processor in overheads),
        "speed of two jobs divided by one": round(statistics.median(scaling), 2),
    }


def timed(folder: Path, matrix: RunMatrix, programs: list[str]) -> list[tuple[float, float]]:
    """Return wall and CPU seconds of programs that run in parallel, each with its own cache and output."""
    began = time.monotonic()
    running = {}
    for place, program in enumerate(programs):
        words = [sys.executable, "-c", _MATRIX + program, str(matrix.plan.path), tempfile.mkdtemp(dir=folder)]
        own = {**os.environ, "TILTMETER_CACHE": tempfile.mkdtemp(dir=folder)}
        running[subprocess.Popen(words, env=own, stderr=subprocess.DEVNULL).pid] = place
    found = [(0.0, 0.0)] * len(programs)
    while running:
        pid, status, used = os.wait4(-1, 0)  # includes child processes: the job server and the jobs
        if os.waitstatus_to_exitcode(status):
            raise SystemExit("A program failed.")
        found[running.pop(pid)] = (round(time.monotonic() - began, 1), round(used.ru_utime + used.ru_stime, 1))
    return found


if __name__ == "__main__":
    main()
