"""How commands end: sentences for what is wrong, what is stopped and what nobody expected; no traceback."""

import os
import shlex
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.runs.made import association_scores
from tests.runs.made import run as made_run
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


def in_shell(words: str, streams: str) -> "subprocess.CompletedProcess[str]":
    """Run `tiltmeter` with its streams redirected by the shell."""
    call = f"{shlex.quote(sys.executable)} -m tiltmeter {words} {streams}"
    return subprocess.run(["/bin/sh", "-c", call], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "streams", "reason"),
    [
        ("data list", ">/dev/full", "No space left on device"),
        ("show RUN --csv", ">/dev/full", "No space left on device"),
        ("show RUN", ">&-", ""),
    ],
)
def test_an_output_that_cannot_be_written_is_a_sentence(words: str, streams: str, reason: str, tmp_path: Path) -> None:
    if "/dev/full" in streams and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    if "RUN" in words:
        made_run(association_scores(), family="association").save(tmp_path / "run")
    done = in_shell(words.replace("RUN", shlex.quote(str(tmp_path / "run"))), streams)
    assert done.returncode == 2, done.stderr
    assert "The output cannot be written" in done.stderr
    assert reason in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_messages_that_cannot_be_written_do_not_end_the_work(tmp_path: Path) -> None:
    result = made_run(association_scores(), family="association")
    noted = replace(result, manifest={**result.manifest, "notes": ["A note, which is printed as a message."]})
    folder = shlex.quote(str(noted.save(tmp_path / "run")))
    for streams in ("2>&-", "2>/dev/full") if Path("/dev/full").exists() else ("2>&-",):
        done = in_shell(f"show {folder}", streams)
        assert (done.returncode, done.stderr) == (0, ""), streams
        assert "stereoset" in done.stdout


def test_a_file_does_not_take_the_place_of_a_closed_stream() -> None:
    """A library that prints would otherwise write into the next file that is opened."""
    script = (
        "from tiltmeter.safe_output import guard_output\n"
        "with guard_output(), open(__import__('os').devnull) as file:\n"
        "    raise SystemExit(file.fileno() < 3)"
    )
    call = f"{shlex.quote(sys.executable)} -c {shlex.quote(script)} <&- >&- 2>&-"
    assert subprocess.run(["/bin/sh", "-c", call], check=False).returncode == 0


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
