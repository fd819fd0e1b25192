"""`tiltmeter matrix` on this machine: jobs as processes, status, dry run, prefetch, and exit codes."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cluster.planned import assert_like_single_runs, matrix_of, only, write_plan
from tests.models.chat_served import ChatServer, chat_serving, first
from tests.support.command import command
from tests.support.messages import assert_mentions
from tests.support.patience import PATIENCE
from tiltmeter.cluster.engine_local import LocalEngine
from tiltmeter.cluster.job_engine import build_job_environment
from tiltmeter.cluster.job_lock import JobLock
from tiltmeter.cluster.job_stores import ANSWERS, REPLIES, JobAnswers
from tiltmeter.cluster.matrix import run_matrix
from tiltmeter.cluster.model_job import JobOutcome, run_job, write_job
from tiltmeter.cluster.plan_cells import ModelCells, make_matrix
from tiltmeter.cluster.plan_file import read_plan
from tiltmeter.cluster.prefetch import NOTHING, read_prefetched_files
from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.dataset_loader import load
from tiltmeter.datasets.readers.jsonl import write_jsonl
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.runs.run_timings import load_timings


def test_two_models_one_of_which_fails(
    causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    plan = write_plan(tmp_path, [str(tmp_path / "empty"), causal])
    out = tmp_path / "out"
    words = ("matrix", str(plan), "--out", str(out))
    assert command(monkeypatch, *words, "--dry-run") == 1
    assert_mentions(capsys.readouterr().out, "4 cells", "2 models", "0 of 4 cells", "1 model")
    assert not out.exists()

    assert command(monkeypatch, *words, "--jobs", "2") == 1
    printed, notes = capsys.readouterr()
    assert_mentions(printed, "2 of 4 cells", str(out), "2 failed")
    assert notes.count(f"{tmp_path / 'empty'}, starter.") == 2
    matrix = make_matrix(read_plan(plan), out)
    assert (out / "plan.toml").read_text() == plan.read_text()
    failing, fine = matrix.models
    assert fine.unfinished_cells == []
    assert not (fine.folder / ANSWERS).exists()  # merged
    assert (get_cache_folder() / ANSWERS).is_file()
    assert load_timings()[0].model == causal

    assert command(monkeypatch, *words, "--status") == 0
    assert_mentions(capsys.readouterr().out, "2 of 4 cells", "2 failed", "1 failed, 1 finished")
    assert command(monkeypatch, *words, "--dry-run") == 1
    assert_mentions(capsys.readouterr().out, f"{causal}: 2 of 2", "2 of 4 cells", "not counted yet")
    assert_like_single_runs(make_matrix(read_plan(write_plan(tmp_path, [causal])), out), tmp_path / "single")
    assert failing.unfinished_cells


class _Ending:
    """An engine whose jobs all end with the same outcome or error."""

    continues_after_exit = False

    def __init__(self, outcome: JobOutcome | BaseException) -> None:
        self.outcome = outcome
        self.started: list[str] = []
        self.stopped = 0

    def is_started(self, _entry: ModelCells) -> bool:
        return False

    def start_jobs(self, entries: list[ModelCells]) -> None:
        self.entries = list(entries)
        self.started += [entry.folder.name for entry in entries]

    def take_ended_jobs(self) -> list[tuple[ModelCells, JobOutcome]]:
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return [(entry, self.outcome) for entry in self.entries]

    def stop_jobs(self) -> None:
        self.stopped += 1


def test_the_reasons_of_failed_cells(causal: str, tmp_path: Path) -> None:
    matrix = matrix_of(tmp_path, [causal])
    engine = _Ending({"state": "failed", "failed": {"": "Killed.", "starter.de.published": "Its own reason."}})
    result = run_matrix(matrix, engine)
    assert result.failed == {
        (causal, "starter.en.published"): "Killed.",
        (causal, "starter.de.published"): "Its own reason.",
    }
    assert (result.cells, result.complete, engine.stopped) == (2, 0, 1)
    busy = run_matrix(matrix, _Ending({"state": "busy", "failed": {"": "elsewhere"}}))
    assert (busy.failed, busy.elsewhere) == ({}, [causal])


def test_a_model_with_other_options_does_not_hide_the_first(causal: str, tmp_path: Path) -> None:
    plan = write_plan(tmp_path, [causal, causal])
    plan.write_text(plan.read_text() + 'dtype = "bfloat16"\n')
    result = run_matrix(
        make_matrix(read_plan(plan), tmp_path / "out"), _Ending({"state": "failed", "failed": {"": "Killed."}})
    )
    assert {model for model, _ in result.failed} == {causal, f"{causal} (bfloat16)"}
    assert len(result.failed) == 4


def test_a_job_of_another_command_is_reported(
    causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = write_plan(tmp_path, [causal])
    entry = only(make_matrix(read_plan(plan), tmp_path / "out"))
    entry.folder.mkdir(parents=True)
    with JobLock(entry.folder):
        assert command(monkeypatch, "matrix", str(plan), "--out", str(tmp_path / "out")) == 1  # it is not complete
    printed, notes = capsys.readouterr()
    assert_mentions(notes, causal, "already", "--status")
    assert_mentions(printed, "0 of 2 cells")


def test_a_folder_that_cannot_be_created_does_not_affect_other_models(causal: str, masked: str, tmp_path: Path) -> None:
    matrix = matrix_of(tmp_path, [causal, masked])
    blocked, other = matrix.models
    matrix.out.mkdir()
    blocked.folder.write_text("in the way")
    engine = _Ending({"state": "failed", "failed": {"": "Killed."}})
    result = run_matrix(matrix, engine)
    assert engine.started == [other.folder.name]
    assert len(result.failed) == 4
    assert_mentions(result.failed[causal, "starter.en.published"], str(blocked.folder))


def test_an_interrupted_command_keeps_stored_answers(causal: str, tmp_path: Path) -> None:
    matrix = matrix_of(tmp_path, [causal])
    entry = only(matrix)
    entry.folder.mkdir(parents=True)
    with JobAnswers(entry.folder, same_machine=True) as store:
        store.put("m", {b"q" * 16: np.array([1.0], np.float32)})
    engine = _Ending(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        run_matrix(matrix, engine)
    assert engine.stopped == 1
    with AnswerStore(get_cache_folder() / ANSWERS) as cache:
        assert list(cache.get("m", [b"q" * 16])) == [b"q" * 16]
    assert (entry.folder / ANSWERS).exists()  # its cells are not complete


def test_jobs_of_chat_models(tmp_path: Path) -> None:
    with chat_serving(ChatServer(first)) as name:
        entry = only(matrix_of(tmp_path, [name]))
        write_job(entry)
        assert run_job(entry.folder)["failed"] == {}
    assert entry.unfinished_cells == []
    assert not (entry.folder / REPLIES).exists()  # merged by the job
    assert (get_cache_folder() / REPLIES).is_file()
    assert (entry.folder / entry.cells[0].folder / "answers.parquet").is_file()


def test_prefetched_models_run_without_a_network(
    causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = write_plan(tmp_path, [causal])
    out = tmp_path / "out"
    assert command(monkeypatch, "matrix", str(plan), "--out", str(out), "--prefetch") == 0
    assert_mentions(capsys.readouterr().out, "network")
    entry = only(make_matrix(read_plan(plan), out))
    assert build_job_environment(entry, read_prefetched_files(out))["HF_HUB_OFFLINE"] == "1"
    assert build_job_environment(entry, NOTHING) == {}
    grown = only(make_matrix(read_plan(write_plan(tmp_path, [causal], ["starter", "starter-pairs"])), out))
    assert build_job_environment(grown, read_prefetched_files(out)) == {}  # the new data may not be downloaded
    bad = write_plan(tmp_path, [causal, str(tmp_path)])
    assert command(monkeypatch, "matrix", str(bad), "--out", str(out), "--prefetch") == 1
    assert_mentions(capsys.readouterr().err, f"{tmp_path}: ")
    assert read_prefetched_files(out).models == {causal}
    (out / "prefetched.json").write_text("[1]")
    assert command(monkeypatch, "matrix", str(plan), "--out", str(out)) == 2
    assert_mentions(capsys.readouterr().err, "prefetched.json", "--prefetch")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("--engine", "spark"), ("--engine spark",)),
        (("--address", "auto"), ("--address", "--engine ray")),
        (("--time", "10"), ("--time", "--engine slurm")),
        (("--engine", "slurm", "--time", "soon"), ("--time soon",)),
        (("--engine", "slurm", "--slurm", "account"), ("--slurm account", "KEY=VALUE")),
        (("--engine", "ray", "--jobs", "3"), ("ray", "--jobs")),
        (("--dry-run", "--status"), ("--dry-run", "--status", "--prefetch")),
    ],
)
def test_invalid_combinations_of_options(
    words: tuple[str, ...],
    parts: tuple[str, ...],
    causal: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan = write_plan(tmp_path, [causal])
    assert command(monkeypatch, "matrix", str(plan), "--out", str(tmp_path / "out"), *words) == 2
    assert_mentions(capsys.readouterr().err, *parts)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("engine", "package"), [("ray", "ray"), ("slurm", "submitit")])
def test_a_missing_package(
    engine: str,
    package: str,
    causal: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    plan = write_plan(tmp_path, [causal])
    assert command(monkeypatch, "matrix", str(plan), "--out", str(tmp_path / "out"), "--engine", engine) == 2
    assert_mentions(capsys.readouterr().err, f"pip install 'tiltmeter[{engine}]'")


def test_a_cell_is_measured_again_if_its_model_or_items_have_changed(causal: str, tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(causal, model)
    items = tmp_path / "items.jsonl"
    write_jsonl(load("starter", "intrasentence", "en")[:2], items)
    matrix = make_matrix(read_plan(write_plan(tmp_path, [str(model)], [str(items)])), tmp_path / "out")
    entry = only(matrix)
    write_job(entry)
    assert run_job(entry.folder)["state"] == "finished"
    assert not entry.unfinished_cells
    weights = next(path for path in model.iterdir() if path.suffix in (".safetensors", ".bin"))
    for changed in (weights, items):
        then = changed.stat()
        changed.write_bytes(changed.read_bytes())
        os.utime(changed, ns=(then.st_atime_ns, then.st_mtime_ns))  # as `cp -p` and `rsync -t` do
        assert entry.unfinished_cells == list(entry.cells), changed
        assert run_job(entry.folder)["state"] == "finished"
        assert not entry.unfinished_cells


def test_a_job_imports_nothing_from_the_current_folder(causal: str, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('This should not run.')")
    entry = only(matrix_of(tmp_path, [causal]))
    write_job(entry)
    (entry.folder / "job.json").write_text("[]")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        engine = LocalEngine(1)
        engine.start_jobs([entry])
        ((_, process),) = engine._runner._processes
        process.wait(PATIENCE)
        ((_, outcome),) = engine.take_ended_jobs()
    assert_mentions(outcome["failed"][""], "list indices")
    assert "This should not run" not in (entry.folder / "log.txt").read_text()
