"""The engine that submits jobs to Slurm with the library submitit; jobs with equal resources form one job array.

Slurm sends a signal to a job before the job's time limit. Submitit then queues the job again, and the job reuses its
stored answers. With `cluster="local"`, which is for tests, submitit runs the jobs as processes without Slurm.
"""

import getpass
import json
import logging
import math
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tiltmeter.cluster.job_engine import build_job_environment
from tiltmeter.cluster.job_lock import is_held
from tiltmeter.cluster.model_job import JobOutcome, build_failure, run_job
from tiltmeter.cluster.plan_cells import ModelCells
from tiltmeter.cluster.prefetch import NOTHING, PrefetchedFiles
from tiltmeter.errors import TiltmeterError, UsageError
from tiltmeter.files import create_folder, write_text
from tiltmeter.text_files import read_json

SUBMITTED, _LOGS = "submitted.json", "slurm"
# Maximum number of times that a job is queued again after reaching its time limit.
_MOST_REQUEUES = 100
# In seconds: the time between two calls of `squeue`, and the time after which a job has failed if it is not in the
# queue and has no result.
_QUERY_INTERVAL, _GONE_AFTER = 2.0, 10.0
# Slurm signals a job this many seconds before the time limit of the job, or after half of the limit if it is short.
_SIGNAL = 90


class SlurmJob:
    """The callable object that submitit pickles and calls on a node of the cluster."""

    def __call__(self, folder: str) -> JobOutcome:
        """Run the job in a folder."""
        array, task = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
        number = f"{array}_{task}" if array else os.environ.get("SLURM_JOB_ID", "")
        return run_job(Path(folder), number, slurm=number)

    def checkpoint(self, folder: str) -> Any:
        """Return a submission that queues the job again; submitit calls this method before the time limit."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(SlurmJob(), folder)


class SlurmEngine:
    """Submits jobs to Slurm; at most `jobs` jobs run at a time, or any number if `jobs` is None."""

    continues_after_exit = True

    def __init__(
        self,
        prefetched: PrefetchedFiles = NOTHING,
        *,
        partition: str | None = None,
        minutes: int = 24 * 60,
        jobs: int | None = None,
        more: Mapping[str, str] | None = None,
        cluster: str = "slurm",
        signal_seconds: int | None = None,
    ) -> None:
        try:
            import submitit
        except ImportError as error:
            raise UsageError(
                f"--engine slurm needs the package submitit ({error}); install it with pip install 'tiltmeter[slurm]'."
            ) from error
        self._submitit: Any = submitit
        logging.getLogger("submitit").setLevel(logging.ERROR)
        self._prefetched, self._partition, self._minutes, self._most = prefetched, partition, minutes, jobs
        self._more, self._cluster = dict(more or {}), cluster
        self._signal_seconds = signal_seconds or min(_SIGNAL, 60 * minutes // 2)
        self._jobs: dict[str, tuple[ModelCells, Any]] = {}
        self._seen: dict[str, float] = {}
        self._last_query = 0.0
        self._earlier: dict[str, str] | None = None
        self.continues_after_exit = cluster != "local"

    def start_jobs(self, entries: Sequence[ModelCells]) -> None:
        """Submit the jobs that are not in the queue yet."""
        groups: dict[tuple[Any, ...], list[ModelCells]] = {}
        for entry in entries:
            if self.is_started(entry) and (known := read_submitted_job(entry)):
                self._jobs[known.id] = (entry, self._submitit.SlurmJob(folder=known.logs, job_id=known.id))
                continue
            model = entry.model
            gpus = model.gpus if model.gpus is not None else int(not entry.is_served and self._has_gpus())
            own = {**build_job_environment(entry, self._prefetched), **({} if gpus else {"CUDA_VISIBLE_DEVICES": ""})}
            groups.setdefault((gpus, model.cpus, model.memory_gb, tuple(sorted(own.items()))), []).append(entry)
        for (gpus, cpus, memory, environment), members in groups.items():
            self._submit_jobs(members, gpus, cpus, memory, dict(environment))

    def _submit_jobs(
        self, entries: list[ModelCells], gpus: int, cpus: int, memory: float | None, environment: dict[str, str]
    ) -> None:
        logs = entries[0].folder.parent.resolve() / _LOGS
        create_folder(logs)
        parameters: dict[str, Any] = {"timeout_min": self._minutes, "cpus_per_task": cpus, "name": "tiltmeter"}
        if gpus:
            parameters["gpus_per_node"] = gpus
        if memory is not None:
            parameters["mem_gb"] = math.ceil(memory)
        if self._cluster == "slurm":
            parameters |= {
                "slurm_signal_delay_s": self._signal_seconds,
                # PYTHONSAFEPATH prevents imports from the current folder, which may be untrusted.
                "slurm_setup": [
                    f"export {name}={value}" for name, value in {**environment, "PYTHONSAFEPATH": "1"}.items()
                ],
                "slurm_additional_parameters": {name: value or True for name, value in self._more.items()},
            }
            if self._partition is not None:
                parameters["slurm_partition"] = self._partition
            if self._most is not None:
                parameters["slurm_array_parallelism"] = self._most
        options = {"slurm_max_num_timeout": _MOST_REQUEUES} if self._cluster == "slurm" else {}
        try:
            executor = self._submitit.AutoExecutor(folder=logs, cluster=self._cluster, **options)
            executor.update_parameters(**parameters)
            jobs = executor.map_array(SlurmJob(), [str(entry.folder.resolve()) for entry in entries])
        except (RuntimeError, OSError, self._submitit.core.utils.FailedJobError) as error:
            raise UsageError(
                f"Slurm rejected the jobs ({_get_last_line(error)}); check --partition, --time and --slurm, and that "
                "sbatch works on this machine."
            ) from error
        for entry, job in zip(entries, jobs, strict=True):
            self._jobs[job.job_id] = (entry, job)
            values = SubmittedJob(job.job_id, str(logs), time.time())
            write_text(entry.folder / SUBMITTED, json.dumps(values._asdict()) + "\n")

    def _has_gpus(self) -> bool:
        """Return whether Slurm, or the chosen partition, has nodes with GPUs."""
        with suppress(OSError, subprocess.SubprocessError):
            command = ["sinfo", "-h", "-o", "%G", *(["-p", self._partition] if self._partition else [])]
            return "gpu" in subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout
        return False

    def is_started(self, entry: ModelCells) -> bool:
        """Return whether an earlier command has submitted the job, and the job is now waiting or running in Slurm."""
        if self.continues_after_exit and self._earlier is None:
            self._earlier = self._query_queue()
            if self._earlier is None:
                raise UsageError(
                    "Slurm does not respond: squeue failed; check that squeue works on this machine, and try again."
                )
        known = read_submitted_job(entry)
        return known is not None and known.id in (self._earlier or {})

    def take_ended_jobs(self) -> Iterator[tuple[ModelCells, JobOutcome]]:
        """Yield the jobs that have ended since the last call; they have a result, or are no longer in the queue."""
        if self.continues_after_exit and time.monotonic() - self._last_query < _QUERY_INTERVAL:
            return
        self._last_query = time.monotonic()
        waiting = self._query_queue() if self.continues_after_exit else None
        # List the folder of the results, because a network file system may cache that a single file does not exist.
        results = {
            name
            for logs in {job.paths.result_pickle.parent for _, job in self._jobs.values()}
            for name in _list_file_names(logs)
        }
        for number, (entry, job) in list(self._jobs.items()):
            if job.paths.result_pickle.name in results or (not self.continues_after_exit and job.done()):
                outcome = self._get_outcome(job)
            elif self.continues_after_exit and self._has_left_queue(number, waiting, entry):
                outcome = build_failure(
                    f"Slurm ended job {number} (cancelled, failed, or node lost); its output is in the folder {_LOGS} "
                    "of the matrix."
                )
            else:
                continue
            del self._jobs[number]
            (entry.folder / SUBMITTED).unlink(missing_ok=True)
            yield entry, outcome

    def _get_outcome(self, job: Any) -> JobOutcome:
        try:
            outcome: JobOutcome = job.result()
        except Exception as error:
            # submitit raises the error of the job here, which may have any type.
            return build_failure(f"The Slurm job failed: {_get_last_line(error)}")
        return outcome

    def _has_left_queue(self, number: str, waiting: Mapping[str, str] | None, entry: ModelCells) -> bool:
        """Return whether a job was neither in the queue nor running for 10 seconds; False if Slurm does not respond."""
        now = time.monotonic()
        if waiting is None or number in waiting or is_held(entry.folder):
            self._seen[number] = now
        return now - self._seen.setdefault(number, now) > _GONE_AFTER

    def _query_queue(self) -> dict[str, str] | None:
        """Return the states of this user's jobs in the queue, with job ids as keys; None if Slurm does not respond."""
        command = ["squeue", "-h", "-r", "-u", getpass.getuser(), "-o", "%i %T"]
        try:
            output = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
        except (OSError, subprocess.SubprocessError):
            return None
        rows = [line.split(maxsplit=1) for line in output.splitlines() if " " in line]
        ended = ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")
        return {number: state for number, state in rows if not state.startswith(ended)}

    def stop_jobs(self) -> None:
        """Let the jobs continue in Slurm; with `cluster="local"`, end their processes."""
        if not self.continues_after_exit:
            for _, job in self._jobs.values():
                with suppress(Exception):
                    job.cancel()


def _list_file_names(folder: Path) -> list[str]:
    """Return the file names in a folder; empty if the folder cannot be read."""
    try:
        return [path.name for path in folder.iterdir()]
    except OSError:
        return []


def _get_last_line(error: Exception) -> str:
    """Return the last non-empty line of an error message, shortened."""
    lines = str(error).strip().splitlines() or [""]
    return lines[-1].strip()[:300]


class SubmittedJob(NamedTuple):
    """A job that was submitted to Slurm: its id in Slurm, the folder of its logs, and the time of submission."""

    id: str
    logs: str
    time: float


def read_submitted_job(entry: ModelCells) -> SubmittedJob | None:
    """Return the job of a model that was last submitted to Slurm, from a file that was written at the submission.

    Return None if the file is damaged or missing; the file is deleted when the end of the job has been processed.
    """
    with suppress(TiltmeterError, KeyError, TypeError, ValueError):
        values = read_json(entry.folder / SUBMITTED)
        return SubmittedJob(str(values["id"]), str(values["logs"]), float(values["time"]))
    return None
