"""Threads for open projects: one task at a time, closed when idle, opened again after changes."""

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from perf.kills_review import REVIEWERS
from perf.reviewed_project import make_project
from tests.support.messages import raises_mentioning
from tests.support.patience import PATIENCE
from tiltmeter.database.change_count import count_file_changes, read_count
from tiltmeter.errors import UsageError
from tiltmeter.making.project import DATABASE, open_project
from tiltmeter.making.project_settings import read_settings, write_settings
from tiltmeter.making.project_store import ProjectStore
from tiltmeter.making.review.review import Review
from tiltmeter.studio.project_threads import ProjectThreads


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "cache"))
    make_project(tmp_path, 12, REVIEWERS, agreeing=1, per_item=1)
    return tmp_path / "project"


@pytest.fixture
def projects() -> Iterator[ProjectThreads]:
    made = ProjectThreads()
    yield made
    made.close()


def test_requests_from_many_threads_go_through_one(projects: ProjectThreads, folder: Path) -> None:
    def decide(turn: int) -> str:
        name = ("Ana", "Eva")[turn % 2]

        def work_on_next() -> str:
            def work(review):  # type: ignore[no-untyped-def]
                shown = review.take_next_item(name)
                review.decide_on_item(name, shown.item, "accept", shown=shown.shown)
                return shown.item, threading.current_thread().name

            return projects.run_review_task(folder, work)

        return work_on_next()

    with ThreadPoolExecutor(8) as threads:
        done = list(threads.map(decide, range(12)))
    assert sorted(item for item, _ in done) == sorted(f"i{number}" for number in range(12))
    assert {thread for _, thread in done} == {"project project"}
    assert projects.run_review_task(folder, lambda review: review.take_next_item("Ana")) is None


def test_errors_come_back(projects: ProjectThreads, folder: Path, tmp_path: Path) -> None:
    with raises_mentioning(UsageError, "'Bob'"):
        projects.run_review_task(folder, lambda review: review.take_next_item("Bob"))
    with raises_mentioning(UsageError, str(tmp_path / "none")):
        projects.run_review_task(tmp_path / "none", lambda review: review.list_queue())
    assert projects.run_review_task(folder, lambda review: len(review.list_queue())) == 12


def test_a_project_is_opened_again_when_its_settings_change(projects: ProjectThreads, folder: Path) -> None:
    assert str(projects.run_review_task(folder, lambda review: review.rule)) == "1 of 1"
    write_settings(folder, replace(read_settings(folder), agreeing=2, reviewers_per_item=10))
    assert str(projects.run_review_task(folder, lambda review: review.rule)) == "2 of 10"


def test_an_idle_project_is_closed(folder: Path) -> None:
    projects = ProjectThreads(idle=0.05)
    projects.run_review_task(folder, lambda review: review.list_queue())
    (worker,) = (thread for thread in threading.enumerate() if thread.name == "project project")
    worker.join(timeout=PATIENCE)
    assert not worker.is_alive()
    assert projects.open_projects == []
    assert projects.run_review_task(folder, lambda review: len(review.list_queue())) == 12
    projects.close()
    assert projects.open_projects == []


def test_new_tasks_are_rejected_while_projects_are_closed(folder: Path) -> None:
    projects, begun, go_on = ProjectThreads(), threading.Event(), threading.Event()

    def work(review: Review) -> int:
        begun.set()
        assert go_on.wait(PATIENCE)
        return len(review.list_queue())

    with ThreadPoolExecutor(2) as threads:
        under_way = threads.submit(projects.run_review_task, folder, work)
        assert begun.wait(PATIENCE)
        closing = threads.submit(projects.close)
        while not projects._is_closing:
            threading.Event().wait(0.001)
        with raises_mentioning(UsageError, "being closed"):
            projects.run_review_task(folder, lambda review: review.list_queue())
        go_on.set()
        closing.result()
        assert under_way.result() == 12
    assert projects.run_review_task(folder, lambda review: len(review.list_queue())) == 12
    projects.close()


def test_another_process_may_write_meanwhile(projects: ProjectThreads, folder: Path) -> None:
    assert projects.run_review_task(folder, lambda review: review.count_progress("Ana")) == (0, 12)
    with open_project(folder) as other:
        Review(other).decide_on_item("Eva", "i0", "drop")
    assert projects.run_review_task(folder, lambda review: review.count_progress("Ana")) == (0, 11)
    with sqlite3.connect(folder / "project.sqlite") as database:
        assert database.execute("SELECT count(*) FROM decisions").fetchone() == (1,)
    database.close()


def test_the_log_is_copied_when_the_project_is_idle(
    projects: ProjectThreads, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProjectStore, "pause_between_copies", 1e9)
    copied, copy_log = threading.Event(), ProjectStore.copy_log

    def work(review: Review) -> None:
        for item in ("i0", "i1"):
            review.decide_on_item("Ana", item, "accept")
        monkeypatch.setattr(ProjectStore, "copy_log", lambda store: (copy_log(store), copied.set()))

    projects.run_review_task(folder, work)
    assert copied.wait(PATIENCE)
    assert read_count(folder / DATABASE).in_file == count_file_changes(folder / DATABASE)
