"""The folder of a job: a run that was asked for in the studio.

request.json    what was asked for
queued          it waits for its turn, since the time that is written here
lock            held by the job's process as long as it lives
stop            the process is asked to stop
progress.json   how far the process is
outcome.json    how it ended
log.txt         what the process wrote to the terminal

The state follows from these files alone, so a studio that starts again finds its jobs as they are. The system releases
the lock of a process that ends in any way, so no process identifier has to be trusted.
"""

import json
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout

from tiltmeter.errors import DataError
from tiltmeter.studio.run_request import RunRequest

_ASKING = threading.Lock()
_MOMENT = 0.05

REQUEST, QUEUED, LOCK, STOP = "request.json", "queued", "lock", "stop"
PROGRESS, OUTCOME, LOG = "progress.json", "outcome.json", "log.txt"

# `interrupted`: its process ended without saying how, as after kill -9 or a power cut. `damaged`: its request cannot be
# read, so nobody knows what was asked for.
JobState = Literal["queued", "running", "stopping", "finished", "stopped", "failed", "interrupted", "damaged"]
ACTIVE: tuple[JobState, ...] = ("queued", "running", "stopping")
# States from which a job can go on, where it stopped: answers are stored.
RESUMABLE: tuple[JobState, ...] = ("stopped", "failed", "interrupted")


@dataclass(frozen=True, slots=True)
class Job:
    """A job as its folder says: `queued` is when it was queued last, `sentence` how it ended."""

    id: str
    request: RunRequest
    state: JobState
    queued: str = ""
    sentence: str = ""
    progress: dict[str, Any] = field(default_factory=dict)

    @property
    def active(self) -> bool:
        """Whether it runs or waits."""
        return self.state in ACTIVE

    @property
    def resumable(self) -> bool:
        """Whether it can go on."""
        return self.state in RESUMABLE


def create_job_lock(folder: Path, *, timeout: float = 0) -> FileLock:
    """The lock of a job's process."""
    return FileLock(folder / LOCK, timeout=timeout)


def is_locked(folder: Path) -> bool:
    """Whether the job's process lives. Several may ask at once: none of them takes the other for the process."""
    if not (folder / LOCK).exists():
        return False
    # Who asks holds the lock for a moment; another process that asks just then waits for longer than that.
    with _ASKING, suppress(Timeout), create_job_lock(folder).acquire(timeout=_MOMENT, poll_interval=_MOMENT / 5):
        return False
    return True


def read_job(folder: Path) -> Job:
    """The job in a folder."""
    try:
        request = RunRequest.from_dict(read_json(folder / REQUEST))
    except DataError:
        sentence = f"The file {REQUEST} of this job cannot be read; look at it in {folder}, or remove the job."
        return Job(folder.name, RunRequest(name=folder.name, models=(), on=()), "damaged", "", sentence)
    queued = _read_text(folder / QUEUED)
    outcome, progress = read_json(folder / OUTCOME), read_json(folder / PROGRESS)
    # In this order: a process takes the lock, then removes `queued`; at its end it writes the outcome, then lets go.
    if queued is None and outcome.get("state") in ("finished", "stopped", "failed"):
        return Job(folder.name, request, outcome["state"], "", str(outcome.get("sentence", "")), progress)
    if is_locked(folder):
        state: JobState = "stopping" if (folder / STOP).exists() else "running"
        return Job(folder.name, request, state, queued or "", progress=progress)
    if (folder / QUEUED).exists():
        return Job(folder.name, request, "queued", queued or "")
    if queued is not None or read_json(folder / OUTCOME) != outcome:
        return read_job(folder)  # it changed while it was read
    sentence = "Its process was ended by force. Answers so far are kept."
    return Job(folder.name, request, "interrupted", "", sentence, progress)


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty if it is missing or broken."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def _read_text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None
