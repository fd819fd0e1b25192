"""Threads for open projects: each project has one thread, and all requests about the project run in that thread.

The reason is that the SQLite connection and the review objects of a project must be used by only one thread. A project
is closed after 15 minutes without requests. It is opened again if its settings or its database file have changed.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import cached_property
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from tiltmeter.errors import UsageError
from tiltmeter.making.project import DATABASE, Project, open_project
from tiltmeter.making.project_settings import SETTINGS
from tiltmeter.making.rating.rating import RatingSession
from tiltmeter.making.review.review import Review
from tiltmeter.making.review.review_list import ReviewList
from tiltmeter.making.writing.written_item_ratings import load_rating

T = TypeVar("T")

# A project is closed after this many seconds without a request.
IDLE = 900.0
# Seconds after the last request until the write-ahead log of a project is copied into its database.
_REST = 0.1


class ProjectSession:
    """An open project, with its review and its rating session."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._rating: tuple[object, RatingSession] | None = None

    @cached_property
    def review(self) -> Review:
        """Return the review of the project."""
        return Review(self.project)

    @cached_property
    def review_list(self) -> ReviewList:
        """Return the list of the items in the review."""
        return ReviewList(self.review)

    def run_with_rating_session(self, task: Callable[[RatingSession], T]) -> T:
        """Call `task` with the rating session of the project, and return the result of the task.

        The rating session is loaded again if the project has changed.
        """
        store = self.project.store
        if self._rating is None or self._rating[0] != store.get_change_stamp():
            self._rating = store.get_change_stamp(), load_rating(self.project)
        rating = self._rating[1]
        result = task(rating)
        # A rating changes the stamp but no item, so `rating` is still valid.
        self._rating = store.get_change_stamp(), rating
        return result


class ProjectThreads:
    """The threads of all open projects of a studio; `idle` is the number of seconds until a project is closed."""

    def __init__(self, *, idle: float = IDLE) -> None:
        self._idle = idle
        self._lock = threading.Lock()
        self._workers: dict[Path, _Worker] = {}
        self._is_closing = False

    def run_task(self, folder: Path, task: Callable[[ProjectSession], T]) -> T:
        """Call `task` in the thread of the project in `folder`; return the result of the task or raise its error."""
        result: Future[T] = Future()
        with self._lock:
            if self._is_closing:
                raise UsageError("The studio is being closed; start the studio again.")
            worker = self._workers.get(folder)
            if worker is None:
                worker = self._workers[folder] = _Worker(self, folder)
                worker.start()
            worker.tasks.put((task, result))
        return result.result()

    def run_review_task(self, folder: Path, task: Callable[[Review], T]) -> T:
        """Call `task` with the review of the project in `folder`, and return the result of the task."""
        return self.run_task(folder, lambda session: task(session.review))

    def close(self) -> None:
        """Finish all submitted tasks and close all projects; meanwhile, new tasks are rejected."""
        with self._lock:
            self._is_closing = True
            workers = list(self._workers.values())
            for worker in workers:
                worker.tasks.put(None)
        for worker in workers:
            worker.join()
        with self._lock:
            self._workers.clear()
            self._is_closing = False

    @property
    def open_projects(self) -> list[Path]:
        """Return the folders of the open projects."""
        with self._lock:
            return sorted(self._workers)

    def _remove_worker(self, worker: "_Worker") -> bool:
        """Remove an idle worker and return True; if the worker has a new task, keep the worker and return False."""
        with self._lock:
            if not worker.tasks.empty():
                return False
            self._workers.pop(worker.folder, None)
            return True


class _Worker(threading.Thread):
    """The thread in which all tasks of one project run."""

    def __init__(self, threads: ProjectThreads, folder: Path) -> None:
        super().__init__(name=f"project {folder.name}", daemon=True)
        self.folder = folder
        self.tasks: SimpleQueue[tuple[Callable[[ProjectSession], Any], Future[Any]] | None] = SimpleQueue()
        self._threads = threads
        self._open: ProjectSession | None = None
        self._files: object = None

    def run(self) -> None:
        """Run the tasks of the project until there are no tasks for a while, or until the project is closed."""
        try:
            while True:
                store = self._open.project.store if self._open is not None else None
                is_log_ahead = store is not None and store.is_log_ahead
                try:
                    entry = self.tasks.get(timeout=_REST if is_log_ahead else self._threads._idle)
                except Empty:
                    if store is not None and is_log_ahead:
                        store.copy_log()
                        continue
                    if self._threads._remove_worker(self):
                        return
                    continue
                if entry is None:
                    return
                self._run_task(*entry)
        finally:
            self._close()

    def _run_task(self, task: Callable[[ProjectSession], Any], result: "Future[Any]") -> None:
        try:
            value = task(self._open_session())
        except BaseException as error:
            result.set_exception(error)
        else:
            result.set_result(value)

    def _open_session(self) -> ProjectSession:
        files = _compute_identity(self.folder)
        if self._open is None or files != self._files:
            self._close()
            self._open, self._files = ProjectSession(open_project(self.folder)), files
        return self._open

    def _close(self) -> None:
        if self._open is not None:
            self._open.project.close()
            self._open = None


def _compute_identity(folder: Path) -> object:
    """Return a value that changes if the settings of a project are edited or its database file is replaced."""
    try:
        settings, database = (folder / SETTINGS).stat(), (folder / DATABASE).stat()
    except FileNotFoundError:
        return None
    return settings.st_mtime_ns, settings.st_size, database.st_dev, database.st_ino
