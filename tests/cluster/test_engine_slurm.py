"""A matrix on Slurm: with submitit's local executor, and on a real Slurm if it can be started."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.planned import assert_like_single_runs, matrix_of, only
from tests.support.messages import raises_mentioning
from tests.support.slurm import Slurm, wait_until, why_not
from tiltmeter.cluster.engine_slurm import SUBMITTED, SlurmEngine
from tiltmeter.cluster.job_lock import JobLock
from tiltmeter.cluster.job_table import build_job_row
from tiltmeter.cluster.matrix import run_matrix
from tiltmeter.errors import UsageError
from tiltmeter.text_files import read_json

pytest.importorskip("submitit", reason="submitit is not installed")


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    cluster = Slurm(tmp_path_factory.mktemp("slurm"))
    cluster.start()
    yield cluster
    cluster.stop()


def test_the_local_executor(causal: str, tmp_path: Path) -> None:
    matrix = matrix_of(tmp_path, [causal])
    engine = SlurmEngine(cluster="local", minutes=5)
    assert not engine.continues_after_exit
    result = run_matrix(matrix, engine)
    assert (result.failed, result.complete) == ({}, 2)
    assert not (only(matrix).folder / SUBMITTED).exists()
    assert_like_single_runs(matrix, tmp_path / "single")


def test_jobs_that_are_cancelled_and_requeued(
    causal: str, masked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slurm: Slurm
) -> None:
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    matrix = matrix_of(tmp_path, [causal, masked])
    requeued, cancelled = matrix.models
    held = SlurmEngine(minutes=5, partition="all", more={"hold": ""})
    run_matrix(matrix, held, wait=False)
    number, other = (read_json(entry.folder / SUBMITTED)["id"] for entry in matrix.models)
    assert set(slurm.list_queue()) == {number, other}
    assert build_job_row(requeued).state == "queued"
    with JobLock(requeued.folder, number):  # as an earlier attempt, for which the job waits
        slurm.run("scancel", other)
        slurm.run("scontrol", "release", number)
        wait_until(lambda: slurm.list_queue().get(number) == "RUNNING", "the job did not start")
        slurm.run("scontrol", "requeue", number)
        wait_until(lambda: slurm.list_queue().get(number) != "RUNNING", "the job was not requeued")
    slurm.run("scontrol", "release", number)
    again = SlurmEngine(minutes=5)
    assert again.is_started(requeued)
    assert not again.is_started(cancelled)
    result = run_matrix(matrix, again)
    assert (result.failed, result.complete, result.elsewhere) == ({}, 4, [])
    assert_like_single_runs(matrix, tmp_path / "single")


def test_an_unknown_partition(causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slurm: Slurm) -> None:
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    with raises_mentioning(UsageError, "Slurm", "artition", "--partition"):
        run_matrix(matrix_of(tmp_path, [causal]), SlurmEngine(partition="none"))


def test_a_machine_without_slurm(causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with raises_mentioning(UsageError, "Slurm", "squeue"):
        run_matrix(matrix_of(tmp_path, [causal]), SlurmEngine())
