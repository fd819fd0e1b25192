"""The processes of jobs, for matrices and the studio: how they are started, watched and stopped."""

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
"""The file in a job's folder that has the output of its process."""
# Seconds that a process has to end after it was asked to.
_PATIENCE = 20.0

Job = TypeVar("Job")


class JobProcess(Protocol):
    """The methods of a `subprocess.Popen` that a runner needs."""

    def poll(self) -> int | None:
        """Its exit code; None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended."""

    def terminate(self) -> None:
        """Ask it to end."""

    def kill(self) -> None:
        """End it at once."""


class JobRunner(Generic[Job]):
    """The jobs whose processes run, at most `limit` at a time."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._processes: list[tuple[Job, JobProcess]] = []

    @property
    def jobs(self) -> list[Job]:
        """The jobs that were started and whose end was not noticed yet."""
        return [job for job, _ in self._processes]

    def add(self, job: Job, process: JobProcess) -> None:
        """Watch the process that was started for a job."""
        self._processes.append((job, process))

    def is_running(self, job: Job) -> bool:
        """Whether the process of a job runs."""
        return any(known == job and process.poll() is None for known, process in self._processes)

    def remove_ended(self) -> list[tuple[Job, int]]:
        """The jobs that have ended since the last call, with their exit codes."""
        over = [(job, process) for job, process in self._processes if process.poll() is not None]
        self._processes = [entry for entry in self._processes if entry not in over]
        return [(job, process.wait()) for job, process in over]

    def stop(self) -> None:
        """Ask all processes to end, and kill those that do not; if this is interrupted, they are killed at once."""
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
    """Start `python -m MODULE FOLDER`, which outlives its caller and the terminal; it prints to `output` or the log.

    Ctrl-C in a terminal does not reach it: the caller decides whether it ends.
    """
    with open_log(folder) as log:
        return subprocess.Popen(
            # -P: modules are not looked for in the current folder, which may be anybody's.
            [sys.executable, "-P", "-m", module, str(folder)],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output or log,
            stderr=log,
            env={**os.environ, **(variables or {})},
            **_build_detached_options(),
        )


def open_log(folder: Path) -> TextIO:
    """The log of a job, or nowhere if that cannot be written; to open a pipe would wait for its reader."""
    path = folder / LOG
    try:
        if path.exists() and not path.is_file():
            raise FileExistsError(str(path))
        return path.open("a", encoding="utf-8")
    except OSError:
        return Path(os.devnull).open("w", encoding="utf-8")


def describe_exit(code: int, folder: Path) -> str:
    """The reason for the end of a process that did not give one, as a sentence."""
    if code < 0:
        with suppress(ValueError):
            return f"Its process was ended by {signal.Signals(-code).name}, perhaps for lack of memory."
    return f"Its process ended with code {code}; the last line of {LOG} in its folder: {_read_last_line(folder / LOG)}"


def _read_last_line(log: Path) -> str:
    lines: list[str] = []
    with suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.is_file() else []
    return redact_secrets(lines[-1]) if lines else "it has none"


def _build_detached_options() -> dict[str, Any]:
    """The arguments with which a process outlives the one that starts it, and its terminal."""
    if os.name == "nt":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS  # type: ignore[attr-defined]
        return {"creationflags": flags}
    return {"start_new_session": True}
