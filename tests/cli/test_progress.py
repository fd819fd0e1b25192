"""Progress without a terminal: a line every minute."""

import time

import pytest

from tiltmeter.cli import progress
from tiltmeter.engine.execution import Progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_line_every_minute(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress.show_answer_progress("bert (masked)") as report:
        for step in range(1, 13):
            report(Progress(step * 100, 6000, 0.1))
            clock[0] += 15
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "bert (masked): 500 of 6,000, 7/s, padding 10.0%, about 14 minutes left",
        "bert (masked): 900 of 6,000, 7/s, padding 10.0%, about 13 minutes left",
    ]


def test_the_other_bars_tell_every_minute_too(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress.show_item_progress("translate") as report, progress.show_step_progress() as told:
        report(0, 10)
        told("pairs", 0, None)
        clock[0] += 1
        report(1, 10)
        clock[0] += 60
        report(5, 10)
        told("pairs", 7, None)
        report(6, 10)
    assert capsys.readouterr().err.splitlines() == ["translate: 5 of 10, about 2 minutes left", "pairs: 7"]


def test_what_happens_before_the_first_answer_is_not_expected_again(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    """Loading the weights takes minutes; the answers then come fast."""
    with progress.show_answer_progress("large (causal)") as report:
        report(Progress(40, 6040, 0.0))
        clock[0] += 300
        report(Progress(140, 6040, 0.0))
        clock[0] += 61
        report(Progress(1040, 6040, 0.0))
    first, second = capsys.readouterr().err.splitlines()
    assert "left" not in first
    assert second.endswith("about 6 minutes left")
