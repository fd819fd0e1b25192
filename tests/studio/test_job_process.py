"""The outcomes of job processes."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.studio.made_runs import write
from tiltmeter.cluster.job_lock import JobLock
from tiltmeter.errors import ModelError
from tiltmeter.studio import job_process
from tiltmeter.studio.job_files import OUTCOME, QUEUED, REQUEST, STOP, read_json
from tiltmeter.studio.run_request import RunRequest


@pytest.fixture(autouse=True)
def _own_signals() -> Iterator[None]:
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


def terminated(_folder: Path, _made: threading.Event) -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait()


def asked_to_stop(folder: Path, _made: threading.Event) -> None:
    (folder / STOP).touch()
    threading.Event().wait()


def asked_to_stop_too_late(folder: Path, made: threading.Event) -> None:
    made.set()
    asked_to_stop(folder, made)


def failing(_folder: Path, _made: threading.Event) -> None:
    raise ModelError("It has no weights.")


def broken(_folder: Path, _made: threading.Event) -> None:
    raise ZeroDivisionError("division by zero")


@pytest.mark.parametrize(
    ("run", "state", "sentence"),
    [
        (lambda _folder, _made: None, "finished", ""),
        (terminated, "stopped", "can be continued"),
        (asked_to_stop, "stopped", "can be continued"),
        (asked_to_stop_too_late, "finished", ""),
        (failing, "failed", "It has no weights."),
        (broken, "failed", "ZeroDivisionError: division by zero"),
    ],
)
def test_the_outcome_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: object, state: str, sentence: str
) -> None:
    monkeypatch.setattr(job_process, "_make_run", run)
    (tmp_path / QUEUED).touch()
    assert job_process.main(tmp_path) == 0
    outcome = read_json(tmp_path / OUTCOME)
    assert outcome["state"] == state
    assert sentence in outcome["sentence"]
    assert not (tmp_path / QUEUED).exists()


def test_an_interrupt_after_writing_does_not_stop_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_state: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tiltmeter.runs.evaluate.measure_models", lambda *_given, **_named: None)
    monkeypatch.setattr(job_process, "TimingStore", interrupted)
    job = tmp_path / ".tiltmeter-studio" / "jobs" / "one"
    request = RunRequest(name="mine", models=("embedded",), on=("starter:en",))
    write(job, {REQUEST: request.to_dict(), QUEUED: ""})
    assert job_process.main(job) == 0
    assert read_json(job / OUTCOME)["state"] == "finished"


def test_a_job_that_is_not_queued_or_already_runs_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_process, "_make_run", failing)
    assert job_process.main(tmp_path) == 0
    (tmp_path / QUEUED).touch()
    with JobLock(tmp_path):
        assert job_process.main(tmp_path) == 0
    assert not (tmp_path / OUTCOME).exists()
    assert (tmp_path / QUEUED).exists()


def test_a_run_that_does_not_react_is_ended_by_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(job_process, "_PATIENCE", 0)
    monkeypatch.setattr(job_process, "_interrupt_main_thread", lambda: None)
    monkeypatch.setattr(os, "_exit", ended.append)
    (tmp_path / STOP).touch()
    job_process._watch_for_stop(tmp_path, threading.Event())
    assert ended == [0]
    assert read_json(tmp_path / OUTCOME)["state"] == "stopped"
