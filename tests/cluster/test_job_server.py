"""Jobs that are forked from a server process which has imported their libraries."""

import json
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.cluster.planned import matrix_of, only
from tests.support.messages import assert_mentions
from tests.support.patience import PATIENCE
from tests.support.slurm import wait_until
from tiltmeter.cluster.engine_local import LocalEngine
from tiltmeter.cluster.job_server import CAN_FORK, ForkedJob, JobServer
from tiltmeter.cluster.model_job import JobOutcome

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="jobs are not forked on this system")

# A module that replaces `run_job`; the name of the job's folder decides what the job does.
_STAND_IN = """
import os, signal, sys, time
from tiltmeter.cluster import model_job

loaded_in = os.getpid()

def run_job(folder):
    does = folder.name
    print("started", file=sys.stderr, flush=True)
    if does == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if does in ("waits", "deaf"):
        print("waiting", file=sys.stderr, flush=True)
        time.sleep(600)
    if does == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if does == "fails":
        raise RuntimeError("this job fails")
    facts = [str(loaded_in), str(os.getppid()), os.environ.get("OWN", ""), str(os.getsid(0) == os.getpid())]
    return {"state": "finished", "failed": {str(at): text for at, text in enumerate([*facts, "x" * 100_000])}}

model_job.run_job = run_job
"""


class _Started:
    """A job with the files that it writes."""

    def __init__(self, server: JobServer, folder: Path, **variables: str) -> None:
        folder.mkdir()
        self.output, self.log = tempfile.TemporaryFile(), folder / "log.txt"  # noqa: SIM115
        with self.log.open("a", encoding="utf-8") as log:
            self.job: ForkedJob = server.start_job(folder, variables, self.output, log)

    @property
    def outcome(self) -> JobOutcome:
        self.output.seek(0)
        outcome: JobOutcome = json.load(self.output)
        return outcome

    def wait_for(self, text: str) -> None:
        wait_until(lambda: text in self.log.read_text(encoding="utf-8"), f"the job did not print {text!r}")


def _waiting(server: JobServer, folder: Path) -> tuple[_Started, psutil.Process]:
    """Start a job that waits, and return it with its process."""
    started = _Started(server, folder)
    started.wait_for("waiting")
    started.job.poll()
    return started, psutil.Process(started.job.pid)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., JobServer]]:
    (tmp_path / "stand_in.py").write_text(_STAND_IN, encoding="utf-8")
    (tmp_path / "endless.py").write_text("import time; time.sleep(600)", encoding="utf-8")
    paths = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    servers: list[JobServer] = []

    def start(*modules: str) -> JobServer:
        servers.append(JobServer({**os.environ, "PYTHONPATH": paths}, modules or ("stand_in",)))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()


def test_jobs_share_the_modules_of_the_server(serve: Callable[..., JobServer], tmp_path: Path) -> None:
    server = serve("no.such.module", "stand_in")
    jobs = [_Started(server, tmp_path / name, OWN=name) for name in ("one", "two")]
    assert [started.job.wait(PATIENCE) for started in jobs] == [0, 0]
    facts = [list(started.outcome["failed"].values()) for started in jobs]
    assert [texts[2] for texts in facts] == ["one", "two"]
    assert [texts[3] for texts in facts] == ["True", "True"]  # Ctrl-C in a terminal does not reach them
    assert len({number for texts in facts for number in texts[:2]}) == 1  # imported once, by the parent of both
    assert len(facts[0][4]) == 100_000  # larger than the buffer of a pipe
    assert "started" in jobs[0].log.read_text(encoding="utf-8")


def test_exit_codes_of_jobs(serve: Callable[..., JobServer], tmp_path: Path) -> None:
    server = serve()
    dies, fails = _Started(server, tmp_path / "dies"), _Started(server, tmp_path / "fails")
    assert dies.job.wait(PATIENCE) == -signal.SIGKILL
    assert fails.job.wait(PATIENCE) == 1
    assert "this job fails" in fails.log.read_text(encoding="utf-8")
    assert server.is_alive


def test_jobs_are_terminated_and_killed(serve: Callable[..., JobServer], tmp_path: Path) -> None:
    server = serve()
    waits, deaf = _Started(server, tmp_path / "waits"), _Started(server, tmp_path / "deaf")
    for started in (waits, deaf):
        started.wait_for("waiting")
        assert started.job.poll() is None
        started.job.terminate()
    assert waits.job.wait(PATIENCE) == 130
    with pytest.raises(subprocess.TimeoutExpired):
        deaf.job.wait(0.2)
    deaf.job.kill()
    assert deaf.job.wait(PATIENCE) == -signal.SIGKILL


def test_a_job_can_be_ended_before_the_libraries_are_imported(serve: Callable[..., JobServer], tmp_path: Path) -> None:
    server = serve("endless")
    started = _Started(server, tmp_path / "one")
    started.job.terminate()
    assert started.job.wait(PATIENCE) == -signal.SIGKILL
    assert not server.is_alive


def test_jobs_end_with_their_server(serve: Callable[..., JobServer], tmp_path: Path) -> None:
    """Their exit codes could no longer be received."""
    server = serve()
    started, job = _waiting(server, tmp_path / "waits")
    server._process.kill()
    assert started.job.wait(PATIENCE) == -signal.SIGKILL
    psutil.wait_procs([job], timeout=PATIENCE)
    assert not job.is_running() or job.status() == psutil.STATUS_ZOMBIE
    late = _Started(server, tmp_path / "late")
    assert late.job.poll() == -signal.SIGKILL


def test_a_server_ends_with_its_connection(serve: Callable[..., JobServer], tmp_path: Path) -> None:
    """This happens if the command is killed; its jobs continue, as without a server."""
    server = serve()
    _, job = _waiting(server, tmp_path / "waits")
    server._connection.shutdown(socket.SHUT_RDWR)
    assert server._process.wait(PATIENCE) == 0
    assert job.is_running()
    job.kill()


def test_the_next_job_gets_a_new_server(causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a server is killed, only its current jobs fail."""
    for modules in ("COMMON_MODULES", "LOCAL_MODEL_MODULES"):  # this job needs none of them
        monkeypatch.setattr(f"tiltmeter.cluster.engine_local.{modules}", ())
    matrix = matrix_of(tmp_path, [causal])
    entry = only(matrix)
    entry.folder.mkdir(parents=True)
    (entry.folder / "job.json").write_text("{}", encoding="utf-8")
    engine = LocalEngine(1)
    outcomes: list[JobOutcome] = []

    def collect_outcomes() -> bool:
        outcomes.extend(outcome for _, outcome in engine.take_ended_jobs())
        return bool(outcomes)

    try:
        engine.start_jobs([entry])
        next(iter(engine._servers.values()))._process.kill()
        wait_until(collect_outcomes, "the job did not end")
        assert_mentions(outcomes.pop()["failed"][""], "SIGKILL")
        engine.start_jobs([entry])
        wait_until(collect_outcomes, "the job did not end")
        assert_mentions(outcomes[0]["failed"][""], "KeyError")  # from its empty job file, so it has run
    finally:
        engine.stop_jobs()
    assert not engine._servers
