"""The queue of runs with real processes that end in all ways."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.studio.queued import MESSAGES, ended, pausing, until, wanted, workspace_with_items
from tests.support.messages import raises_mentioning
from tiltmeter.cluster.job_lock import JobLock, is_held, read_holder
from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.errors import UsageError
from tiltmeter.models.reply_store import ReplyStore
from tiltmeter.progress.progress_file import ProgressFile
from tiltmeter.runs.result import Result
from tiltmeter.studio.job_files import (
    OUTCOME,
    PROGRESS,
    QUEUED,
    REQUEST,
    STOP,
    Job,
    read_json,
)
from tiltmeter.studio.job_queue import JobQueue


def stored_replies() -> int:
    with ReplyStore(get_cache_folder() / "replies.sqlite") as store:
        (count,) = store._db.execute("SELECT count(*) FROM replies").fetchone()
    return int(count)


def holder(folder: Path) -> int:
    """Return the process that holds a job's lock."""
    found = read_holder(folder)
    assert found is not None
    return int(found.values["pid"])


@pytest.mark.slow
def test_a_run_is_stopped_killed_continued_and_finished(tmp_path: Path) -> None:
    """Only replies that were not stored are requested again."""
    workspace = workspace_with_items(tmp_path / "work")
    with pausing() as (server, model):
        queue = JobQueue(workspace)
        job = queue.add_job(wanted("mine", model))
        other = queue.add_job(wanted("other", model, limit=1))
        assert [queue.get_job(j.id).state for j in (job, other)] == ["queued", "queued"]
        assert queue.list_busy_folders() == {workspace.folder / "runs" / "mine", workspace.folder / "runs" / "other"}
        queue.start_due_jobs()
        folder = queue.folder / job.id
        until(lambda: read_json(folder / PROGRESS).get("answered", 0) >= 10)
        # One at a time: the second waits.
        queue.start_due_jobs()
        assert [queue.get_job(j.id).state for j in (job, other)] == ["running", "queued"]
        with raises_mentioning(UsageError, "'mine'", "stop the run"):
            queue.remove_job(job.id)
        # Another studio on the workspace sees the same.
        assert [j.state for j in JobQueue(workspace).list_jobs()] == ["running", "queued"]

        os.kill(holder(folder), signal.SIGKILL)
        until(lambda: not is_held(folder))
        assert queue.get_job(job.id).state == "interrupted"
        answered = stored_replies()
        assert answered == 10
        assert len(server.answered) > answered  # some were on their way

        # A studio that starts again goes on with the queue, and the killed run can be taken up.
        queue = JobQueue(workspace)
        queue.stop_job(other.id)
        assert queue.get_job(other.id).state == "stopped"
        queue.resume_job(job.id)
        server.answered.clear()
        queue.start_due_jobs()
        until(lambda: len(server.answered) > 0)
        queue.stop_job(job.id)
        assert queue.get_job(job.id).state in ("stopping", "stopped")
        server.resume.set()
        ended(queue, job.id)
        stopped = queue.get_job(job.id)
        assert stopped.state in ("stopped", "finished")
        if stopped.state == "stopped":
            assert not (workspace.folder / "runs" / "mine" / "manifest.json").exists()
            queue.resume_job(job.id)
        server.answered.clear()
        before = stored_replies()
        assert before >= answered
        ended(queue, job.id)
        assert queue.get_job(job.id).state == "finished", queue.get_job(job.id).sentence
        # Replies of the killed call that were not confirmed are asked again, at most 16 of them.
        assert len(server.answered) <= MESSAGES - before + min(16, before)
    result = Result.load(workspace.folder / "runs" / "mine")
    assert len(set(result.scores["item"])) == 5
    with raises_mentioning(UsageError, "can be continued"):
        queue.resume_job(job.id)
    queue.remove_job(job.id)
    assert [j.id for j in queue.list_jobs()] == [other.id]
    assert (workspace.folder / "runs" / "mine").is_dir()


@pytest.mark.slow
def test_the_reason_of_a_failed_run(tmp_path: Path) -> None:
    """The next run starts afterwards."""
    workspace = workspace_with_items(tmp_path)
    # Modules in the workspace are not imported.
    (tmp_path / "json.py").write_text("raise SystemExit(3)")
    queue = JobQueue(workspace)
    job = queue.add_job(wanted("mine", "embedded"))
    (tmp_path / "association-5.en.jsonl").unlink()
    ended(queue, job.id)
    failed = queue.get_job(job.id)
    assert (failed.state, failed.is_resumable) == ("failed", True)
    assert "association-5.en.jsonl" in failed.sentence


def test_a_process_that_cannot_start_is_not_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = JobQueue(workspace_with_items(tmp_path))
    job = queue.add_job(wanted("mine", "embedded"))
    started: list[object] = []
    popen = subprocess.Popen

    def broken(command: list[str], **options: object) -> object:
        started.append(command)
        return popen([sys.executable, "-c", "raise SystemExit('no memory')"], **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", broken)
    ended(queue, job.id)
    queue.start_due_jobs()
    assert queue.get_job(job.id).state == "failed"
    assert "no memory" in queue.get_job(job.id).sentence
    assert len(started) == 1


def test_states_follow_from_the_files(tmp_path: Path) -> None:
    queue = JobQueue(workspace_with_items(tmp_path))
    job = queue.add_job(wanted("mine", "embedded"))
    folder = queue.folder / job.id
    assert read_json(folder / REQUEST)["models"] == ["embedded"]
    with JobLock(folder):
        assert queue.get_job(job.id).state == "running"
        (folder / QUEUED).unlink()
        (folder / STOP).touch()
        assert queue.get_job(job.id).state == "stopping"
    assert queue.get_job(job.id).state == "interrupted"
    (folder / OUTCOME).write_text(json.dumps({"state": "failed", "sentence": "So it is."}))
    assert (queue.get_job(job.id).state, queue.get_job(job.id).sentence) == ("failed", "So it is.")
    queue.resume_job(job.id)
    assert queue.get_job(job.id).state == "queued"
    assert not (folder / STOP).exists()
    queue.stop_job(job.id)
    assert queue.get_job(job.id).state == "stopped"


def test_jobs_start_in_order_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = JobQueue(workspace_with_items(tmp_path), at_once=2)
    jobs = [queue.add_job(wanted(name, "embedded")) for name in ("a", "b", "c", "d")]
    queue.stop_job(jobs[0].id)
    queue.resume_job(jobs[0].id)  # to the end of the queue
    started: list[str] = []
    monkeypatch.setattr(JobQueue, "_start_job", lambda self, job: started.append(job.request.name))
    with JobLock(queue.folder / jobs[1].id):
        queue.start_due_jobs()
    assert started == ["c"]
    started.clear()
    queue.start_due_jobs()
    assert started == ["b", "c"]


def test_only_one_studio_starts_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = workspace_with_items(tmp_path)
    tended: list[JobQueue] = []

    def tend(queue: JobQueue) -> None:
        tended.append(queue)

    monkeypatch.setattr(JobQueue, "start_due_jobs", tend)
    one, other = JobQueue(workspace), JobQueue(workspace)
    with one.run_scheduler_thread():
        until(lambda: one in tended)
        with other.run_scheduler_thread():
            job = one.add_job(wanted("mine", "embedded"))
            until(lambda: [shown.id for shown in other.listed] == [job.id])
            assert other not in tended
    with other.run_scheduler_thread():
        until(lambda: other in tended)


def test_the_version_increases_only_with_a_change(tmp_path: Path) -> None:
    queue = JobQueue(workspace_with_items(tmp_path))
    job = queue.add_job(wanted("mine", "embedded"))
    version = queue.version
    queue.reload_jobs()
    assert queue.version == version
    queue.stop_job(job.id)
    assert queue.version == version + 1


@pytest.mark.parametrize("name", ["", "..", "20260101-000000000000-abcdef", "../../x", "a/b"])
def test_an_unknown_job(tmp_path: Path, name: str) -> None:
    queue = JobQueue(workspace_with_items(tmp_path))
    for action in (queue.get_job, queue.stop_job, queue.resume_job, queue.remove_job):
        with raises_mentioning(UsageError, "does not exist"):
            action(name)


def test_a_name_can_be_queued_once(tmp_path: Path) -> None:
    queue = JobQueue(workspace_with_items(tmp_path))
    queue.add_job(wanted("mine", "embedded"))
    with raises_mentioning(UsageError, "already in the queue"):
        queue.add_job(wanted("mine", "embedded"))


def test_progress_that_cannot_be_written_does_not_end_a_run(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("")
    progress = ProgressFile(tmp_path / "folder" / PROGRESS)
    with progress.write_periodically():
        pass
    (tmp_path / "folder").unlink()
    progress.write_if_changed()
    assert read_json(tmp_path / "folder" / PROGRESS)["phase"] == "starting"


def test_a_model_with_two_heads_counts_once(tmp_path: Path) -> None:
    progress = ProgressFile(tmp_path / "progress.json")
    seen = []
    for label in ("bert (masked)", "bert (next-sentence)", "gpt2 (causal)"):
        with progress.watch_progress(label):
            progress.write_if_changed()
            seen.append(read_json(tmp_path / "progress.json")["model"])
    assert seen == [1, 1, 2]


def test_a_job_whose_request_is_damaged_is_shown_and_can_be_removed(tmp_path: Path) -> None:
    queue = JobQueue(workspace_with_items(tmp_path))
    job, other = queue.add_job(wanted("mine", "embedded")), queue.add_job(wanted("other", "embedded"))
    (queue.folder / job.id / REQUEST).write_text('{"models": ')
    queue.reload_jobs()
    assert {shown.id: shown.state for shown in queue.listed} == {other.id: "queued", job.id: "damaged"}
    assert REQUEST in queue.get_job(job.id).sentence
    with raises_mentioning(UsageError, "damaged"):
        queue.resume_job(job.id)
    queue.remove_job(job.id)
    assert [left.id for left in queue.list_jobs()] == [other.id]


def test_the_queue_shows_an_error_and_continues_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk may be full for a while."""
    monkeypatch.setattr("tiltmeter.studio.job_queue._PAUSE", 0.05)
    queue = JobQueue(workspace_with_items(tmp_path))
    started: list[str] = []
    full = True

    def start(job: Job) -> None:
        if full:
            raise OSError(28, "No space left on device")
        started.append(job.id)
        (queue.folder / job.id / QUEUED).unlink()

    monkeypatch.setattr(queue, "_start_job", start)
    with queue.run_scheduler_thread():
        job = queue.add_job(wanted("mine", "embedded"))
        until(lambda: "No space left" in queue.trouble)
        full = False
        until(lambda: started == [job.id] and not queue.trouble)
