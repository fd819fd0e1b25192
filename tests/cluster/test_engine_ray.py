"""A matrix on a small real Ray cluster: killed workers, resources, and a folder that a node does not see."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.planned import assert_like_single_runs, matrix_of, only, write_plan
from tiltmeter.cluster import engine_ray
from tiltmeter.cluster.engine_ray import RayEngine
from tiltmeter.cluster.matrix import run_matrix
from tiltmeter.cluster.plan_cells import make_matrix
from tiltmeter.cluster.plan_file import read_plan
from tiltmeter.errors import UsageError

ray = pytest.importorskip("ray", reason="ray is not installed")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="this system has no SIGKILL")


@pytest.fixture(scope="module", autouse=True)
def _cluster() -> Iterator[None]:
    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


def test_a_killed_worker_costs_the_batch_in_flight(
    masked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = matrix_of(tmp_path, [masked])
    entry, own = only(matrix), engine_ray._run_job
    cache = os.environ["TILTMETER_CACHE"]

    def killed_once(folder: str, probe: str, retries: int) -> Any:
        """The job, in a worker that is killed before its third batch is stored; the questions go to a file."""
        import signal

        from tiltmeter.cluster.job_stores import JobAnswers

        os.environ["TILTMETER_CACHE"] = cache
        asked, put, stored = Path(folder) / "asked", JobAnswers.put, []

        def put_and_tell(self: Any, fingerprint: str, answers: Any) -> None:
            if len(stored) == 2 and not asked.exists():
                asked.write_bytes(b"".join(stored))
                os.kill(os.getpid(), signal.SIGKILL)
            put(self, fingerprint, answers)
            stored.append(b"".join(answers))

        JobAnswers.put = put_and_tell  # type: ignore[method-assign]
        outcome = own(folder, probe, retries)
        asked.write_bytes(asked.read_bytes() + b"".join(stored))
        return outcome

    monkeypatch.setattr(engine_ray, "_run_job", killed_once)
    result = run_matrix(matrix, RayEngine(None))
    assert (result.failed, result.complete) == ({}, 2)
    asked = (entry.folder / "asked").read_bytes()
    digests = [asked[start : start + 16] for start in range(0, len(asked), 16)]
    assert len(digests) == len(set(digests)) > 10
    assert ray.is_initialized()  # a cluster that was there is left alone
    assert not list((tmp_path / "out").glob(".probe*"))
    assert_like_single_runs(matrix, tmp_path / "single")


def test_a_folder_that_a_node_does_not_see(tmp_path: Path) -> None:
    outcome = engine_ray._run_job(str(tmp_path), str(tmp_path / "probe"), 1)
    assert "put --out on a file system that all nodes share" in outcome["failed"][""]


def test_an_address_where_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(UsageError, match=r"The Ray cluster 127.0.0.1:1 cannot be used .*refused.*check --address"):
        RayEngine("127.0.0.1:1")


def test_a_cluster_that_is_lost_is_told(causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray itself would end this process without a word."""
    engine = RayEngine(None)
    assert engine._head is not None
    monkeypatch.setattr(engine, "_head", "127.0.0.1:1")
    monkeypatch.setattr(engine, "_last_contact", -100.0)
    engine._tasks = {object(): only(matrix_of(tmp_path, [causal]))}
    with pytest.raises(UsageError, match=r"The Ray cluster was lost .*refused.*goes on from what is stored"):
        list(engine.ended())
    engine.stop()


def test_a_job_whose_worker_is_killed_again_and_again(tmp_path: Path) -> None:
    """Ray starts a task again without end whose worker exhausts the memory of its node."""
    (tmp_path / "probe").touch()
    (tmp_path / "state.json").write_text('{"call": "probe", "attempt": 3}')
    outcome = engine_ray._run_job(str(tmp_path), str(tmp_path / "probe"), 2)
    assert "Its worker was killed 3 times" in outcome["failed"][""]
    outcome = engine_ray._run_job(str(tmp_path), str(tmp_path / "probe"), 3)
    assert "job.json cannot be read" in outcome["failed"][""]  # it was begun


def test_a_job_that_no_node_is_large_enough_for(causal: str, tmp_path: Path) -> None:
    plan = write_plan(tmp_path, [causal])
    plan.write_text(plan.read_text() + "gpus = 2\ncpus = 1\n")
    engine = RayEngine(None)
    with pytest.raises(UsageError, match="needs 1 CPU, 2 GPU, and no node of the Ray cluster has that much"):
        run_matrix(make_matrix(read_plan(plan), tmp_path / "out"), engine)
