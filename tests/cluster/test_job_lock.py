"""Locks of jobs: holding, losing and taking over a lock, on one machine and on several."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.messages import raises_mentioning
from tests.support.patience import PATIENCE
from tiltmeter.cluster import job_lock
from tiltmeter.cluster.job_lock import (
    LOCK,
    JobLock,
    JobTakenError,
    find_held_folders,
    get_machine_id,
    is_held,
    read_holder,
)
from tiltmeter.errors import UsageError


def other_lock(folder: Path, *, machine: str = "elsewhere", pid: int = 1, age: float = 0.0, call: str = "") -> None:
    """Write the lock of a process on another machine with the same name; its last heartbeat is `age` seconds old."""
    values = {"job": "other", "call": call, "host": socket.gethostname(), "machine": machine, "pid": pid}
    (folder / LOCK).write_text(json.dumps({**values, "started": 0.0}))
    touched = time.time() - age
    os.utime(folder / LOCK, (touched, touched))


class Clock:
    """A replacement for the module `time` whose time advances only in `sleep`."""

    def __init__(self) -> None:
        self.slept = 0.0
        self.meanwhile: Callable[[], None] = lambda: None
        self._start = time.time()

    def time(self) -> float:
        return self._start + self.slept

    def monotonic(self) -> float:
        return self.slept

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.meanwhile()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(job_lock, "time", made)
    return made


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    assert not is_held(tmp_path)
    with JobLock(tmp_path):
        assert is_held(tmp_path)
        with raises_mentioning(JobTakenError, str(tmp_path), f"({socket.gethostname()}, process {os.getpid()})"):
            JobLock(tmp_path).__enter__()
        assert is_held(tmp_path)
    assert not is_held(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_dead_process_is_taken_over_at_once(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    other_lock(tmp_path, machine=get_machine_id(), pid=ended.pid)
    assert not is_held(tmp_path)
    with JobLock(tmp_path, wait=False):
        assert is_held(tmp_path)


def test_another_process_with_the_same_number_is_not_the_owner(tmp_path: Path) -> None:
    other_lock(tmp_path, machine=get_machine_id(), pid=os.getpid())  # which did not start in 1970
    assert not is_held(tmp_path)


def test_a_running_process_is_never_lost_on_its_own_machine(tmp_path: Path) -> None:
    """A full disk or a long call may prevent heartbeats."""
    with JobLock(tmp_path):
        os.utime(tmp_path / LOCK, (0, 0))
        assert is_held(tmp_path)
        assert find_held_folders([tmp_path]) == {tmp_path}
        with pytest.raises(JobTakenError):
            JobLock(tmp_path).__enter__()


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="this system has no /proc")
def test_a_clock_that_is_set_ends_no_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with JobLock(tmp_path):
        own = psutil.Process.create_time
        monkeypatch.setattr(psutil.Process, "create_time", lambda self: own(self) + 3600)
        assert is_held(tmp_path)


def test_a_machine_with_the_same_name_is_another_machine(tmp_path: Path) -> None:
    """The process of another container with the same host name does not exist here but may run."""
    other_lock(tmp_path, pid=2**22 + 1)
    assert is_held(tmp_path)
    with pytest.raises(JobTakenError):
        JobLock(tmp_path, wait=False).__enter__()


@pytest.mark.parametrize("ahead", [-7200.0, 7200.0])
def test_clocks_that_differ_do_not_make_a_job_lost(tmp_path: Path, clock: Clock, ahead: float) -> None:
    def beat() -> None:
        touched = clock.time() + ahead
        os.utime(tmp_path / LOCK, (touched, touched))

    other_lock(tmp_path, age=-ahead)
    clock.meanwhile = beat
    assert find_held_folders([tmp_path]) == {tmp_path}
    with pytest.raises(JobTakenError):
        JobLock(tmp_path).__enter__()
    clock.meanwhile = lambda: None
    assert find_held_folders([tmp_path]) == set()


@pytest.mark.parametrize("age", [1.0, 7200.0, -7200.0])
def test_a_job_of_another_machine_is_lost_after_a_while(tmp_path: Path, clock: Clock, age: float) -> None:
    other_lock(tmp_path, age=age)
    with JobLock(tmp_path) as lock:
        assert not lock.is_taken_over
    # A lock that seems old is watched only for a few heartbeats.
    wanted = {1.0: (job_lock.LOST_AFTER - 1) / 2, 7200.0: 3 * job_lock.BEAT, -7200.0: job_lock.LOST_AFTER}[age]
    assert wanted <= clock.slept + 0.1 <= wanted + job_lock.BEAT


def test_an_earlier_attempt_of_the_same_call_is_waited_for(tmp_path: Path, clock: Clock) -> None:
    """This happens when a Ray node is lost and its workers continue for a moment."""
    old = JobLock(tmp_path, "call").__enter__()
    with pytest.raises(JobTakenError):
        JobLock(tmp_path, "another call").__enter__()
    assert clock.slept == 0
    clock.meanwhile = lambda: old.__exit__(None, None, None)
    with JobLock(tmp_path, "call") as new:
        assert (holder := read_holder(tmp_path)) is not None
        assert holder.values["job"] == new.job


def test_a_full_disk_leaves_no_empty_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = os.fdopen

    def full(handle: int, *given: Any, **more: Any) -> Any:
        own(handle, *given, **more).close()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(job_lock.os, "fdopen", full)
    with raises_mentioning(UsageError, "No space left", str(tmp_path / LOCK)):
        JobLock(tmp_path).__enter__()
    assert not (tmp_path / LOCK).exists()


def test_a_job_that_was_taken_over_notices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_lock, "BEAT", 0.02)
    lost = threading.Event()
    with JobLock(tmp_path, on_lost=lost.set) as lock:
        (tmp_path / LOCK).unlink()  # as at the moment when another process takes it over
        assert not lock.is_taken_over
        other_lock(tmp_path)
        assert lost.wait(PATIENCE)
    assert json.loads((tmp_path / LOCK).read_text())["job"] == "other"  # the new owner's lock is not removed


def test_a_lock_that_another_process_took_first_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    other_lock(tmp_path, machine=get_machine_id(), pid=ended.pid)
    mine, own = JobLock(tmp_path, wait=False), JobLock._wait_until_lock_is_free

    def overtaken(self: JobLock, holder: job_lock.LockHolder) -> job_lock.LockHolder:
        lost = own(self, holder)
        other_lock(tmp_path, machine="faster")
        monkeypatch.setattr(JobLock, "_wait_until_lock_is_free", own)
        return lost

    monkeypatch.setattr(JobLock, "_wait_until_lock_is_free", overtaken)
    with pytest.raises(JobTakenError):
        mine.__enter__()
    assert json.loads((tmp_path / LOCK).read_text())["machine"] == "faster"
    assert [path.name for path in tmp_path.iterdir()] == [LOCK]
