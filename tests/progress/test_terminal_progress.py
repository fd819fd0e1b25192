"""Progress on standard error: bars in a terminal, a line every minute in a log."""

import time

import pytest

from tiltmeter.progress.progress import Progress
from tiltmeter.progress.terminal_progress import show_download, show_in_terminal


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_line_every_minute(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with show_in_terminal("bert (masked)") as report:
        for step in range(1, 13):
            report(Progress(step * 100, 6000, 0.1))
            clock[0] += 15
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "bert (masked): 500 of 6,000, 7/s, about 14 minutes left",
        "bert (masked): 900 of 6,000, 7/s, about 13 minutes left",
    ]


def test_slow_steps_and_steps_of_unknown_length(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with show_in_terminal("translate") as report, show_in_terminal("articles") as count:
        report(Progress(0, 10))
        count(Progress(0, None))
        clock[0] += 1
        report(Progress(1, 10))
        clock[0] += 60
        report(Progress(5, 10, note="loss 0.5"))
        count(Progress(7, None))
        report(Progress(6, 10))
    assert capsys.readouterr().err.splitlines() == [
        "translate: 5 of 10, 4.0/min, loss 0.5, about 2 minutes left",
        "articles: 7",
    ]


def test_loading_time_does_not_count_for_the_remaining_time(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    """Loading the weights takes minutes; the answers then come fast."""
    with show_in_terminal("large (causal)") as report:
        report(Progress(40, 6040))
        clock[0] += 300
        report(Progress(140, 6040))
        clock[0] += 61
        report(Progress(1040, 6040))
    first, second = capsys.readouterr().err.splitlines()
    assert "left" not in first
    assert second.endswith("about 6 minutes left")


def test_a_bar_in_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with show_in_terminal("a step") as report:
        report(Progress(3, 7, note="loss 0.5"))
    shown = capsys.readouterr().err
    assert "a step" in shown
    assert "3/7" in shown
    assert "loss 0.5" in shown


@pytest.mark.parametrize(
    ("terminal", "size", "drawn"), [(True, 2_000_000, True), (True, 900_000, False), (False, 2_000_000, False)]
)
def test_a_download_has_a_bar_if_it_is_large_and_there_is_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, terminal: bool, size: int, drawn: bool
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    monkeypatch.setenv("TERM", "xterm")
    with show_download("a-file") as report:
        report(Progress(0, size))
        report(Progress(size, size))
    captured = capsys.readouterr()
    assert ("a-file" in captured.err) == drawn
    assert captured.out == ""
