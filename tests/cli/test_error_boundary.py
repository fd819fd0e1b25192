"""Messages and exit codes of commands that fail, are stopped or have an internal error; no traceback."""

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
from tests.support.messages import assert_mentions
from tests.support.patience import PATIENCE
from tiltmeter.runs import evaluate as evaluating


def ended_by(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *words: str, causal: str = "m"
) -> int:
    def fail(*_args: Any, **_options: Any) -> Any:
        raise error

    monkeypatch.setattr(evaluating, "measure_models", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return command(monkeypatch, "run", causal, "--on", "starter:en", *words)


def test_the_traceback_of_an_internal_error_is_written_to_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended_by(KeyError("surprise"), monkeypatch, tmp_path) == 70
    message = capsys.readouterr().err
    assert "Traceback" not in message
    (details,) = tmp_path.glob("tiltmeter-fault-*.txt")
    assert_mentions(message, "KeyError ('surprise')", "same command", str(details))
    assert "Traceback (most recent" in details.read_text(encoding="utf-8")


@pytest.mark.parametrize("place", ["before", "after"])
def test_debug_shows_the_traceback(
    place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if place == "after":
        assert ended_by(KeyError("surprise"), monkeypatch, tmp_path, "--debug") == 70
    else:
        monkeypatch.setattr(sys, "argv", ["tiltmeter"])
        assert command(monkeypatch, "--debug", "show", str(tmp_path)) == 2
    assert "Traceback (most recent" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "part"),
    [
        (KeyboardInterrupt(), 130, "Stopped."),
        (MemoryError(), 2, "--batch-tokens"),
        (OSError(28, "No space left on device", "/full/file"), 2, "/full/file: No space left on device"),
        (EOFError(), 70, "EOFError"),
        (RecursionError("deep"), 70, "RecursionError"),
    ],
)
def test_an_exception_becomes_a_message_of_one_line(
    error: BaseException,
    code: int,
    part: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ended_by(error, monkeypatch, tmp_path) == code
    message = capsys.readouterr().err
    assert_mentions(message, part)
    assert len(message.strip().splitlines()) == 1


def test_sigterm_ends_with_a_message(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def terminated(*_args: Any, **_options: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        signal.sigtimedwait([], 5)  # the handler runs before this returns

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(evaluating, "measure_models", terminated)
    assert command(monkeypatch, "run", "m", "--on", "starter:en") == 143
    assert_mentions(capsys.readouterr().err, "Stopped.", "same command")
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
def test_an_output_that_cannot_be_written_is_an_error(words: str, streams: str, reason: str, tmp_path: Path) -> None:
    if "/dev/full" in streams and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    if "RUN" in words:
        made_run(association_scores(), family="association").save(tmp_path / "run")
    done = in_shell(words.replace("RUN", shlex.quote(str(tmp_path / "run"))), streams)
    assert done.returncode == 2, done.stderr
    assert_mentions(done.stderr, "output cannot be written", reason)
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_messages_that_cannot_be_written_do_not_end_the_work(tmp_path: Path) -> None:
    result = made_run(association_scores(), family="association")
    noted = replace(result, manifest=replace(result.manifest, notes=("A note.",)))
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


def test_a_signal_during_a_finalizer_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python ignores exceptions that are raised while a `__del__` or a callback runs."""

    class Late:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    def slow(*_args: Any, **_options: Any) -> Any:
        late = Late()
        del late
        threading.Event().wait(PATIENCE)
        raise AssertionError("it went on")

    monkeypatch.setattr(evaluating, "measure_models", slow)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert command(monkeypatch, "run", "m", "--on", "starter:en") == 143
    message = capsys.readouterr().err
    assert "Traceback" not in message
    assert "Stopped" in message
