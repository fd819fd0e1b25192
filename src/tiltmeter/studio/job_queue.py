"""The queue of jobs; each job makes one run in a separate process, which continues if the studio ends."""

import json
import logging
import re
import secrets
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout

from tiltmeter.cluster.job_runner import JobRunner, describe_exit, start_process
from tiltmeter.errors import UsageError
from tiltmeter.files import create_folder, write_text
from tiltmeter.studio.job_files import OUTCOME, PROGRESS, QUEUED, REQUEST, STOP, Job, read_job
from tiltmeter.studio.run_request import RunRequest, validate_request
from tiltmeter.studio.studio_workspace import StudioWorkspace

logger = logging.getLogger(__name__)

JOBS = "jobs"
_ID = re.compile(r"[0-9]{8}-[0-9]{12}-[0-9a-f]{6}")
# The studio that starts jobs holds this lock; a second studio with the same workspace only shows the jobs.
_QUEUE_LOCK = "queue.lock"
# Seconds between two checks of the job folders.
_POLL_INTERVAL = 0.25
# Seconds from an error until the queue tries again to start jobs.
_PAUSE = 5.0


class _StartedProcess(NamedTuple):
    """A process that was started: the identifier of its job, and the time when the job was queued."""

    id: str
    queued: str


class JobQueue:
    """The jobs of a workspace. At most `at_once` jobs run at the same time; the job that was queued first
    starts first.

    Jobs are started only within the context manager `run_scheduler_thread`.
    """

    def __init__(self, workspace: StudioWorkspace, at_once: int = 1) -> None:
        self.workspace = workspace
        self.folder = workspace.state / JOBS
        self._runner: JobRunner[_StartedProcess] = JobRunner(at_once)
        self._ended: dict[str, tuple[int, Job]] = {}
        self._changing = threading.Lock()
        # The jobs at the last check; the newest job comes first.
        self.listed: tuple[Job, ...] = ()
        # The reason why jobs cannot be started at the moment; empty if jobs can be started.
        self.trouble = ""
        # This number increases whenever the listed jobs or `trouble` change.
        self.version = 0

    def add_job(self, request: RunRequest) -> Job:
        """Check a request for a run, and queue a job for it."""
        with self._changing:
            request = validate_request(request, self.workspace)
            if any(
                job.request.name == request.name and (job.is_active or job.is_resumable) for job in self.list_jobs()
            ):
                raise UsageError(f"A run {request.name!r} is already in the queue; choose another name.")
            now = datetime.now(UTC)
            folder = self.folder / f"{now:%Y%m%d-%H%M%S%f}-{secrets.token_hex(3)}"
            create_folder(folder)
            write_text(folder / REQUEST, json.dumps(request.to_dict(), indent=1, ensure_ascii=False) + "\n")
            write_text(folder / QUEUED, now.isoformat())
        self.reload_jobs()
        return read_job(folder)

    def list_jobs(self) -> list[Job]:
        """Return all jobs in the order in which they were added."""
        folders = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        return [self._read_job(folder) for folder in folders if _is_job(folder)]

    def get_job(self, job_id: str) -> Job:
        """Return the job with this identifier."""
        return read_job(self._get_job_folder(job_id))

    def stop_job(self, job_id: str) -> None:
        """Ask a running job to stop, or remove a waiting job from the queue; stored answers are kept."""
        folder = self._get_job_folder(job_id)
        with self._changing:
            job = read_job(folder)
            if job.state == "queued" and not self._is_starting(job):
                write_text(
                    folder / OUTCOME,
                    json.dumps({"state": "stopped", "sentence": "The job was stopped before it started."}),
                )
                (folder / QUEUED).unlink(missing_ok=True)
            elif job.is_active:
                write_text(folder / STOP, "")
        self.reload_jobs()

    def resume_job(self, job_id: str) -> None:
        """Queue a stopped, failed or interrupted job again; the job reuses stored answers."""
        folder = self._get_job_folder(job_id)
        with self._changing:
            job = read_job(folder)
            if not job.is_resumable:
                raise UsageError(
                    f"{job.request.name!r} is {job.state}; only stopped, failed or interrupted jobs can be continued."
                )
            # The order matters: if the studio crashes between two of these steps, the job is still queued or resumable.
            (folder / STOP).unlink(missing_ok=True)
            write_text(folder / QUEUED, datetime.now(UTC).isoformat())
            (folder / OUTCOME).unlink(missing_ok=True)
        self.reload_jobs()

    def remove_job(self, job_id: str) -> None:
        """Remove a job from the list; the folder of the run and the stored answers are kept."""
        folder = self._get_job_folder(job_id)
        with self._changing:
            job = read_job(folder)
            if (job.state != "queued" and job.is_active) or self._is_starting(job):
                raise UsageError(f"{job.request.name!r} is running; stop the run before you remove it.")
            # A folder without a request is not a job, so the job is removed even if the next step is interrupted.
            (folder / REQUEST).unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
            self._ended.pop(job_id, None)
        self.reload_jobs()

    def list_busy_folders(self) -> set[Path]:
        """Return the run folders that active jobs write or will write."""
        return {self.workspace.get_run_folder(job.request.name) for job in self.list_jobs() if job.is_active}

    def reload_jobs(self) -> None:
        """Read all jobs again, and update `listed` and `version`."""
        jobs = tuple(reversed(self.list_jobs()))
        if jobs != self.listed:
            self.listed = jobs
            self.version += 1

    def start_due_jobs(self) -> None:
        """Start waiting jobs up to the maximum number, and record processes that ended before their job started."""
        with self._changing:
            for started, code in self._runner.remove_ended_jobs():
                self._record_failed_start(started, code)
            jobs = self.list_jobs()
            working = {job.id for job in jobs if job.state in ("running", "stopping")}
            working |= {started.id for started in self._runner.jobs}
            waiting = [job for job in jobs if job.state == "queued" and job.id not in working]
            free = max(0, self._runner.limit - len(working))
            for job in sorted(waiting, key=lambda job: (job.queued, job.id))[:free]:
                self._start_job(job)
        self.reload_jobs()

    @contextmanager
    def run_scheduler_thread(self) -> Iterator[None]:
        """Start jobs in a background thread until the context ends; jobs that are then running continue."""
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
        """Start jobs until `ended` is set; after an error such as a full disk, show the error and try again."""
        wait = _POLL_INTERVAL
        while not ended.wait(wait):
            try:
                self._schedule_exclusively(ended)
                wait = _POLL_INTERVAL
            except Exception as error:
                wait = _PAUSE
                if not self.trouble:
                    logger.exception("The queue cannot start runs; it tries again every %.0f seconds.", _PAUSE)
                self._set_trouble(f"Runs cannot be started at the moment: {error}. The studio keeps trying.")

    def _schedule_exclusively(self, ended: threading.Event) -> None:
        """Start jobs while holding the lock of the queue; if another studio holds the lock, only reload the jobs."""
        try:
            with FileLock(self.folder / _QUEUE_LOCK, timeout=0, thread_local=False):
                while not ended.is_set():
                    self.start_due_jobs()
                    self._set_trouble("")
                    ended.wait(_POLL_INTERVAL)
        except Timeout:
            self.reload_jobs()
            self._set_trouble("")

    def _set_trouble(self, trouble: str) -> None:
        if trouble != self.trouble:
            self.trouble = trouble
            self.version += 1

    def _read_job(self, folder: Path) -> Job:
        """Return the job in a folder; the files of an ended job are read only once."""
        try:
            ended = (folder / OUTCOME).stat().st_mtime_ns if not (folder / QUEUED).exists() else None
        except OSError:
            ended = None
        if ended is not None and (known := self._ended.get(folder.name)) is not None and known[0] == ended:
            return known[1]
        job = read_job(folder)
        if ended is not None and not job.is_active:
            self._ended[folder.name] = (ended, job)
        else:
            self._ended.pop(folder.name, None)
        return job

    def _get_job_folder(self, job_id: str) -> Path:
        folder = self.folder / job_id
        if not _is_job(folder):
            raise UsageError("This job does not exist; it may have been removed from the list.")
        return folder

    def _is_starting(self, job: Job) -> bool:
        """Return whether a process was started for the job; the process may not hold the lock of the job yet."""
        return self._runner.is_running(_StartedProcess(job.id, job.queued))

    def _start_job(self, job: Job) -> None:
        folder = self.folder / job.id
        for name in (OUTCOME, PROGRESS, STOP):
            (folder / name).unlink(missing_ok=True)
        process = start_process("tiltmeter.studio.job_process", folder, directory=self.workspace.folder)
        self._runner.add_job(_StartedProcess(job.id, job.queued), process)

    def _record_failed_start(self, started: _StartedProcess, code: int) -> None:
        """Record that a process ended before its job started; otherwise the queue would restart the job for ever."""
        folder = self.folder / started.id
        if (folder / REQUEST).is_file() and read_job(folder).queued == started.queued:
            sentence = describe_exit(code, folder)
            write_text(folder / OUTCOME, json.dumps({"state": "failed", "sentence": sentence}))
            (folder / QUEUED).unlink(missing_ok=True)


def _is_job(folder: Path) -> bool:
    return bool(_ID.fullmatch(folder.name)) and (folder / REQUEST).is_file()
