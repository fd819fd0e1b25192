"""Changes to people's work are in the database file itself; a loss of changes is noticed, without false alarms."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from perf.damaged_logs import decide_and_die, open_damaged
from perf.reviewed_project import make_project
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
    """Every change is copied out of the log at once."""
    monkeypatch.setattr(ProjectStore, "pause_between_copies", -1.0)


def decide(store: ProjectStore, *items: str) -> None:
    """A change for each of the items."""
    for item in items:
        with store.begin_transaction():
            store.add_decision(ReviewDecision(item, "Ann", "drop"))


def decided(path: Path) -> list[str]:
    with ProjectStore(path) as store:
        return [decision.item for decision in store.decisions()]


@contextmanager
def in_use(path: Path, *items: str) -> Iterator[ProjectStore]:
    """An open store with a decision about each of the items."""
    with ProjectStore(path) as store:
        with store.begin_transaction():
            store.add_items([ProjectItem(word, "", "", "{}", "{}") for word in WORDS])
        decide(store, *items)
        yield store


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Another process reads, so that changes have to stay in the log."""
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM decisions").fetchall()
        yield


def copy_of(path: Path, folder: Path) -> Path:
    """The file and what belongs to it, as a process that is killed now would leave them."""
    folder.mkdir()
    for file in path.parent.glob(f"{path.name}*"):
        shutil.copy(file, folder / file.name)
    return folder / path.name


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork processes")
@pytest.mark.parametrize("blocked", [False, True])
def test_no_damage_to_a_log_loses_decisions_unnoticed(
    blocked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path))
    decide_and_die(tmp_path, 24, blocked=blocked)
    found = open_damaged(tmp_path, 24, number=12)
    # Without a reader all is in the file; with one, some decisions are in the log alone.
    assert {outcome for _, outcome in found} == {"refused" if blocked else "whole"}


def test_changes_leave_the_log(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    with in_use(path) as store:
        for word in WORDS:
            decide(store, word)
            copied = copy_of(path, tmp_path / word)
            get_log_path(copied).unlink()
            assert decided(copied)[-1] == word


def test_of_many_changes_in_a_short_time_the_log_is_copied_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / DATABASE
    monkeypatch.setattr(ProjectStore, "pause_between_copies", 1e9)
    with in_use(path, "pears") as store:
        decide(store, "plums", "figs")
        assert store.is_log_ahead
        without = copy_of(path, tmp_path / "before")
        get_log_path(without).unlink()
        with pytest.raises(StoreError, match="lost"):
            ProjectStore(without)
        store.copy_log()
        assert not store.is_log_ahead
        copied = copy_of(path, tmp_path / "after")
    get_log_path(copied).unlink()
    assert decided(copied) == ["pears", "plums", "figs"]


def test_a_refused_project_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    with in_use(path, "pears") as store, reading(path):
        decide(store, "plums", "figs")
        copied = copy_of(path, tmp_path / "copy")
    log = get_log_path(copied)
    whole = log.read_bytes()
    log.write_bytes(damaged := whole[:5000])
    for _ in range(2):
        with pytest.raises(StoreError, match=rf"2 of \d+ changes .*{DATABASE}-count"):
            ProjectStore(copied)
        assert log.read_bytes() == damaged
    log.write_bytes(whole)
    assert decided(copied) == ["pears", "plums", "figs"]


def test_the_way_out_without_a_copy(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    with in_use(path, "pears") as store, reading(path):
        decide(store, "plums")
        copied = copy_of(path, tmp_path / "copy")
    get_log_path(copied).unlink()
    with pytest.raises(StoreError, match="lost"):
        ProjectStore(copied)
    get_count_path(copied).unlink()
    assert decided(copied) == ["pears"]


@pytest.mark.parametrize("count", [None, b"", b"0" * 12, b"not a count at all, but of 35 bytes\n", "earlier"])
def test_a_count_that_is_missing_damaged_or_late_is_no_alarm(
    count: bytes | str | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A process may be killed after it stored a change and before it counted it."""
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


def test_a_copied_folder_is_no_alarm(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / DATABASE
    with in_use(path, "pears") as store:
        copied = copy_of(path, tmp_path / "while in use")
        decide(store, "plums")
    at_rest = copy_of(path, tmp_path / "at rest")
    assert (decided(copied), decided(at_rest)) == (["pears"], ["pears", "plums"])
    assert not caplog.records


@pytest.mark.parametrize("log_stays", [False, True])
def test_an_older_file_put_back_is_used_with_a_notice(
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


def test_a_log_of_an_earlier_time_is_set_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / DATABASE
    with in_use(path, "pears") as store:
        earlier = get_log_path(path).read_bytes()
        decide(store, "plums", "figs")
        copied = copy_of(path, tmp_path / "copy")
    get_log_path(copied).write_bytes(earlier)
    assert decided(copied) == ["pears", "plums", "figs"]
    assert (copied.parent / f"{DATABASE}-wal.damaged-1").read_bytes() == earlier
    assert f"{DATABASE}-wal.damaged-1" in caplog.text


def test_a_project_that_can_only_be_read_is_checked_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / DATABASE
    with in_use(path, "pears") as store, reading(path):
        decide(store, "plums")
        copied = copy_of(path, tmp_path / "copy")
    get_log_path(copied).unlink()

    def not_writable(store: ProjectStore) -> None:
        raise StoreError("attempt to write a readonly database", store._words, sqlite3.SQLITE_READONLY)

    monkeypatch.setattr(ProjectStore, "_open", not_writable)
    with pytest.raises(StoreError, match=r"changes .* lost"):
        ProjectStore(copied)


def test_a_count_that_cannot_be_written_does_not_refuse_a_change(
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
def test_an_empty_or_truncated_file_is_refused(kept: float, folder: Path, tmp_path: Path) -> None:
    content = (folder / DATABASE).read_bytes()
    cut = content[: int(kept * len(content)) if isinstance(kept, float) else kept]
    (folder / DATABASE).write_bytes(cut)
    for use in (open_project, lambda folder: archive_project(folder, tmp_path / "away.zip")):
        with pytest.raises(TiltmeterError, match=f"{DATABASE}.*restore"):
            use(folder)
        assert (folder / DATABASE).read_bytes() == cut
    assert not (tmp_path / "away.zip").exists()


@pytest.mark.parametrize("tables", ["", "of another program", "ours"])
def test_a_database_without_a_project_is_refused(tables: str, folder: Path) -> None:
    (folder / DATABASE).unlink()
    if tables == "ours":
        ProjectStore(folder / DATABASE).close()
    else:
        with closing(sqlite3.connect(folder / DATABASE)) as db:
            db.execute("PRAGMA user_version = 3")
            if tables:
                db.execute("CREATE TABLE sheep (name TEXT)")
    with pytest.raises(TiltmeterError, match=f"{DATABASE}.*restore"):
        open_project(folder)
