"""ChangeCountDatabase: lost changes are detected without false alarms."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from perf.damaged_logs import decide_and_die, open_damaged
from perf.reviewed_project import make_project
from tests.support.messages import raises_mentioning
from tiltmeter.database.change_count import count_file_changes, get_count_path, get_log_path, read_count
from tiltmeter.database.connection import StoreError
from tiltmeter.errors import TiltmeterError
from tiltmeter.making.project import DATABASE, open_project
from tiltmeter.making.project_archive import archive_project
from tiltmeter.making.project_store import ProjectItem, ProjectStore
from tiltmeter.making.review.review_rule import ReviewDecision

WORDS = ("pears", "plums", "figs")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy every change from the log immediately."""
    monkeypatch.setattr(ProjectStore, "pause_between_copies", -1.0)


def decide(store: ProjectStore, *items: str) -> None:
    """Store a decision about each item in its own transaction."""
    for item in items:
        with store.begin_transaction():
            store.add_decision(ReviewDecision(item, "Ann", "drop"))


def decided(path: Path) -> list[str]:
    with ProjectStore(path) as store:
        return [decision.item for decision in store.list_decisions()]


@contextmanager
def in_use(path: Path, *items: str) -> Iterator[ProjectStore]:
    """Yield an open store with a decision about each item."""
    with ProjectStore(path) as store:
        with store.begin_transaction():
            store.add_items([ProjectItem(word, "", "", "{}", "{}") for word in WORDS])
        decide(store, *items)
        yield store


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Read from another connection, so that changes have to stay in the log."""
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM decisions").fetchall()
        yield


def copy_of(path: Path, folder: Path) -> Path:
    """Copy the file, its log and its count, as a killed process would leave them."""
    folder.mkdir()
    for file in path.parent.glob(f"{path.name}*"):
        shutil.copy(file, folder / file.name)
    return folder / path.name


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
def test_a_pipe_in_place_of_the_count_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "project.sqlite"
    with in_use(path, "pears"):
        pass
    get_count_path(path).unlink(missing_ok=True)
    os.mkfifo(get_count_path(path))
    with raises_mentioning(TiltmeterError, "project.sqlite-count", "not a regular file", "delete"):
        decided(path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork processes")
@pytest.mark.parametrize("blocked", [False, True])
def test_no_damage_to_a_log_loses_decisions_silently(
    blocked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path))
    decide_and_die(tmp_path, 24, blocked=blocked)
    found = open_damaged(tmp_path, 24, number=12)
    # With a reader, some decisions are in the log only.
    assert {outcome for _, outcome in found} == {"refused" if blocked else "whole"}


def test_changes_leave_the_log(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    with in_use(path) as store:
        for word in WORDS:
            decide(store, word)
            copied = copy_of(path, tmp_path / word)
            get_log_path(copied).unlink()
            assert decided(copied)[-1] == word


def test_many_changes_in_a_short_time_are_copied_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / DATABASE
    monkeypatch.setattr(ProjectStore, "pause_between_copies", 1e9)
    with in_use(path, "pears") as store:
        decide(store, "plums", "figs")
        assert store.is_log_ahead
        without = copy_of(path, tmp_path / "before")
        get_log_path(without).unlink()
        with raises_mentioning(StoreError, str(without), "lost"):
            ProjectStore(without)
        store.copy_log()
        assert not store.is_log_ahead
        copied = copy_of(path, tmp_path / "after")
    get_log_path(copied).unlink()
    assert decided(copied) == ["pears", "plums", "figs"]


def test_a_rejected_project_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    with in_use(path, "pears") as store, reading(path):
        decide(store, "plums", "figs")
        copied = copy_of(path, tmp_path / "copy")
    log = get_log_path(copied)
    whole = log.read_bytes()
    log.write_bytes(damaged := whole[:5000])
    for _ in range(2):
        with raises_mentioning(StoreError, "2 of ", f"{DATABASE}-count"):
            ProjectStore(copied)
        assert log.read_bytes() == damaged
    log.write_bytes(whole)
    assert decided(copied) == ["pears", "plums", "figs"]


def test_deleting_the_count_accepts_the_loss(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    with in_use(path, "pears") as store, reading(path):
        decide(store, "plums")
        copied = copy_of(path, tmp_path / "copy")
    get_log_path(copied).unlink()
    with raises_mentioning(StoreError, str(copied), "lost"):
        ProjectStore(copied)
    get_count_path(copied).unlink()
    assert decided(copied) == ["pears"]


@pytest.mark.parametrize("count", [None, b"", b"0" * 12, b"not a count at all, but of 35 bytes\n", "earlier"])
def test_a_missing_damaged_or_old_count_is_not_an_error(
    count: bytes | str | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A process may be killed after it has stored a change and before it has counted it."""
    path = tmp_path / DATABASE
    with in_use(path, "pears") as store:
        earlier = get_count_path(path).read_bytes()
        decide(store, "plums")
        copied = copy_of(path, tmp_path / "copy")
    if count is None:
        get_count_path(copied).unlink()
    else:
        get_count_path(copied).write_bytes(earlier if isinstance(count, str) else count)
    assert decided(copied) == ["pears", "plums"]
    with ProjectStore(copied) as store:
        decide(store, "figs")
        assert read_count(copied).confirmed == read_count(copied).in_file == count_file_changes(copied)
    assert not caplog.records


def test_a_copied_folder_is_not_an_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / DATABASE
    with in_use(path, "pears") as store:
        copied = copy_of(path, tmp_path / "while in use")
        decide(store, "plums")
    at_rest = copy_of(path, tmp_path / "at rest")
    assert (decided(copied), decided(at_rest)) == (["pears"], ["pears", "plums"])
    assert not caplog.records


@pytest.mark.parametrize("log_stays", [False, True])
def test_a_restored_older_file_is_used_with_a_warning(
    log_stays: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / DATABASE
    with in_use(path, "pears") as store:
        backup = path.read_bytes()
        decide(store, "plums", "figs")
        copied = copy_of(path, tmp_path / "copy")
    if not log_stays:
        get_log_path(copied).unlink()
    copied.write_bytes(backup)
    assert decided(copied) == ["pears"]
    assert caplog.text.count("older copy") == 1
    with ProjectStore(copied) as store:
        decide(store, "figs")
    assert decided(copied) == ["pears", "figs"]
    assert caplog.text.count("older copy") == 1


def test_an_older_log_is_renamed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / DATABASE
    with in_use(path, "pears") as store:
        earlier = get_log_path(path).read_bytes()
        decide(store, "plums", "figs")
        copied = copy_of(path, tmp_path / "copy")
    get_log_path(copied).write_bytes(earlier)
    assert decided(copied) == ["pears", "plums", "figs"]
    assert (copied.parent / f"{DATABASE}-wal.damaged-1").read_bytes() == earlier
    assert f"{DATABASE}-wal.damaged-1" in caplog.text


def test_a_read_only_project_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / DATABASE
    with in_use(path, "pears") as store, reading(path):
        decide(store, "plums")
        copied = copy_of(path, tmp_path / "copy")
    get_log_path(copied).unlink()

    def not_writable(store: ProjectStore) -> None:
        raise StoreError("attempt to write a readonly database", store._labels, sqlite3.SQLITE_READONLY)

    monkeypatch.setattr(ProjectStore, "_open_file", not_writable)
    with raises_mentioning(StoreError, str(copied), "lost"):
        ProjectStore(copied)


def test_a_count_that_cannot_be_written_does_not_prevent_a_change(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / DATABASE
    with in_use(path) as store:
        get_count_path(path).unlink()
        get_count_path(path).mkdir()
        decide(store, "pears")
        assert f"{DATABASE}-count" in caplog.text
    get_count_path(path).rmdir()
    assert decided(path) == ["pears"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILTMETER_CACHE", str(folder / "cache"))
        make_project(folder, 3, ("Ann",), agreeing=1, per_item=1)
    return folder / "project"


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "project"))


@pytest.mark.parametrize("kept", [0, 1, 100, 511, 512, 4096, 0.5, 0.9])
def test_an_empty_or_truncated_file_is_rejected(kept: float, folder: Path, tmp_path: Path) -> None:
    content = (folder / DATABASE).read_bytes()
    cut = content[: int(kept * len(content)) if isinstance(kept, float) else kept]
    (folder / DATABASE).write_bytes(cut)
    for use in (open_project, lambda folder: archive_project(folder, tmp_path / "away.zip")):
        with raises_mentioning(TiltmeterError, DATABASE, "restore"):
            use(folder)
        assert (folder / DATABASE).read_bytes() == cut
    assert not (tmp_path / "away.zip").exists()


@pytest.mark.parametrize("tables", ["", "of another program", "ours"])
def test_a_database_without_a_project_is_rejected(tables: str, folder: Path) -> None:
    (folder / DATABASE).unlink()
    if tables == "ours":
        ProjectStore(folder / DATABASE).close()
    else:
        with closing(sqlite3.connect(folder / DATABASE)) as db:
            db.execute("PRAGMA user_version = 3")
            if tables:
                db.execute("CREATE TABLE sheep (name TEXT)")
    with raises_mentioning(TiltmeterError, DATABASE, "restore"):
        open_project(folder)
