"""Read the state of jobs; each job of the studio is a folder with these files:

request.json    the requested run
queued          exists while the job waits in the queue, and contains the time when the job was queued
lock            names the process of the job; the process holds the lock until it ends (`cluster.job_lock`)
stop            exists if the process should stop
progress.json   the progress of the process
outcome.json    how the job ended
log.txt         the output of the process

The state of a job depends only on these files, so the state is the same after a restart of the studio.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tiltmeter.cluster.job_lock import is_held
from tiltmeter.errors import DataError
from tiltmeter.studio.run_request import RunRequest

REQUEST, QUEUED, STOP = "request.json", "queued", "stop"
PROGRESS, OUTCOME = "progress.json", "outcome.json"

# `interrupted`: the process ended without writing an outcome, for example after kill -9 or a power cut. `damaged`: the
# file with the request cannot be read.
JobState = Literal["queued", "running", "stopping", "finished", "stopped", "failed", "interrupted", "damaged"]
ACTIVE: tuple[JobState, ...] = ("queued", "running", "stopping")
# A job in one of these states can be continued.
RESUMABLE: tuple[JobState, ...] = ("stopped", "failed", "interrupted")


@dataclass(frozen=True, slots=True)
class Job:
    """A job; `queued` is the time when the job was last queued, and `sentence` describes how the job ended."""

    id: str
    request: RunRequest
    state: JobState
    queued: str = ""
    sentence: str = ""
    progress: dict[str, Any] = field(default_factory=dict)

    @property
    def is_active(self) -> bool:
        """Return whether the job is waiting, running or stopping."""
        return self.state in ACTIVE

    @property
    def is_resumable(self) -> bool:
        """Return whether the job can be continued."""
        return self.state in RESUMABLE


def read_job(folder: Path) -> Job:
    """Return the job in a folder, with its state."""
    try:
        request = RunRequest.from_dict(read_json(folder / REQUEST))
    except DataError:
        sentence = f"{folder / REQUEST} cannot be read; repair the file, or remove the job."
        return Job(folder.name, RunRequest(name=folder.name, models=(), on=()), "damaged", "", sentence)
    queued = _read_text(folder / QUEUED)
    outcome, progress = read_json(folder / OUTCOME), read_json(folder / PROGRESS)
    # The job may start or end between these checks. In this order, no running or ended job seems to be interrupted: at
    # its start, a process takes the lock before it removes the file `queued`; at its end, it writes the outcome before
    # it releases the lock.
    if queued is None and outcome.get("state") in ("finished", "stopped", "failed"):
        return Job(folder.name, request, outcome["state"], "", str(outcome.get("sentence", "")), progress)
    if is_held(folder):
        state: JobState = "stopping" if (folder / STOP).exists() else "running"
        return Job(folder.name, request, state, queued or "", progress=progress)
    if (folder / QUEUED).exists():
        return Job(folder.name, request, "queued", queued or "")
    # If the job changed while its files were read, read all files again.
    if queued is not None or read_json(folder / OUTCOME) != outcome:
        return read_job(folder)
    sentence = "The process of the run was killed. The stored answers are kept."
    return Job(folder.name, request, "interrupted", "", sentence, progress)


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file as a dictionary; it is empty if the file is missing or damaged."""
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
