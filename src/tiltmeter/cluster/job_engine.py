"""The interface of the engines that run the jobs of a matrix: local processes, Ray, or Slurm."""

import os
from collections.abc import Iterable, Sequence
from typing import Protocol

import psutil  # comes with accelerate

from tiltmeter.cluster.model_job import JobOutcome
from tiltmeter.cluster.plan_cells import ModelCells
from tiltmeter.cluster.prefetch import PrefetchedFiles
from tiltmeter.datasets.file_fetcher import OFFLINE

# Prevents requests to the hub and downloads of data.
_WITHOUT_NETWORK = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", OFFLINE: "1"}


class JobEngine(Protocol):
    """Starts jobs and reports when they have ended."""

    # Whether jobs continue when the command ends.
    goes_on: bool

    def start(self, entries: Sequence[ModelCells]) -> None:
        """Start or queue the jobs."""

    def is_started(self, entry: ModelCells) -> bool:
        """Return whether an earlier command has started the job; `start` then waits for it."""

    def ended(self) -> Iterable[tuple[ModelCells, JobOutcome]]:
        """Return the jobs that have ended since the last call, with their outcomes."""

    def stop(self) -> None:
        """End the jobs, or leave them to the cluster if `goes_on`."""


def build_job_environment(entry: ModelCells, prefetched: PrefetchedFiles) -> dict[str, str]:
    """Return additional environment variables of a job; they disable the network if all its files were prefetched."""
    return dict(_WITHOUT_NETWORK) if prefetched.has_all_of(entry) else {}


def get_thread_limits(jobs: int) -> dict[str, str]:
    """Return the environment variable that divides the CPU cores among jobs; empty if the user has set it."""
    if jobs < 2 or "OMP_NUM_THREADS" in os.environ:
        return {}
    process = psutil.Process()
    cores = len(process.cpu_affinity()) if hasattr(process, "cpu_affinity") else os.cpu_count() or 1
    return {"OMP_NUM_THREADS": str(max(1, cores // jobs))}
