"""A short version of `perf/studio_review.py`: parallel reviewers, and a studio that is killed."""

import os
from pathlib import Path

import pytest

from perf.reviewed_project import make_project
from perf.studio_review import load, reviewer_names


@pytest.mark.skipif(os.name != "posix", reason="this system has no SIGKILL")
def test_a_killed_studio_loses_no_acknowledged_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / ".cache"))
    make_project(tmp_path, 60, reviewer_names(4), agreeing=2, per_item=3)
    found = load(tmp_path, reviewers=4, rate=40, seconds=0, kills=2, longest_life=0.3)
    assert found["kills"] == 2
    assert found["acknowledged"] >= 10
    assert found["interrupted"] > 0
    assert (found["lost"], found["refused"]) == (0, 0), found["first refusal"]
