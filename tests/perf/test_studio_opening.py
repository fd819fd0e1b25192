"""`perf.studio_opening`: its synthetic runs are listed like real ones."""

from pathlib import Path

import pytest

from perf.studio_opening import listings, make_runs
from tiltmeter.studio.run_index import RunIndex
from tiltmeter.studio.studio_workspace import StudioWorkspace


def test_synthetic_runs_are_listed_and_timed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_runs(tmp_path, 5, 30)
    runs = RunIndex(StudioWorkspace(tmp_path)).list_runs()
    assert [run.path for run in runs] == [f"runs/run-{number:03d}" for number in (4, 3, 2, 1, 0)]
    assert all(run.is_whole and len(run.summary.benchmarks[0].rulers) == 3 for run in runs)
    listings(tmp_path, 2)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["first", "later", "changed"]
