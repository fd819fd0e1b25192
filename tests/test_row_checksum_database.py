"""RowChecksumDatabase: a changed byte is detected when the file is opened."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.database.connection import StoreError
from tiltmeter.database.row_checksum_database import SUMS
from tiltmeter.making.project_store import ProjectItem, ProjectStore

ITEMS = [ProjectItem(f"item-{n}", "part", "cooks", f'{{"a": "Tea {n}"}}', f'{{"a": "Tea {n}"}}') for n in range(6)]


def filled(path: Path) -> Path:
    """Create a project with inserts, replacements, updates and deletions."""
    with ProjectStore(path) as store, store.begin_transaction():
        store.add_items(ITEMS)
        for item in ITEMS:
            for text in ("Der Tee ist warm.", f"Der Tee {item.id} ist warm."):
                store.set_text(item.id, "text", "context", text, step="translate", by="system", why="")
        store.drop_item("item-5", step="review", by="Ann", why="it is not clear")
        store.add_reviewer("Ann")
        store.take_slot("item-1", 1, "Ann", 3.5)
        store.take_slot("item-1", 1, "Bob", 4.5)
        store.free_slots("item-1", "Bob")
        store.accept_problem("item-2", "E1", by="Ann", why="fine")
        store.accept_problem("item-2", "E1", by="Ann", why="fine as it is")
    return path


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file without Tiltmeter."""
    db = sqlite3.connect(path)
    try:
        with db:
            yield db
    finally:
        db.close()


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows of the file, except the sums."""
    with opened(path) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: db.execute(f"SELECT * FROM {name}").fetchall() for name in names if name != SUMS}


def change(path: Path, before: bytes, after: bytes) -> None:
    """Replace bytes of the file without SQLite."""
    content = path.read_bytes()
    assert content.count(before) >= 1
    place = content.rindex(before)
    path.write_bytes(content[:place] + after + content[place + len(before) :])


def test_all_types_of_statements_are_summed(tmp_path: Path) -> None:
    path = filled(tmp_path / "project.sqlite")
    with ProjectStore(path) as store:
        assert store.list_texts("text", "item-3") == {"item-3": {"context": "Der Tee item-3 ist warm."}}
    with ProjectStore(path) as store, store.begin_transaction():
        store.restore_item("item-5", step="review", by="Ann", why="")
    with ProjectStore(path) as store:
        assert store.get_item("item-5").dropped is None


def test_a_changed_letter_is_an_error_with_the_item(tmp_path: Path) -> None:
    path = filled(tmp_path / "project.sqlite")
    change(path, b"Der Tee item-3 ist warm", b"Der Tee item-3 ist wurm")
    with raises_mentioning(StoreError, str(path), "of 'item-3'", "backup"):
        ProjectStore(path)


def test_no_changed_byte_of_the_file_changes_a_row(tmp_path: Path) -> None:
    path = filled(tmp_path / "project.sqlite")
    whole, content = rows(path), path.read_bytes()
    places = [place for place, byte in enumerate(content) if byte and place > 100][::801]
    detected = 0
    for place in places:
        copy = tmp_path / "copy.sqlite"
        for file in tmp_path.glob("copy.sqlite*"):
            file.unlink(missing_ok=True)  # a connection that is closed late removes its files itself
        copy.write_bytes(content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :])
        try:
            ProjectStore(copy).close()
        except (sqlite3.Error, StoreError):
            detected += 1
            continue
        assert rows(copy) == whole, f"byte {place}"
    assert detected > len(places) / 4


def test_a_damaged_index_is_rebuilt(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = filled(tmp_path / "project.sqlite")
    with opened(path) as db:
        db.execute("PRAGMA writable_schema = ON")
        ((page,),) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'history_of_item'").fetchall()
        ((size,),) = db.execute("PRAGMA page_size").fetchall()
    content = bytearray(path.read_bytes())
    leaf = content[(page - 1) * size : page * size]
    at = (page - 1) * size + leaf.index(b"item-4")
    content[at : at + 6] = b"item-x"
    path.write_bytes(content)
    with ProjectStore(path) as store:
        assert len(store.list_history("item-4")) == 2
    assert "indexes" in caplog.text
    with ProjectStore(path):
        assert caplog.text.count("indexes") == 1


def test_sums_are_added_to_a_file_without_sums(tmp_path: Path) -> None:
    path = filled(tmp_path / "project.sqlite")
    with opened(path) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        db.execute(f"DROP TABLE {SUMS}")
        db.execute("UPDATE texts SET text = 'Der Tee ist kalt.' WHERE item = 'item-1'")
    with ProjectStore(path) as store:
        assert store.list_texts("text", "item-1") == {"item-1": {"context": "Der Tee ist kalt."}}
    change(path, b"Der Tee ist kalt", b"Der Tee ist kelt")
    with raises_mentioning(StoreError, "item-1"):
        ProjectStore(path)
    # Without a backup, deleting the sums accepts the file.
    with opened(path) as db:
        db.execute(f"DROP TABLE {SUMS}")
    with ProjectStore(path) as store:
        assert store.list_texts("text", "item-1") == {"item-1": {"context": "Der Tee ist kelt."}}


def test_another_program_cannot_write(tmp_path: Path) -> None:
    path = filled(tmp_path / "project.sqlite")
    with opened(path) as db, raises_mentioning(sqlite3.OperationalError, "checksum_of"):
        db.execute("UPDATE texts SET text = 'x'")


def test_a_read_only_project_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = filled(tmp_path / "project.sqlite")
    change(path, b"Der Tee item-3 ist warm", b"Der Tee item-3 ist wurm")

    def not_writable(store: ProjectStore) -> None:
        raise StoreError("attempt to write a readonly database", store._labels, sqlite3.SQLITE_READONLY)

    monkeypatch.setattr(ProjectStore, "_open_file", not_writable)
    with raises_mentioning(StoreError, "item-3"):
        ProjectStore(path)
