"""The short form of `perf/kills_review.py`: two reviewers at once, killed a few times."""

import os
from pathlib import Path

import pytest

from perf.kills_review import storm


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork processes")
@pytest.mark.parametrize(("agree", "of"), [(1, 1), (2, 2)])
def test_reviewers_at_once_lose_nothing(agree: int, of: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path))
    found = storm(kills=8, seed=3, items=8, agree=agree, of=of)
    assert found["kills"] >= 8
    assert found["interrupted while deciding"] > 0
    assert found["conflicts"] > 0
