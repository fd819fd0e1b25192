"""What a matrix costs beside the same runs in one process, and how two workers scale.

    python -m perf.matrix_overhead --on stereoset --languages en --limit 1100 --repeats 3

The same cells by `evaluate` in one process, by the local engine with one job at a time, and with two; each process has
one thread. Processor time is told beside the time that passed, for the machine may do other work.
"""

import argparse
import json
import os
import resource
import statistics
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

_SINGLE, _ONE, _TWO = "one process", "matrix, one job", "matrix, two jobs"
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
    with tempfile.TemporaryDirectory(prefix="tiltmeter-overhead-") as name:
        folder = Path(name)
        models = make_models(folder / "models", ("bert", "gpt2"), given.width, given.layers)
        matrix = make_plan(folder, models, [given.on], given.languages.split(","), given.limit)
        print(json.dumps(measure(folder, matrix, given.repeats), indent=1), flush=True)


def measure(folder: Path, matrix: RunMatrix, repeats: int) -> dict[str, Any]:
    """Seconds and processor seconds of the three ways, each taken in turn; ratios are of the medians."""
    plan = matrix.plan.path

    def one_process(out: Path) -> None:
        words = [sys.executable, "-c", _ONE_PROCESS, str(plan), str(out)]
        subprocess.run(words, check=True, stderr=subprocess.DEVNULL)

    def jobs(count: int, out: Path) -> None:
        result = run_matrix(make_matrix(read_plan(plan), out), LocalEngine(count))
        assert result.complete == result.cells, result.failed

    ways = {_SINGLE: one_process, _ONE: lambda out: jobs(1, out), _TWO: lambda out: jobs(2, out)}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    processor: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(repeats):
        for way, work in ways.items():
            os.environ["TILTMETER_CACHE"] = tempfile.mkdtemp(dir=folder)
            began, before = time.monotonic(), _used()
            work(Path(tempfile.mkdtemp(dir=folder)))
            seconds[way].append(round(time.monotonic() - began, 1))
            processor[way].append(round(_used() - before, 1))
            print(way, seconds[way][-1], processor[way][-1], file=sys.stderr, flush=True)
    taken = {way: statistics.median(values) for way, values in seconds.items()}
    used = {way: statistics.median(values) for way, values in processor.items()}
    return {
        "models": len(matrix.models),
        "cells": matrix.cells,
        "seconds": seconds,
        "processor": processor,
        "overhead": round(taken[_ONE] / taken[_SINGLE] - 1, 3),
        "overhead in processor time": round(used[_ONE] / used[_SINGLE] - 1, 3),
        "two jobs beside one": round(taken[_ONE] / taken[_TWO], 2),
    }


def _used() -> float:
    """The processor time of this process and of those that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main()
