"""The interface between a matrix and what starts its jobs: processes on this machine, Ray, or Slurm."""

import os
from collections.abc import Iterable, Sequence
from typing import Protocol

import psutil  # comes with accelerate

from tiltmeter.cluster.model_job import JobOutcome
from tiltmeter.cluster.plan_cells import ModelCells
from tiltmeter.cluster.prefetch import PrefetchedFiles
from tiltmeter.datasets.file_fetcher import OFFLINE

# What keeps a job from asking the hub, and from downloading data.
_WITHOUT_NETWORK = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", OFFLINE: "1"}


class JobEngine(Protocol):
    """What starts jobs and says when they have ended."""

    # Whether jobs go on when the call ends.
    goes_on: bool

    def start(self, entries: Sequence[ModelCells]) -> None:
        """Start the jobs, or queue them."""

    def is_started(self, entry: ModelCells) -> bool:
        """Whether an earlier call has started the job, and `start` will wait for it instead of starting it."""

    def ended(self) -> Iterable[tuple[ModelCells, JobOutcome]]:
        """The jobs that have ended since the last call."""

    def stop(self) -> None:
        """End what was started, or leave it to the cluster if it goes on there."""


def build_job_environment(entry: ModelCells, prefetched: PrefetchedFiles) -> dict[str, str]:
    """Variables that a job's process needs besides the usual ones: no network if all that it needs was prefetched."""
    return dict(_WITHOUT_NETWORK) if prefetched.has_all_of(entry) else {}


def get_thread_limits(jobs: int) -> dict[str, str]:
    """The threads of each of several jobs on this machine; the user's own setting counts, if there is one."""
    if jobs < 2 or "OMP_NUM_THREADS" in os.environ:
        return {}
    process = psutil.Process()
    cores = len(process.cpu_affinity()) if hasattr(process, "cpu_affinity") else os.cpu_count() or 1
    return {"OMP_NUM_THREADS": str(max(1, cores // jobs))}
