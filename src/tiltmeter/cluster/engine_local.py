"""Jobs as processes on this machine, several at a time; its GPUs are given out to them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TextIO

from tiltmeter.cluster.job_engine import build_job_environment, get_thread_limits
from tiltmeter.cluster.job_server import CAN_FORK, OF_ALL, OF_FILES, ForkedJob, JobServer
from tiltmeter.cluster.model_job import LOG, JobOutcome, build_failure
from tiltmeter.cluster.plan_cells import ModelCells
from tiltmeter.cluster.prefetch import NOTHING, PrefetchedFiles
from tiltmeter.errors import UsageError
from tiltmeter.models.option_scope import find_source

# Seconds that a job has to end after it was asked to.
_PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class _RunningJob:
    """A process, the file that its outcome goes to, and the GPUs that it has."""

    entry: ModelCells
    process: "subprocess.Popen[bytes] | ForkedJob"
    output: IO[bytes]
    gpus: tuple[str, ...]


class LocalEngine:
    """Up to `jobs` processes at a time."""

    goes_on = False

    def __init__(self, jobs: int, prefetched: PrefetchedFiles = NOTHING) -> None:
        self._jobs, self._prefetched = jobs, prefetched
        self._waiting: deque[ModelCells] = deque()
        self._running: list[_RunningJob] = []
        self._servers: dict[tuple[str, ...], JobServer] = {}
        self._all_gpus = list_visible_gpus()
        self._free_gpus = list(self._all_gpus)

    def start(self, entries: Sequence[ModelCells]) -> None:
        """Queue the jobs, and start as many as may run."""
        for entry in entries:
            if self._count_needed_gpus(entry) > len(self._all_gpus):
                raise UsageError(
                    f"{entry.model.name} needs {entry.model.gpus} GPUs, and this machine has {len(self._all_gpus)}; "
                    "change `gpus` in the plan, or use a cluster with --engine ray or slurm."
                )
        self._waiting.extend(entries)
        self._start_waiting_jobs()

    def is_started(self, _entry: ModelCells) -> bool:
        """False: processes end with the call."""
        return False

    def ended(self) -> Iterator[tuple[ModelCells, JobOutcome]]:
        """The jobs that have ended since the last call."""
        over = [job for job in self._running if job.process.poll() is not None]
        self._running = [job for job in self._running if job not in over]
        for job in over:
            self._free_gpus += job.gpus
        self._start_waiting_jobs()
        for job in over:
            yield job.entry, _read_outcome(job)

    def stop(self) -> None:
        """End the processes; what they stored is kept. If this is interrupted, they are killed."""
        self._waiting.clear()
        running, self._running = self._running, []
        try:
            for job in running:
                with suppress(OSError):
                    job.process.terminate()
            for job in running:
                with suppress(subprocess.TimeoutExpired):
                    job.process.wait(_PATIENCE)
        finally:
            for job in running:
                if job.process.poll() is None:
                    job.process.kill()
                    job.process.wait()
                job.output.close()
            for server in self._servers.values():
                server.kill()
            self._servers.clear()

    def _count_needed_gpus(self, entry: ModelCells) -> int:
        if entry.model.gpus is not None:
            return entry.model.gpus
        return 0 if entry.is_served else min(1, len(self._all_gpus))

    def _start_waiting_jobs(self) -> None:
        """Start the jobs that may run, in their order: one that waits for GPUs is not overtaken for ever."""
        while self._waiting and len(self._running) < self._jobs:
            need = self._count_needed_gpus(self._waiting[0])
            if need > len(self._free_gpus):
                return
            gpus, self._free_gpus = tuple(self._free_gpus[:need]), self._free_gpus[need:]
            entry = self._waiting.popleft()
            # Not a pipe, which would have to be emptied while the job runs; closed when the job has ended.
            output = tempfile.TemporaryFile()  # noqa: SIM115
            self._running.append(_RunningJob(entry, self._process(entry, gpus, output), output, gpus))

    def _process(
        self, entry: ModelCells, gpus: tuple[str, ...], output: IO[bytes]
    ) -> "subprocess.Popen[bytes] | ForkedJob":
        of_all = {**build_job_environment(entry, self._prefetched), **get_thread_limits(self._jobs)}
        own = {"CUDA_VISIBLE_DEVICES": ",".join(gpus)} if self._all_gpus else {}
        folder = entry.folder.resolve()
        with _open_log(folder) as log:
            if CAN_FORK:
                return self._get_server(entry, of_all).start(folder, own, output, log)
            # Ctrl-C in a terminal goes to all its processes; the calling one tells the jobs to end.
            return subprocess.Popen(
                # -P: modules are not looked for in the current folder, which may be anybody's.
                [sys.executable, "-P", "-m", "tiltmeter.cluster.model_job", str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=log,
                env={**os.environ, **of_all, **own},
                start_new_session=True,
            )

    def _get_server(self, entry: ModelCells, variables: dict[str, str]) -> JobServer:
        """The server for a job, which has loaded what it needs under the same environment variables."""
        modules = (*OF_ALL, *(OF_FILES if find_source(entry.model.name) == "named" else ()))
        key = (*modules, *variables)
        server = self._servers.get(key)
        if server is None or not server.is_alive:
            server = self._servers[key] = JobServer({**os.environ, **variables}, modules)
        return server


def list_visible_gpus() -> list[str]:
    """The GPUs of this machine that jobs may use, as CUDA_VISIBLE_DEVICES names them; torch is not imported."""
    if (chosen := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [name.strip() for name in chosen.split(",") if name.strip() not in ("", "-1")]
    if (program := shutil.which("nvidia-smi")) is None:
        return []
    try:
        told = subprocess.run([program, "-L"], capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    count = sum(line.startswith("GPU ") for line in told.splitlines())  # MIG slices follow, indented
    return [str(index) for index in range(count)]


def _open_log(folder: Path) -> TextIO:
    """The log of a job, or nowhere if that cannot be written; to open a pipe would wait for its reader."""
    path = folder / LOG
    try:
        if path.exists() and not path.is_file():
            raise FileExistsError(str(path))
        return path.open("a", encoding="utf-8")
    except OSError:
        return Path(os.devnull).open("w", encoding="utf-8")


def _read_outcome(job: _RunningJob) -> JobOutcome:
    code = job.process.wait()
    with job.output as output, suppress(ValueError, TypeError, KeyError):
        output.seek(0)
        values = json.load(output)
        return {"state": str(values["state"]), "failed": dict(values["failed"])}
    if code < 0:
        with suppress(ValueError):
            return build_failure(f"Its process was ended by {signal.Signals(-code).name}, perhaps for lack of memory.")
    return build_failure(f"Its process ended with code {code}; {LOG} of its folder says more.")
