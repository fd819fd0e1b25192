"""The engine that runs jobs as processes on this machine and assigns GPUs to them."""

import json
import os
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from tiltmeter.cluster.job_engine import build_job_environment, get_thread_limits
from tiltmeter.cluster.job_runner import JobProcess, JobRunner, describe_exit, open_log, start_process
from tiltmeter.cluster.job_server import CAN_FORK, COMMON_MODULES, LOCAL_MODEL_MODULES, JobServer
from tiltmeter.cluster.model_job import JobOutcome, build_failure
from tiltmeter.cluster.plan_cells import ModelCells
from tiltmeter.cluster.prefetch import NOTHING, PrefetchedFiles
from tiltmeter.errors import UsageError
from tiltmeter.models.option_scope import find_source


@dataclass(frozen=True, slots=True)
class _RunningJob:
    """A running job; `output` is the file to which it writes its outcome, and `gpus` are the GPUs assigned to it."""

    entry: ModelCells
    output: IO[bytes]
    gpus: tuple[str, ...]


class LocalEngine:
    """Runs jobs as processes on this machine, at most `jobs` processes at a time."""

    continues_after_exit = False

    def __init__(self, jobs: int, prefetched: PrefetchedFiles = NOTHING) -> None:
        self._prefetched = prefetched
        self._waiting: deque[ModelCells] = deque()
        self._runner: JobRunner[_RunningJob] = JobRunner(jobs)
        self._servers: dict[tuple[str, ...], JobServer] = {}
        self._all_gpus = list_visible_gpus()
        self._free_gpus = list(self._all_gpus)

    def start_jobs(self, entries: Sequence[ModelCells]) -> None:
        """Queue the jobs, and start as many jobs as the limit and the GPUs allow."""
        for entry in entries:
            if self._count_needed_gpus(entry) > len(self._all_gpus):
                raise UsageError(
                    f"{entry.model.name} needs {entry.model.gpus} GPUs, but this machine has {len(self._all_gpus)}; "
                    "change `gpus` in the plan, or use a cluster with --engine ray or --engine slurm."
                )
        self._waiting.extend(entries)
        self._start_waiting_jobs()

    def is_started(self, _entry: ModelCells) -> bool:
        """Return False: no process of an earlier command is still running, because processes end with the command."""
        return False

    def take_ended_jobs(self) -> Iterator[tuple[ModelCells, JobOutcome]]:
        """Yield the jobs that have ended since the last call, with their outcomes."""
        ended = self._runner.remove_ended_jobs()
        for job, _ in ended:
            self._free_gpus += job.gpus
        self._start_waiting_jobs()
        for job, code in ended:
            yield job.entry, _read_outcome(job, code)

    def stop_jobs(self) -> None:
        """Ask all processes to end; kill them if they do not end in time, or at once if the user interrupts again."""
        self._waiting.clear()
        running = self._runner.jobs
        try:
            self._runner.stop_jobs()
        finally:
            for job in running:
                job.output.close()
            for server in self._servers.values():
                server.kill()
            self._servers.clear()

    def _count_needed_gpus(self, entry: ModelCells) -> int:
        if entry.model.gpus is not None:
            return entry.model.gpus
        return 0 if entry.is_served else min(1, len(self._all_gpus))

    def _start_waiting_jobs(self) -> None:
        """Start queued jobs in order, until the maximum number runs or too few GPUs are free for the next job."""
        while self._waiting and len(self._runner.jobs) < self._runner.limit:
            needed = self._count_needed_gpus(self._waiting[0])
            if needed > len(self._free_gpus):
                return
            gpus, self._free_gpus = tuple(self._free_gpus[:needed]), self._free_gpus[needed:]
            entry = self._waiting.popleft()
            # Use a file, because a full pipe would block the job. The file is closed when the job has ended.
            output = tempfile.TemporaryFile()  # noqa: SIM115
            self._runner.add_job(_RunningJob(entry, output, gpus), self._start_process(entry, gpus, output))

    def _start_process(self, entry: ModelCells, gpus: tuple[str, ...], output: IO[bytes]) -> JobProcess:
        common = {**build_job_environment(entry, self._prefetched), **get_thread_limits(self._runner.limit)}
        own = {"CUDA_VISIBLE_DEVICES": ",".join(gpus)} if self._all_gpus else {}
        folder = entry.folder.resolve()
        if CAN_FORK:
            with open_log(folder) as log:
                return self._get_server(entry, common).start_job(folder, own, output, log)
        return start_process("tiltmeter.cluster.model_job", folder, output=output, variables={**common, **own})

    def _get_server(self, entry: ModelCells, variables: dict[str, str]) -> JobServer:
        """Return a job server that has these environment variables and imports the modules that the job needs."""
        modules = (*COMMON_MODULES, *(LOCAL_MODEL_MODULES if find_source(entry.model.name) == "named" else ()))
        key = (*modules, *variables)
        server = self._servers.get(key)
        if server is None or not server.is_alive:
            server = self._servers[key] = JobServer({**os.environ, **variables}, modules)
        return server


def list_visible_gpus() -> list[str]:
    """Return the names of the usable GPUs of this machine, as in CUDA_VISIBLE_DEVICES, without importing torch."""
    if (chosen := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [name.strip() for name in chosen.split(",") if name.strip() not in ("", "-1")]
    if (program := shutil.which("nvidia-smi")) is None:
        return []
    try:
        output = subprocess.run([program, "-L"], capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    # Indented lines are not counted; they are MIG slices (parts) of a GPU.
    count = sum(line.startswith("GPU ") for line in output.splitlines())
    return [str(index) for index in range(count)]


def _read_outcome(job: _RunningJob, code: int) -> JobOutcome:
    with job.output as output, suppress(ValueError, TypeError, KeyError):
        output.seek(0)
        values = json.load(output)
        return {"state": str(values["state"]), "failed": dict(values["failed"])}
    return build_failure(describe_exit(code, job.entry.folder))
