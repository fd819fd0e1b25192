"""Run a function in a forked process that is killed (SIGKILL) at a Python call, at a file operation, or after a time.

A file operation is opening a file for writing, renaming, linking, deleting, creating folders, changing permissions,
syncing to disk, or a statement that writes to an SQLite database. The process is killed just before it.
"""

import importlib
import json
import os
import select
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Literal

# Audit events of Python that change files; `open` counts only if the file is opened for writing.
_EVENTS = {"os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
# SQLite statements that do not change the file.
_READING = ("SELECT", "WITH", "PRAGMA table_info", "PRAGMA quick_check", "PRAGMA foreign_key_list")
# Seconds after which a process that should have ended is treated as hanging.
_LONGEST = 120.0


@dataclass(frozen=True, slots=True)
class Ending:
    """The outcome of an attempt; its counts are known only if it was not killed."""

    killed: bool
    code: int = 0
    calls: int = 0
    operations: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    seconds: float = 0.0
    error: str = ""


@dataclass(slots=True)
class KillAt:
    """Counts Python calls or file operations of this process, and kills it at one of them.

    `of_workers`: count the operations of each forked process instead of those of this one.
    """

    calls: int | None = None
    operation: int | None = None
    of_workers: bool = False
    made_calls: int = 0
    operations: list[str] = field(default_factory=list)
    _process: int = field(default_factory=os.getpid)
    _own: int = field(default_factory=os.getpid)

    def count_calls(self) -> None:
        """Count Python calls until `stop`."""
        sys.setprofile(self._call)

    def count_operations(self) -> None:
        """Count file operations until the end of the process."""
        sys.addaudithook(self._audit)
        sync, connect = os.fsync, sqlite3.connect

        def fsync(handle: Any) -> None:
            self._operation("os.fsync")
            sync(handle)

        def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
            self._operation("SQLite connect")
            connection: sqlite3.Connection = connect(*arguments, **options)
            connection.set_trace_callback(self._statement)
            return connection

        os.fsync, sqlite3.connect = fsync, traced

    def stop(self) -> None:
        """Stop counting calls, and stop killing at operations."""
        sys.setprofile(None)
        self._process = -1

    def _call(self, _frame: FrameType, event: str, _argument: Any) -> None:
        if event in ("call", "c_call"):
            self.made_calls += 1
            if self.made_calls == self.calls:
                os.kill(os.getpid(), signal.SIGKILL)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _WRITING and path != os.devnull:
                self._operation("open")
        elif event in _EVENTS:
            self._operation(event)

    def _statement(self, statement: str) -> None:
        if not statement.lstrip().startswith(_READING):
            self._operation(f"SQLite {statement.split(None, 1)[0]}")

    def _operation(self, name: str) -> None:
        process = os.getpid()
        if self._process < 0 or (process != self._process) != self.of_workers:
            return
        if process != self._own:  # a forked process does not count the operations of its parent
            self._own, self.operations = process, []
        self.operations.append(name)
        if len(self.operations) == self.operation:
            os.kill(process, signal.SIGKILL)


def attempt(
    run: Callable[[], object],
    *,
    calls: int | None = None,
    operation: int | None = None,
    seconds: float | None = None,
    of_workers: bool = False,
    count: Literal["calls", "operations"] | None = None,
    printed: Path | None = None,
) -> Ending:
    """Run a function in a forked process, and wait for the end of it and of the processes that it started.

    It is killed at the given Python call, file operation or time; `count` only counts calls or operations. The `error`
    of the ending is an exception, and its `code` an exit code. Output is appended to the file `printed`.
    """
    began = time.monotonic()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _child(run, KillAt(calls, operation, of_workers), count, writer, printed)
    os.close(writer)
    if seconds is not None:
        select.select([reader], [], [], seconds)  # it may end earlier
        os.kill(child, signal.SIGKILL)
    report = json.loads(_read_all(reader, child) or "{}")
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    if report and killed:  # it ended before the signal
        killed = False
    if not killed and not report:
        raise RuntimeError(f"a process ended with the status {status} and without a word")
    return Ending(killed=killed, seconds=time.monotonic() - began, **{k: _tuple(v) for k, v in report.items()})


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _read_all(reader: int, child: int) -> bytes:
    """Return everything that is written to a pipe until all writing processes have ended."""
    content, deadline = b"", time.monotonic() + _LONGEST
    try:
        while True:
            if not select.select([reader], [], [], max(0.0, deadline - time.monotonic()))[0]:
                os.kill(child, signal.SIGKILL)
                raise RuntimeError(f"a process, or one that it started, has not ended after {_LONGEST:.0f} s")
            block = os.read(reader, 1 << 16)
            if not block:
                return content
            content += block
    finally:
        os.close(reader)


def _child(run: Callable[[], object], kill: KillAt, count: str | None, writer: int, printed: Path | None) -> None:
    code, error = 0, ""
    try:
        if printed is not None:
            _print_to(printed)
        if kill.operation is not None or count == "operations":
            kill.count_operations()
        if kill.calls is not None or count == "calls":
            kill.count_calls()
        try:
            run()
        finally:
            kill.stop()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException as raised:
        code, error = 1, f"{type(raised).__name__}: {raised}"
    report: dict[str, object] = {"code": code, "error": error, "calls": kill.made_calls}
    if count:
        report |= {"operations": kill.operations, "modules": list(sys.modules)}
    with os.fdopen(os.dup(writer), "wb") as pipe:
        pipe.write(json.dumps(report).encode())
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def _print_to(path: Path) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    for number in (1, 2):
        os.dup2(handle, number)
    sys.stdout, sys.stderr = (os.fdopen(n, "w", encoding="utf-8", closefd=False) for n in (1, 2))


def even_sample(number: int, most: int | None) -> list[int]:
    """Return the numbers from 1 to `number`, or `most` of them at equal distances.

    >>> even_sample(9, 3)
    [1, 5, 9]
    """
    if most is None or number <= most:
        return list(range(1, number + 1))
    return sorted({round(1 + index * (number - 1) / max(1, most - 1)) for index in range(most)})


def import_again(ending: Ending) -> None:
    """Import the modules that an attempt imported, so that later forked processes need not."""
    for module in ending.modules:
        if module not in sys.modules and not module.startswith(("_", "torch._", "torchao")):
            with suppress(Exception):
                importlib.import_module(module)


class Log:
    """A file to which several processes append lines; the lines of a killed process are kept."""

    def __init__(self, path: Path) -> None:
        """Open the file here, because opening it in a forked process would be a file operation."""
        self.path = path
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)

    def write(self, *words: str) -> None:
        """Append a line of words."""
        os.write(self._handle, ("\t".join(words) + "\n").encode())

    def lines(self) -> list[list[str]]:
        """Return the words of each line."""
        return [line.split("\t") for line in self.path.read_text(encoding="utf-8").splitlines()]

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)
