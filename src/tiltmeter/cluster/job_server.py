"""A process that has loaded the libraries of jobs and forks each job from itself: torch takes seconds, and memory.

The engine sends what a job is to do as one message, with the files of its output and its log; the server answers with
the number of the job's process, and with its exit code when it has ended. Only the main thread of the server runs
Python, and nothing is computed in it, so that a fork is a job as if it had loaded all this itself.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from tiltmeter.cluster import model_job

# Elsewhere, libraries of the system may not be used after a fork.
CAN_FORK = sys.platform == "linux"
# What jobs import, and what those import whose model is in files.
OF_ALL = ("tiltmeter.cluster.cell_run", "scipy.stats")
OF_FILES = ("tiltmeter.models.local_opener", "transformers.modeling_utils")
# Whether there are GPUs is asked without opening them: a process that has opened one cannot be forked.
_UNOPENED_GPUS = "PYTORCH_NVML_BASED_CUDA_CHECK"
_MESSAGE = 1 << 16
# Seconds between two looks at the jobs that have ended.
_LOOK = 0.1


@dataclass
class ForkedJob:
    """A job of a server, with the methods of a `subprocess.Popen` that engines need."""

    server: "JobServer"
    pid: int | None = None
    returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code; None while it runs."""
        self.server.receive(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.returncode is None:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise subprocess.TimeoutExpired("job", timeout or 0)
            self.server.receive(left)
        return self.returncode

    def terminate(self) -> None:
        """Ask it to end."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        if self.poll() is not None:
            return
        if self.pid is None:  # the server loads libraries, or has just begun to fork it
            self.server.kill()
        else:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


class JobServer:
    """The engine's side of a server, which starts at once and loads the modules."""

    def __init__(self, environment: Mapping[str, str], modules: Sequence[str]) -> None:
        self._jobs: list[ForkedJob] = []
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                # -P: modules are not looked for in the current folder, which may be anybody's.
                [sys.executable, "-P", "-m", "tiltmeter.cluster.job_server", str(theirs.fileno()), *modules],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**environment, _UNOPENED_GPUS: "1"},
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    @property
    def is_alive(self) -> bool:
        """Whether it takes jobs."""
        self.receive(0)
        return self._process.poll() is None

    def start(self, folder: Path, variables: Mapping[str, str], output: IO[bytes], log: IO[str]) -> ForkedJob:
        """Start the job of a folder, with these environment variables; its outcome goes to `output`."""
        job = ForkedJob(self)
        self._jobs.append(job)
        asked = {"job": len(self._jobs) - 1, "folder": str(folder), "variables": dict(variables)}
        try:
            socket.send_fds(self._connection, [json.dumps(asked).encode()], [output.fileno(), log.fileno()])
        except OSError:  # the server has ended
            self.kill()
        return job

    def receive(self, seconds: float | None) -> None:
        """Read what the server has told, and wait for it for so long; None: until it tells something."""
        while self._connection.fileno() >= 0 and select.select([self._connection], [], [], seconds)[0]:
            told = b""
            with suppress(ConnectionError):
                told = self._connection.recv(_MESSAGE)
            if not told:
                self._lost()
                return
            values = json.loads(told)
            job = self._jobs[values["job"]]
            job.pid, job.returncode = values["pid"], values["code"]
            seconds = 0

    def kill(self) -> None:
        """End the server and its jobs at once."""
        self._process.kill()
        self._process.wait()
        while self._connection.fileno() >= 0:
            self.receive(None)
        self._lost()

    def _lost(self) -> None:
        """The server has ended: its jobs, whose end nobody could tell any more, end with it."""
        self._connection.close()
        self._process.kill()  # if it has only closed its connection
        code = self._process.wait()
        for job in self._jobs:
            if job.returncode is None:
                job.returncode = code
                if job.pid is not None:
                    with suppress(ProcessLookupError):
                        os.kill(job.pid, signal.SIGKILL)


def _load_modules(modules: Sequence[str]) -> None:
    for name in modules:
        with suppress(Exception):  # a job that needs it finds out why it cannot be imported, and says so
            import_module(name)


def _wait_for_job(connection: socket.socket) -> dict[str, Any] | None:
    """Fork the jobs that are asked for; returns in the process of each, and None in the server when nobody asks."""
    running: dict[int, int] = {}  # the process of a job to the job's number
    while True:
        for pid, number in list(running.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del running[pid]
                _send_status(connection, number, pid, os.waitstatus_to_exitcode(status))
        if not select.select([connection], [], [], _LOOK if running else None)[0]:
            continue
        told, files, _, _ = socket.recv_fds(connection, _MESSAGE, 2)
        if not told:
            return None
        asked: dict[str, Any] = json.loads(told)
        if (pid := os.fork()) == 0:
            connection.close()
            for place, file in enumerate(files, start=1):
                os.dup2(file, place)
                os.close(file)
            return asked
        for file in files:
            os.close(file)
        running[pid] = asked["job"]
        _send_status(connection, asked["job"], pid, None)


def _send_status(connection: socket.socket, number: int, pid: int, code: int | None) -> None:
    with suppress(OSError):  # nobody listens any more, which the next look finds
        connection.send(json.dumps({"job": number, "pid": pid, "code": code}).encode())


def main(file: int, modules: Sequence[str]) -> int:
    """Serve until the connection ends; in the process of a job, do the job."""
    _load_modules(modules)
    asked = _wait_for_job(socket.socket(fileno=file))
    if asked is None:
        return 0
    os.setsid()
    os.environ.update(asked["variables"])
    return model_job.main(Path(asked["folder"]))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
