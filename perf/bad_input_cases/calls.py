"""Calls of the command line in forked processes with limited memory and time.

The parent process only imports modules. Code that starts threads (torch, pyarrow, tokenizers, servers) runs in forked
processes, because a process that is forked while threads run may wait forever for a lock of one of them.
"""

import gc
import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perf.bad_input_cases.scene import Case
from tiltmeter.cli import main as tiltmeter

_MEMORY = 6 << 30
# The exit code of a forked process with an exception that the command line did not catch.
RAISED = 99


@dataclass(frozen=True, slots=True)
class Ending:
    """The outcome of a call: exit code (None if it was stopped), output, wall seconds and CPU seconds."""

    code: int | None
    output: str
    errors: str
    seconds: float
    cpu_seconds: float


def called(case: Case, folder: Path, seconds: float) -> Ending:
    """Create the input of a case in a new folder, and run the command on it.

    It is stopped after `seconds` of CPU time, or of wall time on an idle machine; the limit of wall time increases with
    the load of the machine.
    """
    folder.mkdir()
    in_fork(lambda: case.prepare(folder))
    began = time.monotonic()
    child = os.fork()
    if not child:
        _run(case, folder)
    while True:
        ended, status, used = os.wait4(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            break
        crowded = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        if time.monotonic() - began > seconds * crowded or _cpu_seconds(child) > seconds:
            os.kill(child, signal.SIGKILL)
            _, _, used = os.wait4(child, 0)
            code = None
            break
        time.sleep(0.002)
    taken = time.monotonic() - began
    output, errors = (_text(folder.with_name(f"{folder.name}.{end}")) for end in ("out", "err"))
    return Ending(code, output, errors, taken, used.ru_utime + used.ru_stime)


def in_fork(function: Callable[[], Any]) -> Any:
    """Call a function in a forked process, and return its result, which must be a JSON value."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            answer = json.dumps({"value": function()})
        except BaseException:
            answer = json.dumps({"error": traceback.format_exc()})
        with os.fdopen(writing, "w", encoding="utf-8") as file:
            file.write(answer)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as file:
        text = file.read()
    os.waitpid(child, 0)
    answered = json.loads(text or '{"error": "the process ended"}')
    if "error" in answered:
        raise RuntimeError(answered["error"])
    return answered["value"]


def import_what_it_imports(function: Callable[[], Any]) -> None:
    """Import all modules that a function imports, without running it, so that forked processes need not."""

    def names() -> list[str]:
        with suppress(SystemExit):
            function()
        return sorted(sys.modules)

    for name in in_fork(names):
        with suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _run(case: Case, folder: Path) -> None:
    """Run the command in this process, and end the process."""
    code = RAISED
    try:
        os.chdir(folder)
        for number, end in ((1, "out"), (2, "err")):
            path = folder.with_name(f"{folder.name}.{end}")
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), number)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="replace", closefd=False)
        os.environ.update(case.environment)
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
        if case.largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (case.largest_file, case.largest_file))
        if case.user is not None:
            os.setgroups([])
            os.setgid(case.user)
            os.setuid(case.user)
            os.environ["HOME"] = "/nonexistent"
        sys.argv = ["tiltmeter", *case.words]
        tiltmeter()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                code = code or 1
        os._exit(code)


def _cpu_seconds(process: int) -> float:
    """Return the CPU seconds of a process so far."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
