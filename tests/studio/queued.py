"""Helpers for tests of the queue: a server that pauses, and waiting for processes."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.models.chat_served import ChatServer, chat_serving
from tests.runs.chosen import association_file
from tests.support.patience import PATIENCE
from tiltmeter.studio.job_queue import JobQueue
from tiltmeter.studio.run_request import RunRequest
from tiltmeter.studio.studio_workspace import StudioWorkspace

ITEMS = 5
# Messages about one item of three options: two wordings in three orders.
MESSAGES = 6 * ITEMS


class PausingServer(ChatServer):
    """Answers A to a number of messages, then waits until `resume` is set."""

    def __init__(self, answers: int) -> None:
        super().__init__(self._policy)
        self._left = threading.Semaphore(answers)
        self.resume = threading.Event()

    def _policy(self, _prompt: str, _sample: int = 0) -> str:
        if not self._left.acquire(blocking=False):
            self.resume.wait()
        return "A"


@contextmanager
def pausing(answers: int = 10) -> Iterator[tuple[PausingServer, str]]:
    """Run a server, and provide it with the name of its model."""
    server = PausingServer(answers)
    with chat_serving(server) as name:
        try:
            yield server, name
        finally:
            server.resume.set()


def workspace_with_items(folder: Path) -> StudioWorkspace:
    """Create a workspace with a file of five items, `association-5.en.jsonl`."""
    folder.mkdir(exist_ok=True)
    association_file(folder, ITEMS)
    return StudioWorkspace(folder)


def wanted(name: str, model: str, **more: Any) -> RunRequest:
    return RunRequest(name=name, models=(model,), on=("association-5.en.jsonl",), **more)


def until(happened: Callable[[], bool], event: str = "The expected event", patience: float = PATIENCE) -> None:
    """Wait until an event has happened in another process; fail after a while."""
    never, start = threading.Event(), time.monotonic()
    while not happened():
        if time.monotonic() - start > patience:
            pytest.fail(f"{event} has not happened in {patience:.0f} seconds.")
        never.wait(0.02)


def ended(queue: JobQueue, job_id: str) -> None:
    """Run the queue until a job has ended."""

    def happened() -> bool:
        queue.start_due_jobs()
        return not queue.get_job(job_id).is_active

    until(happened, f"The end of the job {job_id}")
