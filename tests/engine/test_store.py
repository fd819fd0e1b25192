"""The answer store: answers survive concurrent writers and killed processes."""

import multiprocessing
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.errors import TiltmeterError


def digest(number: int) -> bytes:
    return number.to_bytes(16, "little")


def test_stored_answers_are_returned_unchanged(tmp_path: Path) -> None:
    answers = {digest(i): np.array([-i / 3, *range(i % 7)], dtype=np.float32) for i in range(1200)}
    with AnswerStore(tmp_path / "a.sqlite") as store:
        store.put("model", answers)
    with AnswerStore(tmp_path / "a.sqlite") as store:
        found = store.get("model", [*answers, digest(9999)])
        assert found.keys() == answers.keys()
        assert all(np.array_equal(found[key], answers[key]) for key in answers)
        assert store.get("another model", answers) == {}


def test_an_existing_answer_is_not_replaced(tmp_path: Path) -> None:
    with AnswerStore(tmp_path / "a.sqlite") as store:
        store.put("m", {digest(1): np.float32([1])})
        store.put("m", {digest(1): np.float32([2])})
        assert store.get("m", [digest(1)])[digest(1)] == [1]


def filled(path: Path, count: int = 3000) -> dict[bytes, np.ndarray]:
    answers = {digest(i): np.array([-i / 3, i, i + 1, i + 2], dtype=np.float32) for i in range(count)}
    with AnswerStore(path) as store:
        store.put("model", answers)
    return answers


FOREIGN = "CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('mine');"
OTHER_COLUMNS = "CREATE TABLE answers (who TEXT); INSERT INTO answers VALUES ('me');"


@pytest.mark.parametrize("script", [None, FOREIGN, OTHER_COLUMNS], ids=["no database", "foreign", "other columns"])
def test_a_file_of_another_program_is_set_aside_unchanged(
    script: str | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.sqlite"
    if script is None:
        path.write_bytes(b"this is not a database, and it is long enough to see that it is not one")
    else:
        with closing(sqlite3.connect(path)) as other:
            other.executescript(script)
    filled(path)
    assert "is now a.sqlite.damaged-1" in caplog.text
    aside = tmp_path / "a.sqlite.damaged-1"
    if script is None:
        assert aside.read_bytes().startswith(b"this is not")
    else:
        with closing(sqlite3.connect(aside)) as other:
            (table,) = [name for (name,) in other.execute("SELECT name FROM sqlite_master WHERE type = 'table'")][:1]
            assert other.execute(f"SELECT count(*) FROM {table}").fetchone() == (1,)
    with AnswerStore(path) as store:
        assert len(store.get("model", map(digest, range(3000)))) == 3000


@pytest.mark.parametrize("damage", ["end missing", "zeros in the middle"])
def test_a_damaged_file_is_set_aside_and_a_new_one_is_used(
    damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.sqlite"
    answers = filled(path)
    content = path.read_bytes()
    size, page = len(content), 4096
    middle = size // 2 // page * page
    broken = content[:middle] if damage == "end missing" else content[:middle] + bytes(page) + content[middle + page :]
    path.write_bytes(broken)
    with AnswerStore(path) as store, AnswerStore(path) as other:
        assert store.get("model", answers) == {}
        store.put("model", answers)
        # Another process with the damaged file still open finds the new one instead of setting it aside, too.
        found = other.get("model", answers)
        assert all(np.array_equal(found[key], answers[key]) for key in answers)
    assert caplog.text.count("a.sqlite.damaged-1") == 1
    assert (tmp_path / "a.sqlite.damaged-1").read_bytes() == broken
    assert not (tmp_path / "a.sqlite.damaged-2").exists()


@pytest.mark.skipif(os.name != "posix", reason="permissions of folders are those of POSIX")
def test_a_store_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "a.sqlite"
    answers = filled(path, 5)
    connect = sqlite3.connect

    def refusing(name: str, *args: Any, **kwargs: Any) -> sqlite3.Connection:
        """As in a folder that cannot be written: SQLite opens files there only as ones that do not change."""
        if "immutable=1" not in name:
            name = f"file:{tmp_path / 'nowhere' / 'b.sqlite'}?mode=ro"
            kwargs["uri"] = True
        return connect(name, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            "tiltmeter.database.sqlite3.connect",
            lambda name, *a, **k: connect(name, *a, **k) if name == ":memory:" else refusing(name, *a, **k),
        )
        with AnswerStore(path) as store:
            assert store.is_read_only
            assert len(store.get("model", answers)) == 5
            with pytest.raises(TiltmeterError, match=r"and 7 answers are not in it.*TILTMETER_CACHE"):
                store.reject_read_only(7)


def test_a_full_disk_is_a_sentence_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    answers = filled(path, 50)
    with AnswerStore(path) as store:
        (pages,) = store._db.execute("PRAGMA page_count").fetchone()
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(TiltmeterError, match=r"full.*free disk space and run the same command again"):
            store.put("model", {digest(i): np.ones(900, dtype=np.float32) for i in range(100, 400)})
        assert len(store.get("model", answers)) == 50
        store.get("model", [digest(200)])


def put_many(path: Path, first: int) -> None:
    with AnswerStore(path) as store:
        for i in range(first, first + 60):
            store.put("m", {digest(i): np.float32([i]), digest(i + 1): np.float32([i + 1])})


def test_two_concurrent_processes_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=put_many, args=(path, first)) for first in (0, 30)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    with AnswerStore(path) as store:
        found = store.get("m", [digest(i) for i in range(91)])
    assert {key: float(value[0]) for key, value in found.items()} == {digest(i): float(i) for i in range(91)}


WRITER = """
import sys, numpy as np
from tiltmeter.engine.answer_store import AnswerStore
store = AnswerStore(sys.argv[1])
for i in range(10**6):
    store.put("m", {number.to_bytes(16, "little"): np.float32([i]) for number in (2 * i, 2 * i + 1)})
    print(i, flush=True)
"""


def test_a_killed_process_leaves_complete_batches(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            if int(line) >= 50:
                break
        writer.kill()  # most likely during a later batch
    with AnswerStore(path) as store:
        found = store.get("m", [digest(i) for i in range(100_000)])
    assert len(found) >= 2 * 51
    assert len(found) % 2 == 0
    assert {int.from_bytes(key, "little") for key in found} == set(range(len(found)))
