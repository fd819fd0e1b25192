"""A server process that imports the libraries of jobs once and forks a process for each job, to save time and memory.

The engine sends one message per job, together with the open files for the job's output and log. The server answers with
the process id of the job, and later with its exit code. The server has one thread and computes nothing, so a forked
process behaves like a new process that has imported the libraries itself.
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

# Only Linux is supported, because system libraries of other operating systems may fail after a fork.
CAN_FORK = sys.platform == "linux"
# Modules that all jobs import, and modules that only jobs with local model files import.
COMMON_MODULES = ("tiltmeter.cluster.cell_run", "scipy.stats")
LOCAL_MODEL_MODULES = ("tiltmeter.models.local_opener", "transformers.modeling_utils")
# The environment variable that makes torch detect GPUs without initialising CUDA; initialised CUDA fails after a fork.
_NVML_CHECK = "PYTORCH_NVML_BASED_CUDA_CHECK"
_MESSAGE_SIZE = 1 << 16
# Seconds between two checks for ended jobs.
_POLL_INTERVAL = 0.1


@dataclass
class ForkedJob:
    """A job that a job server has forked or will fork; the class has the methods of `JobProcess`."""

    server: "JobServer"
    pid: int | None = None
    returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code; None while the job runs."""
        self.server.receive_messages(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the job, and return its exit code."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.returncode is None:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise subprocess.TimeoutExpired("job", timeout or 0)
            self.server.receive_messages(left)
        return self.returncode

    def terminate(self) -> None:
        """Send SIGTERM to the job."""
        self._send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL to the job."""
        self._send_signal(signal.SIGKILL)

    def _send_signal(self, number: signal.Signals) -> None:
        if self.poll() is not None:
            return
        if self.pid is None:
            # The server has not started a process for this job yet, so the server itself is killed.
            self.server.kill()
        else:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


class JobServer:
    """The client of a server process; the constructor starts the server process, which then imports `modules`."""

    def __init__(self, environment: Mapping[str, str], modules: Sequence[str]) -> None:
        self._jobs: list[ForkedJob] = []
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                # The option -P prevents imports from the current folder, which may be untrusted.
                [sys.executable, "-P", "-m", "tiltmeter.cluster.job_server", str(theirs.fileno()), *modules],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**environment, _NVML_CHECK: "1"},
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    @property
    def is_alive(self) -> bool:
        """Return whether the server process is running, so that it can accept jobs."""
        self.receive_messages(0)
        return self._process.poll() is None

    def start_job(self, folder: Path, variables: Mapping[str, str], output: IO[bytes], log: IO[str]) -> ForkedJob:
        """Start the job in a folder with these environment variables; the job writes its outcome to `output`."""
        job = ForkedJob(self)
        self._jobs.append(job)
        request = {"job": len(self._jobs) - 1, "folder": str(folder), "variables": dict(variables)}
        try:
            socket.send_fds(self._connection, [json.dumps(request).encode()], [output.fileno(), log.fileno()])
        except OSError:
            # The server has ended, so all of its jobs are marked as ended.
            self.kill()
        return job

    def receive_messages(self, seconds: float | None) -> None:
        """Read the messages of the server; wait at most `seconds` for the first message, or without limit for None."""
        while self._connection.fileno() >= 0 and select.select([self._connection], [], [], seconds)[0]:
            message = b""
            with suppress(ConnectionError):
                message = self._connection.recv(_MESSAGE_SIZE)
            if not message:
                self._end_jobs()
                return
            values = json.loads(message)
            job = self._jobs[values["job"]]
            job.pid, job.returncode = values["pid"], values["code"]
            seconds = 0

    def kill(self) -> None:
        """Kill the server and its jobs."""
        self._process.kill()
        self._process.wait()
        while self._connection.fileno() >= 0:
            self.receive_messages(None)
        self._end_jobs()

    def _end_jobs(self) -> None:
        """Kill the jobs of a server that has ended, because their exit codes can no longer be received."""
        self._connection.close()
        # The server process is killed, because it may have closed only its connection.
        self._process.kill()
        code = self._process.wait()
        for job in self._jobs:
            if job.returncode is None:
                job.returncode = code
                if job.pid is not None:
                    with suppress(ProcessLookupError):
                        os.kill(job.pid, signal.SIGKILL)


def _wait_for_job(connection: socket.socket) -> dict[str, Any] | None:
    """Fork a process for each request until the connection ends.

    In a forked process, return the request. In the server, return None at the end.
    """
    # Maps the process id of each running job to the index of the job.
    running: dict[int, int] = {}
    while True:
        for pid, number in list(running.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del running[pid]
                _send_status(connection, number, pid, os.waitstatus_to_exitcode(status))
        if not select.select([connection], [], [], _POLL_INTERVAL if running else None)[0]:
            continue
        message, files, _, _ = socket.recv_fds(connection, _MESSAGE_SIZE, 2)
        if not message:
            return None
        request: dict[str, Any] = json.loads(message)
        if (pid := os.fork()) == 0:
            connection.close()
            for descriptor, file in enumerate(files, start=1):
                os.dup2(file, descriptor)
                os.close(file)
            return request
        for file in files:
            os.close(file)
        running[pid] = request["job"]
        _send_status(connection, request["job"], pid, None)


def _send_status(connection: socket.socket, number: int, pid: int, code: int | None) -> None:
    # If the client is gone, the server ends when it reads the next message.
    with suppress(OSError):
        connection.send(json.dumps({"job": number, "pid": pid, "code": code}).encode())


def main(file: int, modules: Sequence[str]) -> int:
    """Fork processes for jobs until the connection ends; in a forked process, run the job."""
    for name in modules:
        # Errors are ignored: a job that needs the module will report why it cannot be imported.
        with suppress(Exception):
            import_module(name)
    request = _wait_for_job(socket.socket(fileno=file))
    if request is None:
        return 0
    os.setsid()
    os.environ.update(request["variables"])
    return model_job.main(Path(request["folder"]))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
