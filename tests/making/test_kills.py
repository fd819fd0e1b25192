"""The short form of `perf/kills_making.py`: a few kills of each step."""

import os

import pytest

from perf.kills_making import STEPS, storm


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork processes")
@pytest.mark.parametrize("step", STEPS)
def test_a_killed_step_loses_nothing(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", "")  # the storm sets its own, which is undone here
    for module in ("translation_step", "repair_step"):  # changed by the storm too
        monkeypatch.setattr(f"tiltmeter.making.{module}._BATCH", 7)
    assert storm(step, kills=3, seed=7, items=9)["kills"] == 3
