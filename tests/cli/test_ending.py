"""How commands end: sentences for what is wrong, what is stopped and what nobody expected; no traceback."""

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import command
from tests.support.patience import PATIENCE
from tiltmeter.runs import evaluate as evaluating


def ended_by(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *words: str, causal: str = "m"
) -> int:
    def fail(*_args: Any, **_options: Any) -> Any:
        raise error

    monkeypatch.setattr(evaluating, "evaluate", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return command(monkeypatch, "run", causal, "--on", "starter:en", *words)


def test_a_fault_is_told_with_its_details_in_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended_by(KeyError("surprise"), monkeypatch, tmp_path) == 70
    told = capsys.readouterr().err
    assert "Traceback" not in told
    assert "A fault of Tiltmeter, not of yours: KeyError ('surprise')." in told
    assert "a finished run stays as it was" in told
    (details,) = tmp_path.glob("tiltmeter-fault-*.txt")
    assert str(details) in told
    assert "Traceback (most recent call last)" in details.read_text(encoding="utf-8")


@pytest.mark.parametrize("place", ["before", "after"])
def test_debug_shows_the_traceback(
    place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if place == "after":
        assert ended_by(KeyError("surprise"), monkeypatch, tmp_path, "--debug") == 70
    else:
        monkeypatch.setattr(sys, "argv", ["tiltmeter"])
        assert command(monkeypatch, "--debug", "show", str(tmp_path)) == 2
    assert "Traceback (most recent call last)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "Stopped. What is stored so far is kept"),
        (MemoryError(), 2, "memory of this machine does not suffice"),
        (OSError(28, "No space left on device", "/full/file"), 2, "/full/file: No space left on device"),
        (EOFError(), 70, "EOFError"),
        (RecursionError("deep"), 70, "RecursionError"),
    ],
)
def test_what_is_raised_becomes_a_sentence(
    error: BaseException,
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ended_by(error, monkeypatch, tmp_path) == code
    told = capsys.readouterr().err
    assert words in told
    assert len(told.strip().splitlines()) == 1


def test_a_termination_says_what_is_kept(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def terminated(*_args: Any, **_options: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        signal.sigtimedwait([], 5)  # the handler runs before this returns

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(evaluating, "evaluate", terminated)
    assert command(monkeypatch, "run", "m", "--on", "starter:en") == 143
    assert "the same command goes on from what is stored" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_standard_output_is_a_sentence(causal: str) -> None:
    import subprocess

    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tiltmeter", "data", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2, done.stderr
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_stop_that_python_could_not_pass_on_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A signal may come while a `__del__` or a callback runs, which ignores exceptions."""

    class Late:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    def slow(*_args: Any, **_options: Any) -> Any:
        late = Late()
        del late
        threading.Event().wait(PATIENCE)
        raise AssertionError("it went on")

    monkeypatch.setattr(evaluating, "evaluate", slow)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert command(monkeypatch, "run", "m", "--on", "starter:en") == 143
    told = capsys.readouterr().err
    assert "Traceback" not in told
    assert "Stopped" in told
