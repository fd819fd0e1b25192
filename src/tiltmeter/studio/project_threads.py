"""The projects that people work on: each is open in a thread of its own, through which all requests on it go.

A connection to SQLite belongs to one thread, and so does what a review keeps in memory. A project that nobody has
worked on for a while is closed; it is opened anew when its settings were edited or its database was replaced.
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
from tiltmeter.making.writing.written_item_ratings import load_rating

T = TypeVar("T")

# Seconds after which a project that nobody works on is closed.
IDLE = 900.0
# Seconds after the last request until changes that are only in the log of a project are copied into its file.
_REST = 0.1


class ProjectSession:
    """An open project with its review and, for written items, its rating."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._rating: tuple[object, RatingSession] | None = None

    @cached_property
    def review(self) -> Review:
        """The review of the project."""
        return Review(self.project)

    def rate(self, work: Callable[[RatingSession], T]) -> T:
        """Do something with the rating of the project's written items, as they are now."""
        store = self.project.store
        if self._rating is None or self._rating[0] != store.stamp():
            self._rating = store.stamp(), load_rating(self.project)
        rating = self._rating[1]
        done = work(rating)
        self._rating = store.stamp(), rating  # what the rating itself writes changes no item
        return done


class ProjectThreads:
    """The open projects of a studio."""

    def __init__(self, *, idle: float = IDLE) -> None:
        self._idle = idle
        self._lock = threading.Lock()
        self._workers: dict[Path, _Worker] = {}
        self._is_closing = False

    def submit(self, folder: Path, work: Callable[[ProjectSession], T]) -> T:
        """Do something with the project in a folder, in its thread; returns or raises what `work` does."""
        result: Future[T] = Future()
        with self._lock:
            if self._is_closing:
                raise UsageError("The studio is being closed.")
            worker = self._workers.get(folder)
            if worker is None:
                worker = self._workers[folder] = _Worker(self, folder)
                worker.start()
            worker.jobs.put((work, result))
        return result.result()

    def review(self, folder: Path, work: Callable[[Review], T]) -> T:
        """Do something with the review of the project in a folder."""
        return self.submit(folder, lambda at_work: work(at_work.review))

    def close(self) -> None:
        """Close all projects, after what is under way; nothing new is begun meanwhile."""
        with self._lock:
            self._is_closing = True
            workers = list(self._workers.values())
            for worker in workers:
                worker.jobs.put(None)
        for worker in workers:
            worker.join()
        with self._lock:
            self._workers.clear()
            self._is_closing = False

    @property
    def open_projects(self) -> list[Path]:
        """The folders of the projects that are open."""
        with self._lock:
            return sorted(self._workers)

    def _remove_worker(self, worker: "_Worker") -> bool:
        """Forget an idle worker; false if there is something to do for it."""
        with self._lock:
            if not worker.jobs.empty():
                return False
            self._workers.pop(worker.folder, None)
            return True


class _Worker(threading.Thread):
    """The thread of one project."""

    def __init__(self, threads: ProjectThreads, folder: Path) -> None:
        super().__init__(name=f"project {folder.name}", daemon=True)
        self.folder = folder
        self.jobs: SimpleQueue[tuple[Callable[[ProjectSession], Any], Future[Any]] | None] = SimpleQueue()
        self._threads = threads
        self._open: ProjectSession | None = None
        self._files: object = None

    def run(self) -> None:
        """Carry out what is asked for, until there is nothing to do for a while."""
        try:
            while True:
                store = self._open.project.store if self._open is not None else None
                rests = store is not None and store.is_log_ahead
                try:
                    job = self.jobs.get(timeout=_REST if rests else self._threads._idle)
                except Empty:
                    if store is not None and rests:
                        store.copy_log()
                        continue
                    if self._threads._remove_worker(self):
                        return
                    continue
                if job is None:
                    return
                self._run_task(*job)
        finally:
            self._close()

    def _run_task(self, work: Callable[[ProjectSession], Any], result: "Future[Any]") -> None:
        try:
            done = work(self._opened())
        except BaseException as error:
            result.set_exception(error)
        else:
            result.set_result(done)

    def _opened(self) -> ProjectSession:
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
    """Changes when the settings of a project are edited, or its database is replaced."""
    try:
        settings, database = (folder / SETTINGS).stat(), (folder / DATABASE).stat()
    except FileNotFoundError:
        return None
    return settings.st_mtime_ns, settings.st_size, database.st_dev, database.st_ino
