"""State files of jobs: running, lost and damaged."""

import json
import os
import threading
from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tests.support.patience import PATIENCE
from tiltmeter.cluster import job_lock
from tiltmeter.cluster.job_lock import LOCK, JobLock, is_held
from tiltmeter.cluster.job_runner import LOG, describe_exit, open_log
from tiltmeter.cluster.job_state import STATE, JobState, read_state
from tiltmeter.errors import UsageError


def test_a_state_is_written_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_lock, "BEAT", 0.01)
    with JobLock(tmp_path) as lock:
        with JobState(lock, {"model": "m"}) as state:
            first = read_state(tmp_path)
            assert (first["state"], first["model"]) == ("running", "m")
            state.update_values(cell="c", answered=3)
            written = threading.Event()
            lock.each_beat = lambda: (state.write_file(), written.set())  # type: ignore[func-returns-value]
            assert written.wait(PATIENCE)
            assert read_state(tmp_path)["answered"] == 3
            assert read_state(tmp_path)["time"] > first["time"]
            state.update_values(state="finished")
        assert read_state(tmp_path)["state"] == "finished"


def test_a_job_without_its_lock_is_lost(tmp_path: Path) -> None:
    with JobLock(tmp_path) as lock:
        JobState(lock, {}).write_file()
        assert read_state(tmp_path)["state"] == "running"
    assert read_state(tmp_path)["state"] == "lost"
    with JobLock(tmp_path):  # as the command that merges the stores
        assert read_state(tmp_path)["state"] == "lost"


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b"[1]", b"{", json.dumps({"failed": 3, "finished": "x", "timings": {}, "state": []}).encode()],
)
def test_a_damaged_state_counts_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / STATE).write_bytes(content)
    assert read_state(tmp_path) == {}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_named_pipes_do_not_block(tmp_path: Path) -> None:
    for name in (STATE, LOCK, LOG):
        os.mkfifo(tmp_path / name)
    assert read_state(tmp_path) == {}
    assert not is_held(tmp_path)
    with raises_mentioning(UsageError, str(tmp_path), "already running"):
        JobLock(tmp_path).__enter__()
    with open_log(tmp_path) as log:
        assert log.name == os.devnull
    assert "code 3" in describe_exit(3, tmp_path)
