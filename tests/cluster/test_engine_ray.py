"""A matrix on a small real Ray cluster: killed workers, resources, and an inaccessible folder."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.planned import assert_like_single_runs, matrix_of, only, write_plan
from tests.support.messages import assert_mentions, raises_mentioning
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
        """Run the job in a worker that is killed before it stores its third batch; write the questions to a file."""
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
    assert ray.is_initialized()  # an existing cluster is not shut down
    assert not list((tmp_path / "out").glob(".probe*"))
    assert_like_single_runs(matrix, tmp_path / "single")


def test_a_folder_that_a_node_cannot_access(tmp_path: Path) -> None:
    outcome = engine_ray._run_job(str(tmp_path), str(tmp_path / "probe"), 1)
    assert_mentions(outcome["failed"][""], str(tmp_path), "--out")


def test_an_address_without_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with raises_mentioning(UsageError, "127.0.0.1:1", "refused", "--address"):
        RayEngine("127.0.0.1:1")


def test_a_lost_cluster_raises_an_error(causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray itself would end this process without a message."""
    engine = RayEngine(None)
    assert engine._head is not None
    monkeypatch.setattr(engine, "_head", "127.0.0.1:1")
    monkeypatch.setattr(engine, "_last_contact", -100.0)
    engine._tasks = {object(): only(matrix_of(tmp_path, [causal]))}
    with raises_mentioning(UsageError, "Ray cluster", "refused", "same command"):
        list(engine.take_ended_jobs())
    engine.stop_jobs()


def test_the_number_of_restarts_is_limited(tmp_path: Path) -> None:
    """Ray restarts a task without limit if its worker exhausts the memory of the node."""
    (tmp_path / "probe").touch()
    (tmp_path / "state.json").write_text('{"call": "probe", "attempt": 3}')
    outcome = engine_ray._run_job(str(tmp_path), str(tmp_path / "probe"), 2)
    assert_mentions(outcome["failed"][""], "killed 3 times")
    outcome = engine_ray._run_job(str(tmp_path), str(tmp_path / "probe"), 3)
    assert_mentions(outcome["failed"][""], "job.json")  # the job was started


def test_a_job_that_is_too_large_for_all_nodes(causal: str, tmp_path: Path) -> None:
    plan = write_plan(tmp_path, [causal])
    plan.write_text(plan.read_text() + "gpus = 2\ncpus = 1\n")
    engine = RayEngine(None)
    with raises_mentioning(UsageError, causal, "needs 1 CPU, 2 GPU", "`gpus`"):
        run_matrix(make_matrix(read_plan(plan), tmp_path / "out"), engine)
