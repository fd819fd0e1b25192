"""Locks and states of jobs: who holds one, who is lost, and who takes over."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tiltmeter.cluster import job_state
from tiltmeter.cluster.engine_local import _log
from tiltmeter.cluster.engine_slurm import SUBMITTED, _submitted
from tiltmeter.cluster.job_state import LOCK, STATE, JobLock, JobState, is_held, read_state, wait_for_lock
from tiltmeter.cluster.job_table import job_row
from tiltmeter.cluster.model_job import LOG
from tiltmeter.cluster.plan_cells import ModelCells, PlannedCell
from tiltmeter.cluster.plan_file import PlannedModel
from tiltmeter.cluster.prefetch import prefetched
from tiltmeter.errors import DataError, UsageError


def other_lock(folder: Path, *, host: str, pid: int, age: float) -> None:
    """The lock of another process, with a state of this age."""
    values = {"job": "other", "host": host, "pid": pid, "started": 0.0, "time": time.time() - age}
    (folder / LOCK).write_text(json.dumps(values))
    (folder / STATE).write_text(json.dumps({"job": "other", "state": "running", "time": time.time() - age}))


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    assert not is_held(tmp_path)
    with JobLock(tmp_path):
        assert is_held(tmp_path)
        with pytest.raises(UsageError, match=f"runs already .{socket.gethostname()}, process {os.getpid()}"):
            JobLock(tmp_path).__enter__()
        assert is_held(tmp_path)
    assert not is_held(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_dead_process_is_taken_over_at_once(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    other_lock(tmp_path, host=socket.gethostname(), pid=ended.pid, age=0)
    assert not is_held(tmp_path)
    assert read_state(tmp_path)["state"] == "lost"
    with JobLock(tmp_path):
        assert is_held(tmp_path)


def test_another_process_with_the_same_number_is_not_the_owner(tmp_path: Path) -> None:
    other_lock(tmp_path, host=socket.gethostname(), pid=os.getpid(), age=0)  # which did not start in 1970
    assert not is_held(tmp_path)


def test_a_job_on_another_machine_is_lost_after_a_while(tmp_path: Path) -> None:
    other_lock(tmp_path, host="elsewhere", pid=1, age=5)
    assert is_held(tmp_path)
    assert read_state(tmp_path)["state"] == "running"
    with pytest.raises(UsageError, match="elsewhere"):
        JobLock(tmp_path).__enter__()
    other_lock(tmp_path, host="elsewhere", pid=1, age=job_state.LOST_AFTER + 1)
    assert read_state(tmp_path)["state"] == "lost"
    with JobLock(tmp_path) as lock:
        assert not lock.is_taken_over


def test_waiting_ends_when_the_owner_is_lost_or_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_state, "BEAT", 0.04)
    other_lock(tmp_path, host="elsewhere", pid=1, age=job_state.LOST_AFTER - 0.2)
    with wait_for_lock(tmp_path):
        pass
    other_lock(tmp_path, host="elsewhere", pid=1, age=0)
    looks = iter([True, True])

    def held(folder: Path, state: object = None) -> bool:
        if next(looks, None) is None:
            other_lock(folder, host="elsewhere", pid=1, age=-1)  # it lives
        return True

    monkeypatch.setattr(job_state, "is_held", held)
    with pytest.raises(UsageError, match="runs already"):
        wait_for_lock(tmp_path).__enter__()


def test_a_state_is_written_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_state, "BEAT", 0.01)
    lost = threading.Event()
    with JobLock(tmp_path) as lock:
        with JobState(lock, {"model": "m"}, lost.set) as state:
            first = read_state(tmp_path)
            assert (first["state"], first["model"]) == ("running", "m")
            state.update(cell="c", answered=3)
            written = threading.Event()
            own = state.write
            monkeypatch.setattr(state, "write", lambda: (own(), written.set()))
            assert written.wait(20)
            assert read_state(tmp_path)["answered"] == 3
            assert read_state(tmp_path)["time"] > first["time"]
            state.update(state="finished")
        assert read_state(tmp_path)["state"] == "finished"
        assert not lost.is_set()


def test_a_job_that_was_taken_over_notices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_state, "BEAT", 0.01)
    lost = threading.Event()
    with JobLock(tmp_path) as lock, JobState(lock, {}, lost.set):
        (tmp_path / LOCK).unlink()  # as for a moment, while another takes it
        assert not lock.is_taken_over
        other_lock(tmp_path, host="elsewhere", pid=1, age=0)
        assert lost.wait(20)
    assert json.loads((tmp_path / LOCK).read_text())["host"] == "elsewhere"  # not ours to remove


def test_a_lock_that_another_was_faster_with_is_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other_lock(tmp_path, host="elsewhere", pid=1, age=job_state.LOST_AFTER + 1)
    mine = JobLock(tmp_path)
    own = job_state.is_held

    def overtaken(folder: Path, state: object = None) -> bool:
        held = own(folder)
        other_lock(tmp_path, host="faster", pid=1, age=0)
        monkeypatch.setattr(job_state, "is_held", own)
        return held

    monkeypatch.setattr(job_state, "is_held", overtaken)
    with pytest.raises(UsageError, match="faster"):
        mine.__enter__()
    assert json.loads((tmp_path / LOCK).read_text())["host"] == "faster"


BROKEN = ["", "[]", "7", "[" * 100_000, '{"state": "running", "time": "x", "failed": 7, "job": [], "cells": 1}']


@pytest.mark.parametrize("content", [*BROKEN, '{"state": "running", "time": 1e999, "finished": NaN, "cells": 1}'])
@pytest.mark.parametrize("name", [STATE, LOCK])
def test_a_broken_file_of_a_job_is_as_good_as_none(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / STATE).write_text('{"state": "running", "job": "other", "cells": 1, "finished": 0}')
    (tmp_path / name).write_text(content)
    os.utime(tmp_path / name, (0, 0))
    assert read_state(tmp_path).get("state") in (None, "lost")
    row = job_row(ModelCells(PlannedModel(name="m"), (PlannedCell("starter:en", "published", 1, "cell"),), tmp_path))
    assert (row.state, row.finished, row.failed) in (("lost", 0, {}), ("waiting", 0, {}))
    with JobLock(tmp_path):
        assert is_held(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_nobody_waits_for_a_pipe(tmp_path: Path) -> None:
    for name in (STATE, LOCK):
        os.mkfifo(tmp_path / name)
        os.utime(tmp_path / name, (0, 0))
    assert read_state(tmp_path) == {}
    assert not is_held(tmp_path)
    os.mkfifo(tmp_path / LOG)
    with _log(tmp_path) as log:
        assert log.name == os.devnull


@pytest.mark.parametrize("content", ["{}", "7", "[7]", "[" * 100_000])
def test_broken_lists_of_what_is_here_are_named(content: str, tmp_path: Path) -> None:
    (tmp_path / "prefetched.json").write_text(content)
    with pytest.raises(DataError, match=r"prefetched\.json"):
        prefetched(tmp_path)
    (tmp_path / SUBMITTED).write_text(content)
    with pytest.raises(DataError, match=r"submitted\.json"):
        _submitted(ModelCells(PlannedModel(name="m"), (), tmp_path))
