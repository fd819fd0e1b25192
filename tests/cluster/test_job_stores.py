"""The stores of jobs: the journal for network file systems, copies from the cache, and merging into it."""

import sqlite3
from pathlib import Path

import numpy as np

from tiltmeter.cluster.job_stores import ANSWERS, REPLIES, JobAnswers, JobReplies, UnlockedAnswers, merge_stores
from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.engine.answer_store import AnswerStore, LoadFindings
from tiltmeter.models.reply_store import ReplyStore
from tiltmeter.questions import NUMBER, Reply

A, B, C = b"a" * 16, b"b" * 16, b"c" * 16


def numbers(*values: float) -> np.ndarray:
    return np.array(values, NUMBER)


def test_a_job_store_has_no_write_ahead_log(tmp_path: Path) -> None:
    with JobAnswers(tmp_path, same_machine=True) as store:
        store.put("m", {A: numbers(1)})
        mode = sqlite3.connect(tmp_path / ANSWERS).execute("PRAGMA journal_mode").fetchone()[0]
        assert mode == "delete"  # the default of a new connection, because the file does not request a log
        assert store.journal == "TRUNCATE"
    assert not (tmp_path / f"{ANSWERS}-wal").exists()
    assert (tmp_path / ANSWERS).read_bytes()[18:20] == b"\x01\x01"  # SQLite's mark of files without a write-ahead log


def test_answers_of_the_cache_are_copied(tmp_path: Path) -> None:
    for same_machine in (True, False):
        with AnswerStore(get_cache_folder() / ANSWERS) as cache:
            cache.put("m", {A: numbers(1, 2)})
            cache.put_load_findings("m", LoadFindings(["pooler"]))
        folder = tmp_path / str(same_machine)
        folder.mkdir()
        with JobAnswers(folder, same_machine=same_machine) as store:
            found = store.get("m", [A, B])
            assert {key: list(value) for key, value in found.items()} == {A: [1, 2]}
            assert store.get("other", [A]) == {}
            assert store.get_load_findings("m") == LoadFindings(["pooler"])
        with UnlockedAnswers(folder / ANSWERS) as alone:
            assert list(alone.get("m", [A])) == [A]
            assert alone.is_read_only


def test_a_cache_that_cannot_be_read_counts_as_empty(tmp_path: Path) -> None:
    get_cache_folder().mkdir(parents=True, exist_ok=True)
    content = b"not a database, and long enough to be taken for the beginning of one" * 20
    (get_cache_folder() / ANSWERS).write_bytes(content)
    with JobAnswers(tmp_path, same_machine=False) as store:
        assert store.get("m", [A]) == {}
        store.put("m", {A: numbers(1)})
        assert list(store.get("m", [A])) == [A]
    assert (get_cache_folder() / ANSWERS).read_bytes() == content  # another machine's cache is not replaced


def test_stores_are_merged_into_the_cache(tmp_path: Path) -> None:
    with AnswerStore(get_cache_folder() / ANSWERS) as cache:
        cache.put("other", {C: numbers(9)})
        cache.put("m", {A: numbers(1)})
    with JobAnswers(tmp_path, same_machine=False) as store:
        store.put("m", {A: numbers(1.5), B: numbers(2, 3)})
        store.put("new", {A: numbers(4)})
        store.put_load_findings("new", LoadFindings(["head"]))
    with sqlite3.connect(tmp_path / ANSWERS) as raw:  # a damaged answer is not merged
        raw.execute("UPDATE answers SET answer = x'00000000' WHERE question = ? AND length(answer) = 8", [B])
        raw.execute("INSERT INTO answers SELECT model, ?, answer, checksum FROM answers WHERE question = ?", [C, A])
    raw.close()
    for remove in (False, True):
        merge_stores(tmp_path, remove=remove)
        with AnswerStore(get_cache_folder() / ANSWERS) as cache:
            assert {key: list(value) for key, value in cache.get("m", [A, B, C]).items()} == {A: [1]}
            assert list(cache.get("new", [A])[A]) == [4]
            assert list(cache.get("other", [C])[C]) == [9]
            assert cache.get_load_findings("new") == LoadFindings(["head"])
        assert (tmp_path / ANSWERS).exists() is not remove
    assert not list(tmp_path.glob(f"{ANSWERS}*"))
    merge_stores(tmp_path, remove=True)  # does nothing without stores


def test_an_empty_store_of_a_killed_job_is_merged_without_an_error(tmp_path: Path) -> None:
    (tmp_path / ANSWERS).touch()  # SQLite creates the file before the tables
    (tmp_path / REPLIES).touch()
    merge_stores(tmp_path, remove=True)
    assert not list(tmp_path.iterdir())


def test_a_damaged_store_is_set_aside_and_the_cache_stays(tmp_path: Path) -> None:
    with AnswerStore(get_cache_folder() / ANSWERS) as cache:
        cache.put("m", {A: numbers(1)})
    with JobAnswers(tmp_path, same_machine=True) as store:
        store.put("m", {index.to_bytes(16): numbers(*range(50)) for index in range(2000)})
    with (tmp_path / ANSWERS).open("r+b") as file:
        file.seek(200 * 1024)
        file.write(b"\xff" * 4096)
    merge_stores(tmp_path, remove=False)
    assert (tmp_path / f"{ANSWERS}.damaged-1").exists()
    with AnswerStore(get_cache_folder() / ANSWERS) as cache:
        assert list(cache.get("m", [A])[A]) == [1]
    merge_stores(tmp_path, remove=True)
    assert not (tmp_path / ANSWERS).exists()
    assert (tmp_path / f"{ANSWERS}.damaged-1").is_file()
    with AnswerStore(get_cache_folder() / ANSWERS) as cache:
        assert cache.get("m", [index.to_bytes(16) for index in range(2000)]) == {}


def test_replies_are_copied_and_merged(tmp_path: Path) -> None:
    with ReplyStore(get_cache_folder() / REPLIES) as cache:
        cache.put("m", A, Reply("first"))
    with JobReplies(tmp_path, same_machine=False) as store:
        assert store.get("m", [A, B])[A].text == "first"
        store.put("m", B, Reply("second"))
    merge_stores(tmp_path, remove=True)
    with ReplyStore(get_cache_folder() / REPLIES) as cache:
        assert {key: reply.text for key, reply in cache.get("m", [A, B]).items()} == {A: "first", B: "second"}
