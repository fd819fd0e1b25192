"""The queue of runs. Each run is carried out by a process of its own, which outlives the studio."""

import json
import logging
import os
import re
import secrets
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from tiltmeter.errors import UsageError
from tiltmeter.files import create_folder, write_text
from tiltmeter.studio.job_files import LOG, OUTCOME, PROGRESS, QUEUED, REQUEST, STOP, Job, read_job
from tiltmeter.studio.run_request import RunRequest, validate_request
from tiltmeter.studio.studio_workspace import StudioWorkspace

logger = logging.getLogger(__name__)

JOBS = "jobs"
_ID = re.compile(r"[0-9]{8}-[0-9]{12}-[0-9a-f]{6}")
# Held by the studio that starts jobs; a second studio on the same workspace only shows them.
_QUEUE_LOCK = "queue.lock"
# Seconds between two looks at the folders.
_LOOK = 0.25
# Seconds until the queue tries again after something was in the way.
_PAUSE = 5.0


class _StartedProcess(NamedTuple):
    """A process that this studio started, and when its job had been queued."""

    process: "subprocess.Popen[bytes]"
    queued: str


class JobQueue:
    """The jobs of a workspace, first come, first served, `at_once` at a time.

    `running` is the context in which jobs are started; without it, jobs can be looked at, added and stopped.
    """

    def __init__(self, workspace: StudioWorkspace, at_once: int = 1) -> None:
        self.workspace = workspace
        self.folder = workspace.state / JOBS
        self._at_once = at_once
        self._started: dict[str, _StartedProcess] = {}
        self._ended: dict[str, tuple[int, Job]] = {}
        self._changing = threading.Lock()
        self._shown: tuple[Job, ...] = ()
        # Why no job is started at the moment; empty if nothing is in the way.
        self.trouble = ""
        # Grows with every change of what `shown` returns, and of `trouble`.
        self.version = 0

    def add(self, request: RunRequest) -> Job:
        """Check a request and queue it."""
        with self._changing:
            request = validate_request(request, self.workspace)
            if any(job.request.name == request.name and (job.active or job.resumable) for job in self.jobs()):
                raise UsageError(f"A run {request.name!r} is in the queue already; choose another name.")
            now = datetime.now(UTC)
            folder = self.folder / f"{now:%Y%m%d-%H%M%S%f}-{secrets.token_hex(3)}"
            create_folder(folder)
            write_text(folder / REQUEST, json.dumps(request.to_dict(), indent=1, ensure_ascii=False) + "\n")
            write_text(folder / QUEUED, now.isoformat())
        self.reload_jobs()
        return read_job(folder)

    def jobs(self) -> list[Job]:
        """All jobs, in the order in which they were added."""
        folders = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        return [self._read(folder) for folder in folders if _is_job(folder)]

    def job(self, job_id: str) -> Job:
        """The job with this identifier."""
        return read_job(self._folder(job_id))

    def stop(self, job_id: str) -> None:
        """Ask a job to stop, or take it out of the queue; answers so far are kept."""
        folder = self._folder(job_id)
        with self._changing:
            job = read_job(folder)
            if job.state == "queued" and not self._is_starting(job):
                write_text(folder / OUTCOME, json.dumps({"state": "stopped", "sentence": "It had not started."}))
                (folder / QUEUED).unlink(missing_ok=True)
            elif job.active:
                write_text(folder / STOP, "")
        self.reload_jobs()

    def resume(self, job_id: str) -> None:
        """Queue a job again that stopped, failed or was interrupted; it asks only what has no stored answer."""
        folder = self._folder(job_id)
        with self._changing:
            job = read_job(folder)
            if not job.resumable:
                raise UsageError(f"{job.request.name!r} is {job.state}; only a job that stopped can go on.")
            # In this order: a job without `queued` that has no outcome counts as interrupted, and can go on.
            (folder / STOP).unlink(missing_ok=True)
            write_text(folder / QUEUED, datetime.now(UTC).isoformat())
            (folder / OUTCOME).unlink(missing_ok=True)
        self.reload_jobs()

    def remove(self, job_id: str) -> None:
        """Remove a job from the list; the folder of its run stays, and so do stored answers."""
        folder = self._folder(job_id)
        with self._changing:
            job = read_job(folder)
            if (job.state != "queued" and job.active) or self._is_starting(job):
                raise UsageError(f"{job.request.name!r} is running; stop it first.")
            # Without its request a folder is no job, so a removal that is interrupted is complete.
            (folder / REQUEST).unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
            self._ended.pop(job_id, None)
        self.reload_jobs()

    def list_busy_folders(self) -> set[Path]:
        """The folders of runs that are being made or wait for it."""
        return {self.workspace.get_run_folder(job.request.name) for job in self.jobs() if job.active}

    def shown(self) -> tuple[Job, ...]:
        """The jobs as they were at the last look, newest first."""
        return self._shown

    def reload_jobs(self) -> None:
        """Read all jobs again."""
        jobs = tuple(reversed(self.jobs()))
        if jobs != self._shown:
            self._shown = jobs
            self.version += 1

    def start_due_jobs(self) -> None:
        """Start the jobs whose turn it is, and notice processes that ended before they began."""
        with self._changing:
            for job_id, started in list(self._started.items()):
                if started.process.poll() is not None:
                    del self._started[job_id]
                    self._record_failure(self.folder / job_id, started)
            jobs = self.jobs()
            working = {job.id for job in jobs if job.state in ("running", "stopping")} | set(self._started)
            waiting = [job for job in jobs if job.state == "queued" and job.id not in working]
            for job in sorted(waiting, key=lambda job: (job.queued, job.id))[: max(0, self._at_once - len(working))]:
                self._start(job)
        self.reload_jobs()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Start jobs as their turn comes, in a thread, until the context is left; jobs that run go on."""
        create_folder(self.folder)
        ended = threading.Event()
        thread = threading.Thread(target=self._run_scheduler, args=(ended,), name="job queue", daemon=True)
        self.reload_jobs()
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _run_scheduler(self, ended: threading.Event) -> None:
        """Tend to the jobs until told to end; what is in the way, such as a full disk, is said and tried again."""
        wait = _LOOK
        while not ended.wait(wait):
            try:
                self._schedule_exclusively(ended)
                wait = _LOOK
            except Exception as error:
                wait = _PAUSE
                if not self.trouble:
                    logger.exception("The queue of runs waits: it tries again every %.0f seconds.", _PAUSE)
                self._told(f"No run can be started at the moment: {error}. The studio tries again.")

    def _schedule_exclusively(self, ended: threading.Event) -> None:
        """Tend to the jobs as long as all is well; only look at them if another studio tends to them."""
        try:
            with FileLock(self.folder / _QUEUE_LOCK, timeout=0, thread_local=False):
                while not ended.is_set():
                    self.start_due_jobs()
                    self._told("")
                    ended.wait(_LOOK)
        except Timeout:
            self.reload_jobs()
            self._told("")

    def _told(self, trouble: str) -> None:
        if trouble != self.trouble:
            self.trouble = trouble
            self.version += 1

    def _read(self, folder: Path) -> Job:
        """The job in a folder; one that has ended is read once."""
        try:
            ended = (folder / OUTCOME).stat().st_mtime_ns if not (folder / QUEUED).exists() else None
        except OSError:
            ended = None
        if ended is not None and (known := self._ended.get(folder.name)) is not None and known[0] == ended:
            return known[1]
        job = read_job(folder)
        if ended is not None and not job.active:
            self._ended[folder.name] = (ended, job)
        else:
            self._ended.pop(folder.name, None)
        return job

    def _folder(self, job_id: str) -> Path:
        folder = self.folder / job_id
        if not _is_job(folder):
            raise UsageError("There is no such job; it may have been removed.")
        return folder

    def _is_starting(self, job: Job) -> bool:
        """Whether a process was started for it that may not have taken its lock yet."""
        started = self._started.get(job.id)
        return started is not None and started.queued == job.queued and started.process.poll() is None

    def _start(self, job: Job) -> None:
        folder = self.folder / job.id
        for name in (OUTCOME, PROGRESS, STOP):
            (folder / name).unlink(missing_ok=True)
        with (folder / LOG).open("ab") as log:
            process = subprocess.Popen(
                # -P: modules are not looked for in the workspace, which is the current folder.
                [sys.executable, "-P", "-m", "tiltmeter.studio.job_process", str(folder)],
                cwd=self.workspace.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **_build_detached_options(),
            )
        self._started[job.id] = _StartedProcess(process, job.queued)

    def _record_failure(self, folder: Path, started: "_StartedProcess") -> None:
        """Record the failure of a process that ended before it began, so that it is not started again and again."""
        if (folder / REQUEST).is_file() and read_job(folder).queued == started.queued:
            code = started.process.returncode
            lines = (folder / LOG).read_text(encoding="utf-8", errors="replace").strip().splitlines()
            sentence = f"Its process could not start (exit code {code}): {lines[-1] if lines else 'it wrote nothing'}"
            write_text(folder / OUTCOME, json.dumps({"state": "failed", "sentence": sentence}))
            (folder / QUEUED).unlink(missing_ok=True)


def _is_job(folder: Path) -> bool:
    return bool(_ID.fullmatch(folder.name)) and (folder / REQUEST).is_file()


def _build_detached_options() -> dict[str, Any]:
    """The arguments with which a process outlives the one that starts it, and its terminal."""
    if os.name == "nt":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS  # type: ignore[attr-defined]
        return {"creationflags": flags}
    return {"start_new_session": True}
