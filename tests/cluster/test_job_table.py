"""What `--status` says of jobs."""

import json
import time
from pathlib import Path

import pytest

from tests.cluster.planned import only, write_plan
from tests.support.command import command
from tiltmeter.cluster.engine_slurm import SUBMITTED
from tiltmeter.cluster.job_table import build_job_row
from tiltmeter.cluster.model_job import run_job, write_job
from tiltmeter.cluster.plan_cells import make_matrix
from tiltmeter.cluster.plan_file import read_plan


def test_the_status_follows_the_plan(
    causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--out", str(tmp_path / "out"), "--status")
    plan = write_plan(tmp_path, [causal])
    assert command(monkeypatch, "matrix", str(plan), *words) == 0
    told, notes = capsys.readouterr()
    assert "0 of 2 cells complete, 0 failed; models: 1 waiting." in told
    assert f"{tmp_path / 'out'} does not exist" in notes
    entry = only(make_matrix(read_plan(plan), tmp_path / "out"))
    write_job(entry)
    assert run_job(entry.folder)["failed"] == {}
    assert build_job_row(entry).state == "finished"
    (entry.folder / SUBMITTED).write_text(json.dumps({"id": "7_0", "logs": "", "time": time.time()}))
    assert build_job_row(entry).state == "queued"
    state = json.loads((entry.folder / "state.json").read_text())
    (entry.folder / "state.json").write_text(json.dumps({**state, "slurm": "7_0"}))
    assert build_job_row(entry).state == "finished"  # by that job, and no call has looked since
    (entry.folder / "state.json").write_text(json.dumps({**state, "began": time.time() + 1}))
    assert build_job_row(entry).state == "finished"  # by another engine, later
    # As many cells, which must be measured again.
    changed = only(make_matrix(read_plan(write_plan(tmp_path, [causal], limit=4)), tmp_path / "out"))
    (entry.folder / SUBMITTED).unlink()
    assert (build_job_row(changed).state, build_job_row(changed).finished) == ("waiting", 0)
