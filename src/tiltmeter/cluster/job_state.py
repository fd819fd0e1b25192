"""The state of a job as a small file that others read, and the lock that keeps a job from running twice.

Both work on a network file system: the lock is a file that is created exclusively and holds the machine, the process
and an identifier; its owner writes the state, with the time, every few seconds. A job whose state is old is lost, and
its lock may be taken over. On the same machine, the lock of a process that has ended is taken over at once.
"""

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil  # comes with accelerate

from tiltmeter.errors import DataError, TiltmeterError, UsageError
from tiltmeter.files import write_text
from tiltmeter.reading import read_json, read_text

STATE, LOCK = "state.json", "lock"
# Seconds between two writes of the state, and after which a job that wrote nothing is lost.
BEAT = 2.0
LOST_AFTER = 60.0
# No number in a state is larger; NaN and infinity are not smaller.
_LARGEST = 1e15


def read_state(folder: Path) -> dict[str, Any]:
    """The state of a job as it was written last; empty if there is none. `state` is `lost` if its process is gone."""
    state = _read(folder / STATE)
    if state.get("state") == "running" and not is_held(folder, state):
        state["state"] = "lost"
    return state


def is_held(folder: Path, state: Mapping[str, Any] | None = None) -> bool:
    """Whether a process that lives has the job's lock."""
    holder = _read(folder / LOCK)
    if not holder:
        return _is_fresh(folder / LOCK)  # just created, and not written yet
    if holder.get("host") == socket.gethostname() and not _is_alive(holder):
        return False
    if state is None:
        state = _read(folder / STATE)
    beaten = number_of(state, "time") if state.get("job") == holder.get("job") else 0.0
    return time.time() - max(beaten, number_of(holder, "time")) < LOST_AFTER


def number_of(values: Mapping[str, Any], name: str) -> float:
    """A number of a state or lock; 0 if it has none there, as after damage."""
    value = values.get(name)
    known = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST
    return float(value) if known else 0.0  # type: ignore[arg-type]


class JobLock:
    """The lock of a job's folder, held within the context; a UsageError if another process has it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.job = uuid.uuid4().hex
        own = {"host": socket.gethostname(), "pid": os.getpid(), "started": psutil.Process().create_time()}
        self._text = json.dumps({"job": self.job, **own, "time": time.time()})

    def __enter__(self) -> Self:
        path = self.folder / LOCK
        for _ in range(3):
            try:
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            except FileExistsError:
                self._remove_stale(path)
                continue
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(self._text)
            return self
        raise self._taken()

    def _remove_stale(self, path: Path) -> None:
        """Remove a lock whose process is gone; a UsageError if it lives."""
        before = _text(path)
        if is_held(self.folder):
            raise self._taken()
        aside = path.with_name(f"{LOCK}.{self.job}")
        with suppress(FileNotFoundError):
            path.rename(aside)
            if _text(aside) != before:  # another process was faster, and this is its lock
                with suppress(FileExistsError):
                    os.link(aside, path)
            aside.unlink()

    def _taken(self) -> UsageError:
        holder = _read(self.folder / LOCK)
        where = f"{holder.get('host', 'another machine')}, process {holder.get('pid', '?')}"
        return UsageError(f"The job of {self.folder} runs already ({where}); see it with --status, or wait.")

    @property
    def is_taken_over(self) -> bool:
        """Whether another process has the lock now; False if the file cannot be read, as for a moment on a network."""
        return _text(self.folder / LOCK) not in ("", self._text)

    def __exit__(self, *exc: object) -> None:
        if not self.is_taken_over:
            with suppress(OSError):
                (self.folder / LOCK).unlink()


def wait_for_lock(folder: Path) -> JobLock:
    """A lock that can be taken: waits while its last owner writes nothing more, until it counts as lost.

    An engine starts a job again after its machine was lost, which others notice only by the age of its state. An owner
    that lives writes its state meanwhile; then this returns at once, and the lock cannot be taken.
    """
    first = _read(folder / STATE).get("time")
    while is_held(folder) and _read(folder / STATE).get("time") == first:
        time.sleep(BEAT / 4)
    return JobLock(folder)


class JobState:
    """What a job is at, written every few seconds by a thread of its own while the context lasts."""

    def __init__(self, lock: JobLock, values: Mapping[str, Any], on_lost: Callable[[], None]) -> None:
        """`on_lost` is called if another process has taken the job over, since this one was taken for lost."""
        self._lock, self._on_lost = lock, on_lost
        self.values: dict[str, Any] = {
            "job": lock.job,
            "state": "running",
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "began": time.time(),
            **values,
        }
        self._ended = threading.Event()
        self._changing, self._writing = threading.Lock(), threading.Lock()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Self:
        self.write()
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._thread.join()
        self.write()

    def update(self, **values: Any) -> None:
        """Change values; they are written with the next beat."""
        with self._changing:
            self.values |= values

    def write(self) -> None:
        """Write the file now. A full disk must not end the job, which says at its end what became of it."""
        with self._writing, suppress(OSError, TiltmeterError):
            with self._changing:
                text = json.dumps({**self.values, "time": time.time()}, ensure_ascii=False)
            write_text(self._lock.folder / STATE, text)

    def _beat(self) -> None:
        while not self._ended.wait(BEAT):
            if self._lock.is_taken_over:
                self._on_lost()
                return
            self.write()


def _is_alive(holder: Mapping[str, Any]) -> bool:
    """Whether the process of a lock lives on this machine; another one may have its number now."""
    try:
        process = psutil.Process(int(holder["pid"]))
        ended = process.status() == psutil.STATUS_ZOMBIE
        return not ended and abs(process.create_time() - float(holder["started"])) < 1.0
    except (psutil.Error, KeyError, TypeError, ValueError):
        return False


def _is_fresh(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime < LOST_AFTER
    except OSError:
        return False


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except DataError:
        return ""


def _read(path: Path) -> dict[str, Any]:
    try:
        values = read_json(path)
    except DataError:
        return {}
    return values if isinstance(values, dict) else {}
