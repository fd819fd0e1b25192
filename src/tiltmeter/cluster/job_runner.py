"""Start, watch and stop the processes of jobs, for matrices and the studio."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Generic, Protocol, TextIO, TypeVar

from tiltmeter.redaction import redact_secrets

LOG = "log.txt"
"""The name of the log file in a job's folder; it contains the output of the job's process."""
# Seconds to wait after SIGTERM before SIGKILL is sent.
_PATIENCE = 20.0

Job = TypeVar("Job")


class JobProcess(Protocol):
    """The methods of `subprocess.Popen` that `JobRunner` needs."""

    def poll(self) -> int | None:
        """Return the exit code; None while the process runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the process, and return its exit code."""

    def terminate(self) -> None:
        """Send SIGTERM, which asks the process to end."""

    def kill(self) -> None:
        """Kill the process at once."""


class JobRunner(Generic[Job]):
    """Keeps the running jobs and their processes; `limit` is the maximum number of jobs that run at a time."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._processes: list[tuple[Job, JobProcess]] = []

    @property
    def jobs(self) -> list[Job]:
        """Return the jobs that `remove_ended_jobs` has not returned yet."""
        return [job for job, _ in self._processes]

    def add_job(self, job: Job, process: JobProcess) -> None:
        """Add a job and its process to the running jobs."""
        self._processes.append((job, process))

    def is_running(self, job: Job) -> bool:
        """Return whether the process of a job is still running."""
        return any(known == job and process.poll() is None for known, process in self._processes)

    def remove_ended_jobs(self) -> list[tuple[Job, int]]:
        """Remove and return the jobs that have ended since the last call, with their exit codes."""
        ended = [(job, process) for job, process in self._processes if process.poll() is not None]
        self._processes = [entry for entry in self._processes if entry not in ended]
        return [(job, process.wait()) for job, process in ended]

    def stop_jobs(self) -> None:
        """Ask all processes to end, and kill processes that do not end in time; if interrupted, kill all at once."""
        processes, self._processes = [process for _, process in self._processes], []
        try:
            for process in processes:
                with suppress(OSError):
                    process.terminate()
            for process in processes:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_PATIENCE)
        finally:
            for process in processes:
                if process.poll() is None:
                    process.kill()
                    process.wait()


def start_process(
    module: str,
    folder: Path,
    *,
    output: IO[bytes] | None = None,
    variables: Mapping[str, str] | None = None,
    directory: Path | None = None,
) -> "subprocess.Popen[bytes]":
    """Start `python -m MODULE FOLDER` as a process that ignores Ctrl-C and continues after its caller has ended.

    Standard output is written to `output`, or to the log if `output` is None. Standard error is written to the log.
    """
    with open_log(folder) as log:
        return subprocess.Popen(
            # The option -P prevents imports from the current folder, which may be untrusted.
            [sys.executable, "-P", "-m", module, str(folder)],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output or log,
            stderr=log,
            env={**os.environ, **(variables or {})},
            **_build_detached_options(),
        )


def open_log(folder: Path) -> TextIO:
    """Open the log of a job for appending; open the null device if the log cannot be written."""
    path = folder / LOG
    try:
        # Only a regular file is opened: opening a named pipe would block.
        if path.exists() and not path.is_file():
            raise FileExistsError(str(path))
        return path.open("a", encoding="utf-8")
    except OSError:
        return Path(os.devnull).open("w", encoding="utf-8")


def describe_exit(code: int, folder: Path) -> str:
    """Return a sentence about the exit code of a process that reported no reason for its end."""
    if code < 0:
        with suppress(ValueError):
            return f"The process was killed by {signal.Signals(-code).name}, perhaps because memory ran out."
    return f"The process ended with exit code {code}; last line of {folder / LOG}: {_read_last_line(folder / LOG)}"


def _read_last_line(log: Path) -> str:
    lines: list[str] = []
    with suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.is_file() else []
    return redact_secrets(lines[-1]) if lines else "(empty)"


def _build_detached_options() -> dict[str, Any]:
    """Return the arguments of `Popen` for a process that continues after its parent and the terminal have ended."""
    if os.name == "nt":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS  # type: ignore[attr-defined]
        return {"creationflags": flags}
    return {"start_new_session": True}
