"""CacheDatabase: a changed byte never changes an answer, a reply or a translation; damaged rows are missing."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltmeter.database.cache_database import CacheDatabase
from tiltmeter.engine.answer_store import AnswerStore, LoadFindings
from tiltmeter.errors import TiltmeterError
from tiltmeter.models.reply_store import ReplyStore
from tiltmeter.questions import Reply
from tiltmeter.translators.translation_store import TranslationStore

KEYS = [bytes([number]) * 16 for number in range(12)]
ANSWERS = {key: np.float32([-1.5 * key[0], 0.25]) for key in KEYS}
TEXTS = {f"I sang {number} songs.": f"Zpíval jsem {number} písní." for number in range(12)}


def fill_answers(store: Any) -> None:
    store.put("model", ANSWERS)


def fill_replies(store: Any) -> None:
    for key in KEYS:
        store.put("model", key, Reply(f"The answer is {key[0]}."))


def fill_translations(store: Any) -> None:
    store.put("system", "cs", TEXTS)


def answers(store: Any) -> dict[bytes, list[float]]:
    return {key: answer.tolist() for key, answer in store.get("model", KEYS).items()}


def replies(store: Any) -> dict[bytes, str]:
    return {key: reply.text for key, reply in store.get("model", KEYS).items()}


def translations(store: Any) -> dict[str, str]:
    found: dict[str, str] = store.get("system", "cs", TEXTS)
    return found


StoreType = tuple[type[CacheDatabase], Callable[[Any], None], Callable[[Any], dict[Any, Any]], str]
STORES: dict[str, StoreType] = {
    "answers": (AnswerStore, fill_answers, answers, "answer"),
    "replies": (ReplyStore, fill_replies, replies, "reply"),
    "translations": (TranslationStore, fill_translations, translations, "translation"),
}


@pytest.fixture(params=STORES)
def store_type(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def path(store_type: str, tmp_path: Path) -> Path:
    """Return the path of a filled store."""
    opened, fill, read, _ = STORES[store_type]
    with opened(tmp_path / "s.sqlite") as store:  # type: ignore[call-arg]
        fill(store)
        assert len(read(store)) == 12
    return tmp_path / "s.sqlite"


def damage(path: Path, store_type: str, key: str) -> None:
    """Change one byte of the value of a row without SQLite."""
    column = STORES[store_type][3]
    db = sqlite3.connect(path)
    ((value,),) = db.execute(f"SELECT CAST({column} AS BLOB) FROM {store_type} WHERE {key}").fetchall()
    db.close()
    content = path.read_bytes()
    assert content.count(value) == 1
    place = content.index(value) + len(value) - 3
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])


FIRST = {"answers": "question = x'07070707070707070707070707070707'", "translations": "source = 'I sang 7 songs.'"}
FIRST["replies"] = FIRST["answers"]


def test_a_damaged_row_is_missing_and_is_replaced(store_type: str, path: Path) -> None:
    opened, fill, read, _ = STORES[store_type]
    with opened(path) as store:  # type: ignore[call-arg]
        whole = read(store)
    damage(path, store_type, FIRST[store_type])
    with opened(path) as store:  # type: ignore[call-arg]
        left = read(store)
        assert len(left) == 11
        assert left.items() <= whole.items()
        fill(store)
        assert read(store) == whole


def test_no_changed_byte_of_the_file_changes_a_value(store_type: str, path: Path, tmp_path: Path) -> None:
    opened, _, read, _ = STORES[store_type]
    with opened(path) as store:  # type: ignore[call-arg]
        whole = read(store)
    content = path.read_bytes()
    # Bytes that are zero are mostly free space.
    places = [place for place, byte in enumerate(content) if byte and place > 100][::9]
    incomplete = 0
    for place in places:
        copy = tmp_path / "copy.sqlite"
        for file in tmp_path.glob("copy.sqlite*"):
            file.unlink()
        copy.write_bytes(content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :])
        try:
            with opened(copy) as store:  # type: ignore[call-arg]
                left = read(store)
        except (sqlite3.Error, TiltmeterError):
            continue  # SQLite has detected it
        assert left.items() <= whole.items(), f"byte {place}"
        incomplete += len(left) < len(whole)
    assert incomplete


def test_an_answer_of_another_model_is_not_returned(tmp_path: Path) -> None:
    with AnswerStore(tmp_path / "a.sqlite") as store:
        store.put("one", {KEYS[0]: np.float32([1])})
        store.put("another", {KEYS[1]: np.float32([2])})
        store._db.execute("UPDATE answers SET model = 3 - model")
        assert not store.get("one", KEYS)
        assert not store.get("another", KEYS)


def test_findings_of_loading_are_stored(tmp_path: Path) -> None:
    with AnswerStore(tmp_path / "a.sqlite") as store:
        assert store.get_load_findings("model") == LoadFindings()
        found = LoadFindings(["bert.pooler.dense", "cls.seq_relationship"], {"padding": "it changes numbers"})
        store.put_load_findings("model", found)
        store.put("model", ANSWERS)
        assert store.get_load_findings("model") == found
        assert store.get_load_findings("another") == LoadFindings()


def test_damaged_findings_of_loading_are_ignored(tmp_path: Path) -> None:
    with AnswerStore(tmp_path / "s.sqlite") as store:
        store.put_load_findings("model", LoadFindings(["pooler"]))
        assert store.get_load_findings("model") == LoadFindings(["pooler"])
    for changed in (b'["poo', b'["p\xffo"]', b"7"):
        with sqlite3.connect(tmp_path / "s.sqlite") as db:
            db.execute("UPDATE models SET loading = CAST(? AS TEXT)", [changed])
        with AnswerStore(tmp_path / "s.sqlite") as store:
            assert store.get_load_findings("model") == LoadFindings()


def test_a_changed_byte_in_the_schema_is_damage(store_type: str, path: Path, tmp_path: Path) -> None:
    """SQLite quotes the schema in messages that are not UTF-8, or accepts another type of a column."""
    opened, fill, read, _ = STORES[store_type]
    with opened(path) as store:  # type: ignore[call-arg]
        expected = read(store)
    content = path.read_bytes()
    schemas = [place for place in range(4096) if content[place : place + 6] == b"CREATE"]
    places = [place for start in schemas for place in range(start, start + 200, 19)]
    for number, place in enumerate(places):
        for change in (0x80, 0x02) if number % 2 else (0xFF, 0x20):
            damaged = tmp_path / f"{place}-{change}" / "s.sqlite"
            damaged.parent.mkdir()
            damaged.write_bytes(content[:place] + bytes([content[place] ^ change]) + content[place + 1 :])
            with opened(damaged) as store:  # type: ignore[call-arg]
                found = read(store)
                assert found.items() <= expected.items()
                fill(store)
                assert read(store) == expected


def test_an_answer_without_numbers_is_kept(tmp_path: Path) -> None:
    with AnswerStore(tmp_path / "s.sqlite") as store:
        store.put("model", {KEYS[0]: np.float32([]), KEYS[1]: np.float32([1.0]), KEYS[2]: np.float32([])})
        found = {key: answer.tolist() for key, answer in store.get("model", KEYS).items()}
        assert found == {KEYS[0]: [], KEYS[1]: [1.0], KEYS[2]: []}
