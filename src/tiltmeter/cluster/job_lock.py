"""A lock file that prevents two processes from running one job, also on machines that share a file system.

The file contains the machine and the process id of its owner. The owner updates the modification time of the file every
few seconds; this is the heartbeat. For processes on the owner's machine, the lock is held while the owner exists. For
processes on other machines, the lock is lost if the modification time does not change for a minute. These processes
must wait and watch the file: the clocks of machines may differ, so an old modification time alone does not prove that
the owner has ended.
"""

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import psutil  # psutil is always installed, because accelerate needs it

from tiltmeter.errors import UsageError
from tiltmeter.files import build_write_error

LOCK = "lock"
# In seconds: the time between two heartbeats, and the time without a heartbeat after which a lock is lost.
BEAT = 2.0
LOST_AFTER = 60.0
# Number of heartbeat intervals to wait for a new heartbeat if the last heartbeat seems old.
_MISSED = 3


class JobTakenError(UsageError):
    """A job cannot be run, because another process holds its lock."""


@cache
def get_machine_id() -> str:
    """Return an identifier of this machine that is different after a reboot and in each container (PID namespace)."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return sha256("\n".join(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class LockHolder:
    """The owner of a lock: the content of the lock file as `text` and as `values`, and its modification time."""

    text: str
    touched: float
    values: dict[str, Any]

    @property
    def is_on_this_machine(self) -> bool:
        """Return whether the owner is a process on this machine."""
        return self.values.get("machine") == get_machine_id()

    @property
    def is_alive(self) -> bool:
        """Return whether the owner's process runs on this machine; a new process with the same id does not count."""
        try:
            pid = int(self.values["pid"])
            ended = psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
            return not ended and abs(_get_start_time(pid) - float(self.values["started"])) < 1.0
        except (psutil.Error, KeyError, TypeError, ValueError):
            return False

    @property
    def has_recent_heartbeat(self) -> bool:
        """Return whether the last heartbeat is recent according to the clock of this machine."""
        return abs(time.time() - self.touched) < LOST_AFTER


def read_holder(folder: Path) -> LockHolder | None:
    """Return the owner of the lock in a job's folder; None if there is no lock file."""
    # Only a regular file is opened: opening a named pipe would block.
    if not (folder / LOCK).is_file():
        return None
    try:
        # The file is opened before its time is read, because this refreshes the time that a network file system caches.
        with (folder / LOCK).open("rb") as file:
            text = file.read().decode("utf-8", errors="replace")
            touched = os.fstat(file.fileno()).st_mtime
    except OSError:
        return None
    values = None
    with suppress(ValueError):
        values = json.loads(text)
    return LockHolder(text, touched, values if isinstance(values, dict) else {})


def is_held(folder: Path) -> bool:
    """Return whether a process seems to hold the lock of a job; do not wait for a heartbeat."""
    holder = read_holder(folder)
    if holder is None:
        return False
    return holder.is_alive if holder.is_on_this_machine else holder.has_recent_heartbeat


def find_held_folders(folders: Iterable[Path]) -> set[Path]:
    """Return the job folders whose locks are held; if other machines own locks, wait a few seconds for heartbeats."""
    watched: dict[Path, LockHolder] = {}
    held = set()
    for folder in folders:
        holder = read_holder(folder)
        if holder is not None and holder.is_on_this_machine and holder.is_alive:
            held.add(folder)
        elif holder is not None and not holder.is_on_this_machine:
            watched[folder] = holder
    if watched:
        time.sleep(_MISSED * BEAT)
    return held | {folder for folder, before in watched.items() if read_holder(folder) not in (None, before)}


class JobLock:
    """A context manager that holds the lock of a job; it raises `JobTakenError` if another process holds the lock.

    `call` identifies the attempt to run the job. If an engine restarts a job whose worker was lost, the new process has
    the `call` of the lost process; it then waits for the lock and raises no error. `on_lost` is called if another
    process takes over the lock.
    """

    def __init__(
        self, folder: Path, call: str = "", *, on_lost: Callable[[], None] = lambda: None, wait: bool = True
    ) -> None:
        """Prepare the lock; entering the context acquires it. For `call` and `on_lost` see the class.

        If another machine owns the lock, the context waits: it raises a `JobTakenError` at the next heartbeat, and
        takes the lock if there is none in time. If `wait` is false and the last heartbeat is recent, it raises the
        error at once.
        """
        self.folder, self.job, self.call = folder, uuid.uuid4().hex, call
        self.each_beat: Callable[[], None] = lambda: None
        self._on_lost, self._wait = on_lost, wait
        own = {"host": socket.gethostname(), "machine": get_machine_id(), "pid": os.getpid()}
        self._text = json.dumps({"job": self.job, "call": call, **own, "started": _get_start_time(os.getpid())})
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._send_heartbeats, daemon=True)

    def __enter__(self) -> Self:
        path = self.folder / LOCK
        for _ in range(3):
            try:
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            except FileExistsError:
                if (holder := read_holder(self.folder)) is not None:
                    self._remove_lost_lock(path, self._wait_until_lock_is_free(holder))
                continue
            except OSError as error:
                raise build_write_error(path, error) from error
            self._write_lock(handle, path)
            self._thread.start()
            return self
        raise self._build_taken_error(read_holder(self.folder))

    def _write_lock(self, handle: int, path: Path) -> None:
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(self._text)
        except OSError as error:
            # For example, the disk is full. The incomplete lock file is removed.
            with suppress(OSError):
                path.unlink()
            raise build_write_error(path, error) from error

    def _wait_until_lock_is_free(self, holder: LockHolder) -> LockHolder:
        """Wait until the lock is lost or released, and return its last owner; raise `JobTakenError` if it is held."""
        last, since = holder, time.monotonic()
        while True:
            is_ours = bool(self.call) and holder.values.get("call") == self.call
            if holder.is_on_this_machine and not holder.is_alive:
                return holder
            if not is_ours and (
                holder.is_on_this_machine or holder != last or (holder.has_recent_heartbeat and not self._wait)
            ):
                raise self._build_taken_error(holder)
            if holder != last:
                last, since = holder, time.monotonic()
            age = time.time() - last.touched
            patience = min(LOST_AFTER, max(LOST_AFTER - max(age, 0.0), _MISSED * BEAT))
            if not holder.is_on_this_machine and time.monotonic() - since >= patience:
                return holder
            time.sleep(BEAT / 4)
            current = read_holder(self.folder)
            if current is None:
                return holder
            holder = current

    def _remove_lost_lock(self, path: Path, lost: LockHolder) -> None:
        """Remove a lost lock file; if the file is already the new lock of another process, restore the file."""
        aside = path.with_name(f"{LOCK}.{self.job}")
        with suppress(FileNotFoundError):
            path.rename(aside)
            if _read_text(aside) != lost.text:
                with suppress(FileExistsError):
                    os.link(aside, path)
            aside.unlink()

    def _build_taken_error(self, holder: LockHolder | None) -> JobTakenError:
        values = holder.values if holder is not None else {}
        where = f"{values.get('host', 'another machine')}, process {values.get('pid', '?')}"
        return JobTakenError(
            f"The job in {self.folder} is already running ({where}); wait until it ends, or check it with --status."
        )

    @property
    def is_taken_over(self) -> bool:
        """Return whether another process has taken over the lock; False if the file cannot be read at the moment."""
        return _read_text(self.folder / LOCK) not in ("", self._text)

    def _send_heartbeats(self) -> None:
        while not self._ended.wait(BEAT):
            if self.is_taken_over:
                self._on_lost()
                return
            with suppress(OSError):
                os.utime(self.folder / LOCK)
            self.each_beat()

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._thread.join()
        if not self.is_taken_over:
            with suppress(OSError):
                (self.folder / LOCK).unlink()


def _get_start_time(pid: int) -> float:
    """Return the start time of a process; on Linux in clock ticks since boot, so that clock changes have no effect."""
    with suppress(OSError, IndexError):
        values = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return float(values[19])
    return float(psutil.Process(pid).create_time())


def _read_text(path: Path) -> str:
    try:
        if not path.is_file():
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
