"""Jobs as processes on this machine: GPUs, outcomes, and stopping."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.planned import matrix_of, only, write_plan
from tests.support.messages import assert_mentions, raises_mentioning
from tests.support.patience import PATIENCE
from tests.support.slurm import wait_until
from tiltmeter.cluster.engine_local import LocalEngine, list_visible_gpus
from tiltmeter.cluster.model_job import JobOutcome
from tiltmeter.cluster.plan_cells import ModelCells, make_matrix
from tiltmeter.cluster.plan_file import read_plan
from tiltmeter.errors import UsageError


def test_gpus_are_assigned_to_jobs(causal: str, masked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    assert list_visible_gpus() == ["4", "7"]
    started: list[tuple[str, ...]] = []

    class Process:
        def __init__(self) -> None:
            self.code: int | None = None

        def poll(self) -> int | None:
            return self.code

        def wait(self, _seconds: float | None = None) -> int:
            return 0

    processes: list[Process] = []

    def process(self: LocalEngine, _entry: ModelCells, gpus: tuple[str, ...], _output: object) -> Process:
        started.append(gpus)
        processes.append(Process())
        return processes[-1]

    monkeypatch.setattr(LocalEngine, "_start_process", process)
    plan = write_plan(tmp_path, [causal, masked, "embedded"])
    plan.write_text(plan.read_text().replace(f'"{masked}"', f'"{masked}"\ngpus = 2'))
    engine = LocalEngine(3)
    engine.start_jobs(make_matrix(read_plan(plan), tmp_path / "out").models)
    assert started == [("4",)]  # the second needs both GPUs, and the third waits for the second
    processes[0].code = 0
    list(engine.take_ended_jobs())
    assert started == [("4",), ("7", "4")]
    processes[1].code = 0
    list(engine.take_ended_jobs())
    assert started[2:] == [("7",)]
    plan.write_text(plan.read_text().replace("gpus = 2", "gpus = 3"))
    with raises_mentioning(UsageError, masked, "needs 3 GPUs", "machine has 2", "`gpus`"):
        LocalEngine(1).start_jobs(make_matrix(read_plan(plan), tmp_path / "out").models)


def test_a_job_with_many_long_reasons_ends(causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output is larger than the buffer of a pipe, which would block the job."""
    program = "import json; print(json.dumps({'state': 'failed', 'failed': {str(i): 'x' * 1000 for i in range(200)}}))"
    own = subprocess.Popen
    monkeypatch.setattr("tiltmeter.cluster.engine_local.CAN_FORK", False)
    monkeypatch.setattr(
        "tiltmeter.cluster.engine_local.subprocess.Popen",
        lambda _words, **more: own([sys.executable, "-c", program], **more),
    )
    matrix, engine = matrix_of(tmp_path, [causal]), LocalEngine(1)
    only(matrix).folder.mkdir(parents=True)
    engine.start_jobs(matrix.models)
    found: list[JobOutcome] = []
    wait_until(
        lambda: bool(found.extend(outcome for _, outcome in engine.take_ended_jobs()) or found), "it did not end"
    )
    assert len(found[0]["failed"]) == 200


@pytest.mark.skipif(os.name != "posix", reason="this system has no SIGTERM for one process")
def test_jobs_are_killed_if_their_end_is_not_waited_for(
    causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second Ctrl-C leaves no process behind."""
    program = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('x', flush=True); time.sleep(60)"
    )
    own, started = subprocess.Popen, []
    monkeypatch.setattr("tiltmeter.cluster.engine_local.CAN_FORK", False)
    monkeypatch.setattr(
        "tiltmeter.cluster.engine_local.subprocess.Popen",
        lambda _words, **more: started.append(own([sys.executable, "-c", program], **more)) or started[0],
    )
    matrix, engine = matrix_of(tmp_path, [causal]), LocalEngine(1)
    only(matrix).folder.mkdir(parents=True)
    engine.start_jobs(matrix.models)
    wait_until(lambda: os.fstat(engine._runner.jobs[0].output.fileno()).st_size > 0, "it did not start")
    wait = started[0].wait
    monkeypatch.setattr(started[0], "wait", lambda seconds=None: _interrupt() if seconds else wait())
    with pytest.raises(KeyboardInterrupt):
        engine.stop_jobs()
    assert started[0].poll() == -signal.SIGKILL


def _interrupt() -> int:
    raise KeyboardInterrupt


@pytest.mark.skipif(os.name != "posix", reason="this system has no SIGINT for one process")
def test_ctrl_c_ends_the_jobs(causal: str, tmp_path: Path) -> None:
    # Several seconds of work, so that the signal arrives before the end.
    plan = write_plan(tmp_path, [causal], ("starter", "starter-pairs", "starter-gest"), limit=200)
    words = [sys.executable, "-m", "tiltmeter", "matrix", str(plan), "--out", str(tmp_path / "out")]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    folder = only(make_matrix(read_plan(plan), tmp_path / "out")).folder
    wait_until((folder / "log.txt").exists, "the job did not start")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert_mentions(errors, "same command")
    assert not (folder / "lock").exists()


def test_the_output_of_libraries_is_separate_from_the_outcome(causal: str, tmp_path: Path) -> None:
    """Libraries may print to standard output, which is reserved for the outcome."""
    code = (
        "import sys; from tiltmeter.cluster import model_job\n"
        "model_job.run_job = lambda folder: print('x' * 100000) or {'state': 'finished', 'failed': {}}\n"
        "from pathlib import Path; sys.exit(model_job.main(Path('.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert json.loads(done.stdout) == {"state": "finished", "failed": {}}
