"""A matrix on a Ray cluster of three nodes, with randomly killed workers and one killed node.

    TILTMETER_MIRROR=… python -m perf.matrix_ray --kills 20 --limit 60

Six small models are measured on stereoset and starter in five languages, and on gender-pairs in three. At the end every
cell must be complete and identical to a single run, and only batches in flight may have been computed twice.
"""

import argparse
import json
import os
import random
import signal
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

# The number that Ray uses for tasks of one CPU: other numbers of threads may round differently.
os.environ["OMP_NUM_THREADS"] = "1"

from perf.matrix_scene import asked_twice, differing, log_questions, make_models, make_plan
from tiltmeter.cluster import engine_ray
from tiltmeter.cluster.job_state import read_state
from tiltmeter.cluster.job_table import build_job_rows, summarize_jobs
from tiltmeter.cluster.matrix import run_matrix
from tiltmeter.cluster.plan_cells import RunMatrix

LANGUAGES = ["en", "de", "fr", "es", "tr"]
BENCHMARKS = ["stereoset", "starter", "gender-pairs:en,de,fr"]
# The share of kills of a job while it computes answers; the others are while it starts.
_WHILE_ASKING = 0.8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20, help="the number of killed processes, including one node")
    parser.add_argument("--limit", type=int, default=60, help="the number of items of each part and language")
    parser.add_argument(
        "--seconds", type=float, default=4.0, help="the maximum wait from the choice of a running job to its kill"
    )
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tiltmeter-ray-") as name:
        print(json.dumps(measure(Path(name), given.kills, given.limit, given.seconds, given.seed), indent=1))


def measure(folder: Path, kills: int, limit: int, seconds: float, seed: int) -> dict[str, Any]:
    """Return the results of one matrix."""
    import ray
    from ray.cluster_utils import Cluster

    os.environ["TILTMETER_CACHE"] = str(folder / "cache")
    matrix = make_plan(folder, make_models(folder / "models"), BENCHMARKS, LANGUAGES, limit)
    own = engine_ray._run_job

    def logging_job(job_folder: str, probe: str, retries: int) -> Any:
        log_questions(Path(job_folder))
        return own(job_folder, probe, retries)

    engine_ray._run_job = logging_job
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(3)]
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    killer = _Killer(cluster, nodes, kills, seconds, random.Random(seed), matrix)
    began = time.monotonic()
    try:
        killer.start()
        result = run_matrix(matrix, engine_ray.RayEngine(None, retries=2 * kills + 5))
        took = time.monotonic() - began
    finally:
        killer.ended.set()
        killer.join()
        ray.shutdown()
        cluster.shutdown()
    total, again, batches = asked_twice(matrix)
    compared, different = differing(matrix, folder / "single")
    return {
        "models": len(matrix.models),
        "cells": result.cells,
        "complete": result.complete,
        "failed": {" ".join(key): reason for key, reason in result.failed.items()},
        "seconds": round(took, 1),
        "workers killed": killer.workers,
        "while they asked": killer.asking,
        "nodes killed": killer.nodes_killed,
        "questions": total,
        "asked twice": again,
        "in batches": batches,
        "compared": compared,
        "other bytes": different,
    }


class _Killer(threading.Thread):
    """Kills processes of random jobs repeatedly, most of them while they compute answers, and once a whole node."""

    def __init__(
        self, cluster: Any, nodes: list[Any], kills: int, seconds: float, chance: random.Random, matrix: RunMatrix
    ) -> None:
        super().__init__(daemon=True)
        self._cluster, self._nodes, self._kills, self._seconds = cluster, nodes, kills, seconds
        self._chance, self._matrix = chance, matrix
        self.ended = threading.Event()
        self.workers = self.asking = self.nodes_killed = 0

    def run(self) -> None:
        node_at = self._chance.randrange(self._kills // 3, max(1, 2 * self._kills // 3))
        while self.workers + self.nodes_killed < self._kills and not self.ended.is_set():
            only_asking = self._chance.random() < _WHILE_ASKING
            states = self._running(only_asking)
            while not states and not self.ended.wait(0.1):
                states = self._running(only_asking)
            if self.ended.wait(self._chance.uniform(0.0, self._seconds)):
                return
            if self.workers >= node_at and not self.nodes_killed:
                self._cluster.remove_node(self._chance.choice(self._nodes), allow_graceful=False)
                self.nodes_killed += 1
            elif states := self._running(only_asking):
                state = self._chance.choice(states)
                with suppress(ProcessLookupError):
                    os.kill(state["pid"], signal.SIGKILL)
                    self.workers += 1
                    self.asking += bool(state.get("questions"))
            else:
                continue
            print(summarize_jobs(build_job_rows(self._matrix.models)).partition(". ")[0], flush=True)

    def _running(self, only_asking: bool) -> list[dict[str, Any]]:
        states = [read_state(entry.folder) for entry in self._matrix.models]
        running = [state for state in states if state.get("state") == "running"]
        return [state for state in running if state.get("questions") or not only_asking]


if __name__ == "__main__":
    main()
