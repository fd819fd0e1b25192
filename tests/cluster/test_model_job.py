"""Jobs: same results as single runs, failed cells, killed processes, and no repeated questions."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import transformers as t

from tests.cluster.planned import assert_like_single_runs, matrix_of, only, write_plan
from tests.models.tiny import MASKED, made, saved
from tests.models.tiny_tokenizers import word_piece
from tests.support.messages import assert_mentions
from tests.support.patience import PATIENCE
from tiltmeter.cluster.job_lock import JobLock
from tiltmeter.cluster.job_state import read_state
from tiltmeter.cluster.job_stores import ANSWERS, JobAnswers
from tiltmeter.cluster.model_job import run_job, write_job
from tiltmeter.cluster.plan_cells import ModelCells, make_matrix
from tiltmeter.cluster.plan_file import read_plan
from tiltmeter.models.checkpoint_model import CheckpointModel
from tiltmeter.questions import Answer
from tiltmeter.runs.evaluate import evaluate


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Collect the questions whose answers a job stores."""
    stored: list[bytes] = []
    own = JobAnswers.put

    def put(self: JobAnswers, fingerprint: str, answers: Mapping[bytes, Answer]) -> None:
        own(self, fingerprint, answers)
        stored.extend(answers)

    monkeypatch.setattr(JobAnswers, "put", put)
    return stored


def done(entry: ModelCells) -> dict[str, str]:
    """Run a job, and return the reasons of failed cells."""
    write_job(entry)
    return run_job(entry.folder)["failed"]


def test_cells_have_the_bytes_of_single_runs(
    masked: str, causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[str] = []
    own = CheckpointModel._load_module
    monkeypatch.setattr(CheckpointModel, "_load_module", lambda self, kind: loads.append(kind) or own(self, kind))
    matrix = matrix_of(tmp_path, [masked, causal], ["starter", "starter-pairs"])
    for entry in matrix.models:
        assert done(entry) == {}
    assert len(loads) == len(set(loads)) == 2  # once for all four cells
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "other"))
    assert_like_single_runs(matrix, tmp_path / "single")


def test_both_heads_of_a_model_are_loaded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = made(lambda: t.BertForPreTraining(MASKED["bert"]().config))
    entry = only(matrix_of(tmp_path, [saved(tmp_path / "both", model, word_piece())]))
    loads: list[str] = []
    own = CheckpointModel._load_module
    monkeypatch.setattr(CheckpointModel, "_load_module", lambda self, kind: loads.append(kind) or own(self, kind))
    assert done(entry) == {}
    assert loads == ["masked", "next-sentence"]


def test_finished_cells_are_kept_and_cells_with_other_settings_are_replaced(causal: str, tmp_path: Path) -> None:
    entry = only(matrix_of(tmp_path, [causal]))
    assert len(entry.unfinished_cells) == 2
    assert done(entry) == {}
    assert entry.unfinished_cells == []
    before = (entry.folder / entry.cells[0].folder / "manifest.json").stat().st_mtime_ns
    assert done(entry) == {}
    assert (entry.folder / entry.cells[0].folder / "manifest.json").stat().st_mtime_ns == before
    changed = only(make_matrix(read_plan(write_plan(tmp_path, [causal], limit=4)), tmp_path / "out"))
    assert len(changed.unfinished_cells) == 2
    assert done(changed) == {}
    assert changed.unfinished_cells == []
    (changed.folder / changed.cells[1].folder / "scores.parquet").unlink()
    assert changed.unfinished_cells == [changed.cells[1]]


def test_a_failed_cell_does_not_affect_others_and_is_retried(causal: str, tmp_path: Path) -> None:
    entry = only(matrix_of(tmp_path, [causal]))
    cell = entry.cells[0]
    # A file instead of the cell's folder, so its run cannot be written.
    entry.folder.mkdir(parents=True)
    (entry.folder / cell.folder).write_text("in the way")
    failed = done(entry)
    assert list(failed) == [cell.folder]
    assert_mentions(failed[cell.folder], str(entry.folder / cell.folder))
    state = read_state(entry.folder)
    assert (state["state"], state["finished"], state["failed"]) == ("failed", 1, failed)
    assert not (entry.folder / "lock").exists()
    (entry.folder / cell.folder).unlink()
    assert done(entry) == {}
    assert entry.unfinished_cells == []


def test_a_model_that_cannot_be_opened_fails_its_cells(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    entry = only(matrix_of(tmp_path, [str(tmp_path / "empty")]))
    failed = done(entry)
    assert list(failed) == [cell.folder for cell in entry.cells]
    assert len(set(failed.values())) == 1


def test_an_unexpected_error_becomes_a_reason(causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = only(matrix_of(tmp_path, [causal]))
    monkeypatch.setattr("tiltmeter.cluster.cell_run.assemble_result", lambda *_given: 1 / 0)
    failed = done(entry)
    assert failed == {cell.folder: failed[cell.folder] for cell in entry.cells}
    assert_mentions(failed[entry.cells[0].folder], "ZeroDivisionError: division by zero", "log.txt")


def test_a_full_disk_costs_the_batch_in_flight(
    causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[bytes]
) -> None:
    entry = only(matrix_of(tmp_path, [causal]))
    own = JobAnswers._write_answers

    def full(self: JobAnswers, fingerprint: str, answers: Mapping[bytes, Answer]) -> None:
        if len(asked) > 20:
            # SQLite raises the error of a full disk when the file reaches its largest size.
            pages = self._db.execute("PRAGMA page_count").fetchone()[0]
            self._db.execute(f"PRAGMA max_page_count = {pages}")
            answers = {index.to_bytes(16): answer for index, answer in enumerate([*answers.values()] * 200)}
        own(self, fingerprint, answers)

    monkeypatch.setattr(JobAnswers, "_write_answers", full)
    failed = done(entry)
    assert list(failed) == [cell.folder for cell in entry.cells]
    assert "full" in failed[entry.cells[0].folder]
    kept = set(asked)
    monkeypatch.setattr(JobAnswers, "_write_answers", own)
    asked.clear()
    assert done(entry) == {}
    assert not kept & set(asked)


def test_answers_in_the_cache_are_reused(causal: str, tmp_path: Path, asked: list[bytes]) -> None:
    entry = only(matrix_of(tmp_path, [causal]))
    evaluate(causal, entry.cells[0].on, limit=6, out=tmp_path / "single")
    write_job(entry)
    copied: set[bytes] = set()
    state = {}
    for caller in ("this machine", "another"):
        values = json.loads((entry.folder / "job.json").read_text())
        if caller == "another":
            values["caller"] = "another"
            (entry.folder / "job.json").write_text(json.dumps(values))
            shutil.rmtree(entry.folder / entry.cells[0].folder)
        assert run_job(entry.folder)["failed"] == {}
        # On the caller's machine, a job merges its own store into the cache, because the caller may have been killed.
        assert (entry.folder / ANSWERS).exists() == (caller == "another")
        state = read_state(entry.folder)
        first = state["timings"][0]
        assert first["questions"] == first["stored"] > 0, caller
        assert first["asked"] == 0
        copied |= set(asked)
    assert copied


def test_a_running_job_is_not_started_twice(causal: str, tmp_path: Path) -> None:
    entry = only(matrix_of(tmp_path, [causal]))
    write_job(entry)
    with JobLock(entry.folder):
        outcome = run_job(entry.folder)
    assert outcome["state"] == "busy"
    assert_mentions(outcome["failed"][""], str(entry.folder), "already running")
    assert entry.unfinished_cells == list(entry.cells)


def test_a_missing_job_file_is_a_reason(causal: str, tmp_path: Path) -> None:
    entry = only(matrix_of(tmp_path, [causal]))
    assert_mentions(run_job(entry.folder)["failed"][""], "job.json")


def test_only_the_job_completes_an_interrupted_save(causal: str, tmp_path: Path) -> None:
    """Other commands, such as --status, may look at the folders at the same time."""
    entry = only(matrix_of(tmp_path, [causal]))
    assert done(entry) == {}
    folder = entry.folder / entry.cells[0].folder
    saved = folder / ".saved"
    saved.mkdir()
    for name in ("manifest.json", "measures.json", "scores.parquet", "items.parquet"):
        (folder / name).rename(saved / name)
    assert entry.unfinished_cells == [entry.cells[0]]
    assert saved.is_dir()
    assert done(entry) == {}
    assert entry.unfinished_cells == []
    assert not saved.exists()
    assert read_state(entry.folder)["timings"] == []  # no cell was measured again


KILLED = """
import os, signal, sys
from pathlib import Path
from tiltmeter.cluster.job_stores import JobAnswers
from tiltmeter.cluster.model_job import run_job
own, left = JobAnswers.put, [int(sys.argv[2])]
def put(self, fingerprint, answers):
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    own(self, fingerprint, answers)
JobAnswers.put = put
run_job(Path(sys.argv[1]))
"""


@pytest.mark.skipif(os.name != "posix", reason="this system has no SIGKILL")
def test_a_killed_job_continues_without_repeating_questions(
    masked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[bytes]
) -> None:
    matrix = matrix_of(tmp_path, [masked])
    entry = only(matrix)
    write_job(entry)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(entry.folder), "2"], check=False, timeout=PATIENCE)
    assert killed.returncode == -signal.SIGKILL
    assert read_state(entry.folder)["state"] == "lost"
    with sqlite3.connect(entry.folder / ANSWERS) as store:
        stored = {bytes(digest) for (digest,) in store.execute("SELECT question FROM answers")}
    store.close()
    assert stored
    assert run_job(entry.folder)["failed"] == {}
    assert not stored & set(asked)
    assert len(asked) == len(set(asked))
    assert_like_single_runs(matrix, tmp_path / "single")
