"""The interface of the engines that run the jobs of a matrix: local processes, Ray, or Slurm."""

import os
from collections.abc import Iterable, Sequence
from typing import Protocol

import psutil  # psutil is always installed, because accelerate needs it

from tiltmeter.cluster.model_job import JobOutcome
from tiltmeter.cluster.plan_cells import ModelCells
from tiltmeter.cluster.prefetch import PrefetchedFiles
from tiltmeter.datasets.file_fetcher import OFFLINE

# Environment variables that prevent requests to the hub and downloads of data.
_WITHOUT_NETWORK = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", OFFLINE: "1"}


class JobEngine(Protocol):
    """Starts jobs and reports when they have ended."""

    # Whether the jobs continue after the command that started them has ended.
    continues_after_exit: bool

    def start_jobs(self, entries: Sequence[ModelCells]) -> None:
        """Start or queue a job for each of these models."""

    def is_started(self, entry: ModelCells) -> bool:
        """Return whether a job of an earlier command still waits or runs; `start_jobs` does not start it again."""

    def take_ended_jobs(self) -> Iterable[tuple[ModelCells, JobOutcome]]:
        """Return the jobs that have ended since the last call, with their outcomes."""

    def stop_jobs(self) -> None:
        """End the jobs; if `continues_after_exit` is true, let them continue in the cluster."""


def build_job_environment(entry: ModelCells, prefetched: PrefetchedFiles) -> dict[str, str]:
    """Return the additional environment variables of a job.

    If all files of the job were downloaded before (see `prefetch`), the variables disable network access; otherwise,
    the dictionary is empty.
    """
    return dict(_WITHOUT_NETWORK) if prefetched.has_all_files_of(entry) else {}


def get_thread_limits(jobs: int) -> dict[str, str]:
    """Return the environment variable that divides the CPU cores among parallel jobs.

    The dictionary is empty if there is only one job, or if the user has set the variable.
    """
    if jobs < 2 or "OMP_NUM_THREADS" in os.environ:
        return {}
    process = psutil.Process()
    cores = len(process.cpu_affinity()) if hasattr(process, "cpu_affinity") else os.cpu_count() or 1
    return {"OMP_NUM_THREADS": str(max(1, cores // jobs))}
