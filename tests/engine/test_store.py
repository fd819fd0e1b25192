"""The answer store: answers survive concurrent writers and killed processes."""

import multiprocessing
import subprocess
import sys
from pathlib import Path

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


def test_an_invalid_file_is_named_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").write_bytes(b"this is not a database, and it is long enough to see that it is not one")
    with pytest.raises(TiltmeterError, match=r"a\.sqlite.*TILTMETER_CACHE"):
        AnswerStore(tmp_path / "a.sqlite")


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
