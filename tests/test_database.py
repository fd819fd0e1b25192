"""SQLite files that several processes use at the same time."""

import sqlite3
import threading
from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter import database
from tiltmeter.database import Database
from tiltmeter.errors import TiltmeterError

_SCHEMA = "CREATE TABLE IF NOT EXISTS counts (thread INTEGER, count INTEGER) STRICT;"


def _open(path: Path) -> Database:
    return Database(str(path), _SCHEMA, synchronous="NORMAL", contents="counts", remedy="delete it")


def test_many_threads_open_a_new_file_at_once(tmp_path: Path) -> None:
    failed: list[Exception] = []

    def write(path: Path, thread: int, start: threading.Barrier) -> None:
        start.wait()
        try:
            with _open(path) as file, file.begin_transaction():
                file._db.execute("INSERT INTO counts VALUES (?, 1)", [thread])
        except TiltmeterError as error:
            failed.append(error)

    # Without the retries of the journal mode, about ten of these rounds fail.
    for round_ in range(200):
        path, start = tmp_path / f"{round_}.sqlite", threading.Barrier(4)
        threads = [threading.Thread(target=write, args=[path, number, start]) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with _open(path) as file:
            assert sorted(file._db.execute("SELECT thread FROM counts")) == [(0,), (1,), (2,), (3,)]
    assert not failed


def test_waiting_for_a_lock_ends_with_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_LOCK_TIMEOUT", 0.05)
    path = tmp_path / "held.sqlite"
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with raises_mentioning(TiltmeterError, str(path), "locked", "delete it"):
        _open(path)
    holder.close()
    with _open(path):
        pass
