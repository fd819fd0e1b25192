"""The processes of jobs: watching, stopping, and the messages about their end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE
from tests.support.slurm import wait_until
from tiltmeter.cluster.job_runner import LOG, JobRunner, describe_exit, start_process
from tiltmeter.cluster.job_signals import describe_failure
from tiltmeter.errors import ModelError

_WAITS = [sys.executable, "-c", "import sys; print('ready', flush=True); sys.stdin.read()"]


def test_ended_jobs_are_returned_once() -> None:
    runner: JobRunner[str] = JobRunner(2)
    waiting = subprocess.Popen(_WAITS, stdin=subprocess.PIPE)
    runner.add_job("ends", subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"]))
    runner.add_job("waits", waiting)
    ended: list[tuple[str, int]] = []
    wait_until(lambda: bool(ended.extend(runner.remove_ended_jobs()) or ended), "it did not end")
    assert ended == [("ends", 3)]
    assert runner.jobs == ["waits"]
    assert runner.is_running("waits")
    assert not runner.is_running("ends")
    waiting.communicate(timeout=PATIENCE)
    wait_until(lambda: runner.remove_ended_jobs() == [("waits", 0)], "it did not end")


@pytest.mark.skipif(os.name != "posix", reason="this system has no SIGTERM for one process")
def test_all_processes_are_stopped() -> None:
    runner: JobRunner[int] = JobRunner(2)
    processes = [subprocess.Popen(_WAITS, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
    for number, process in enumerate(processes):
        runner.add_job(number, process)
    runner.stop_jobs()
    assert [process.poll() for process in processes] == [-signal.SIGTERM] * 2
    assert runner.jobs == []
    for process in processes:
        process.communicate()


def test_a_process_writes_to_its_log_and_imports_nothing_from_its_folder(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('a module of the folder')", encoding="utf-8")
    process = start_process("json.tool", tmp_path, directory=tmp_path, variables={"PYTHONPATH": ""})
    code = process.wait(PATIENCE)
    assert code != 0
    log = (tmp_path / LOG).read_text(encoding="utf-8")
    assert str(tmp_path) in log
    assert "a module of the folder" not in log
    assert describe_exit(code, tmp_path).endswith(log.splitlines()[-1])


def test_the_reason_of_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_API_KEY", "sk-very-secret")
    (tmp_path / LOG).write_text("first\nkey sk-very-secret\n", encoding="utf-8")
    assert describe_exit(1, tmp_path).endswith("key ***")
    assert "SIGKILL" in describe_exit(-9, tmp_path)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModelError("It has no weights."), "It has no weights."),
        (MemoryError(), "more memory"),
        (OSError(28, "No space left on device", "a.txt"), "a.txt: No space left"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
    ],
)
def test_the_reason_of_a_failure(error: Exception, reason: str) -> None:
    assert reason in describe_failure(error)
