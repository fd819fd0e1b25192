"""The trash of runs."""

import errno
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.studio.made_runs import save, small, write
from tests.support.messages import raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.studio.run_index import RunIndex
from tiltmeter.studio.run_trash import DAYS, RunTrash
from tiltmeter.studio.studio_workspace import StudioWorkspace

START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """A clock that tests can set."""

    now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def index(tmp_path: Path) -> RunIndex:
    save(tmp_path / "runs" / "one", small("one", 1))
    save(tmp_path / "runs" / "two", small("two", 2))
    return RunIndex(StudioWorkspace(tmp_path), set)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_deleted_run_is_restored_unchanged(index: RunIndex, clock: Clock) -> None:
    folder, trash = index.workspace.folder / "runs" / "one", RunTrash(index, clock)
    before = files_of(folder)
    index.write_description("runs/one", name="First")
    index.write_description("runs/one", tags="kept")
    deleted = trash.delete_run("runs/one")
    assert not folder.exists()
    assert [run.path for run in index.list_runs()] == ["runs/two"]
    assert trash.list_deleted_runs() == [deleted]
    assert (deleted.name, deleted.path, deleted.deletion_time) == ("First", "runs/one", START + timedelta(days=DAYS))
    assert trash.restore_run(deleted.identifier) == "runs/one"
    assert files_of(folder) == before
    assert (index.get_run("runs/one").name, index.get_run("runs/one").tags) == ("First", ("kept",))
    assert trash.list_deleted_runs() == []
    assert list((index.workspace.state / "trash").iterdir()) == []


def test_a_run_is_restored_under_another_path_if_its_path_is_taken(index: RunIndex) -> None:
    trash = RunTrash(index)
    index.write_description("runs/one", name="First")
    deleted = trash.delete_run("runs/one")
    save(index.workspace.folder / "runs" / "one", small("other", 3))
    assert index.get_run("runs/one").name == "one"
    assert trash.restore_run(deleted.identifier) == "runs/one-2"
    assert index.get_run("runs/one").summary.models == ("other",)
    assert index.get_run("runs/one-2").summary.models == ("one",)
    assert index.get_run("runs/one-2").name == "First"


def test_runs_are_deleted_permanently_after_thirty_days(index: RunIndex, clock: Clock) -> None:
    trash = RunTrash(index, clock)
    trash.delete_run("runs/one")
    clock.now += timedelta(days=1)
    second = trash.delete_run("runs/two")
    clock.now = START + timedelta(days=DAYS)
    assert trash.delete_expired_runs() == 0
    clock.now += timedelta(seconds=1)
    assert trash.delete_expired_runs() == 1
    assert trash.list_deleted_runs() == [second]
    clock.now += timedelta(days=1)
    assert trash.delete_expired_runs() == 1
    assert trash.list_deleted_runs() == []


def test_only_the_remains_of_interruptions_are_removed(index: RunIndex) -> None:
    trash, place = RunTrash(index), index.workspace.state / "trash"
    write(place / ("a" * 16), {"origin.json": {}})  # written, and then nothing was moved
    (place / ("b" * 16) / "run").mkdir(parents=True)  # nothing says what it is, or since when
    write(place / "notes", {"mine.txt": "x"})
    assert trash.list_deleted_runs() == []
    assert trash.delete_expired_runs() == 1
    assert sorted(path.name for path in place.iterdir()) == ["b" * 16, "notes"]


def test_a_running_run_is_not_deleted(index: RunIndex) -> None:
    busy = RunIndex(index.workspace, lambda: {index.workspace.folder / "runs" / "one"})
    with raises_mentioning(UsageError, "one is still running"):
        RunTrash(busy).delete_run("runs/one")
    assert (index.workspace.folder / "runs" / "one").is_dir()
    RunTrash(busy).delete_run("runs/two")


def test_an_unfinished_run_can_be_deleted_after_a_while(index: RunIndex, clock: Clock) -> None:
    folder = write(index.workspace.folder / "half", {"scores.parquet": "", ".measures.json.x.part": ""})
    trash = RunTrash(index, clock)
    clock.now = datetime.now(UTC)
    with raises_mentioning(UsageError, "half was changed a moment ago", "wait a minute"):
        trash.delete_run("half")
    clock.now += timedelta(seconds=50)
    with raises_mentioning(UsageError, "wait a minute"):
        trash.delete_run("half")
    assert folder.is_dir()
    clock.now += timedelta(seconds=50)
    trash.delete_run("half")
    assert not folder.exists()


@pytest.mark.parametrize("path", ["", "..", "runs", "runs/none", "../x", ".tiltmeter-studio/trash"])
def test_only_runs_can_be_deleted(path: str, index: RunIndex) -> None:
    with raises_mentioning(UsageError, "workspace"):
        RunTrash(index).delete_run(path)


@pytest.mark.parametrize("identifier", ["", "..", "../../runs/one", "c" * 16, "C" * 16])
def test_only_runs_in_the_trash_are_restored(identifier: str, index: RunIndex) -> None:
    with raises_mentioning(UsageError, "in the trash"):
        RunTrash(index).restore_run(identifier)


def test_a_run_that_cannot_be_moved_stays(index: RunIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", refuse)
        with raises_mentioning(UsageError, "one cannot be moved", "Invalid cross-device link"):
            RunTrash(index).delete_run("runs/one")
    assert RunTrash(index).list_deleted_runs() == []
    assert RunTrash(index).delete_expired_runs() == 0
    assert index.get_run("runs/one").is_whole
