"""The lock that keeps a job from running twice, on one machine or on several that share a file system.

The lock is a file that is created exclusively and names its machine and process. Its owner sets the time of the file
every few seconds, which needs no room on a full disk. On its own machine, a lock is held while its process lives. From
another machine it is watched: it is lost if the time of its file does not change for long. Clocks of machines may
differ, so that an old time alone proves nothing.
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

import psutil  # comes with accelerate

from tiltmeter.errors import UsageError
from tiltmeter.files import build_write_error

LOCK = "lock"
# Seconds between two signs of life, and without one after which a job is lost.
BEAT = 2.0
LOST_AFTER = 60.0
# Signs of life that a job may miss while it is watched, if its last one seems old.
_MISSED = 3


class JobTakenError(UsageError):
    """Another process has the lock of a job."""


@cache
def get_machine_id() -> str:
    """An identifier of this machine: its name, when it was started, and where its process numbers count.

    Machines may have the same name, and containers on one machine number their processes each for itself.
    """
    found = [socket.gethostname()]
    with suppress(OSError):
        found.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        found.append(str(Path("/proc/self/ns/pid").readlink()))
    return sha256("\n".join(found).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class LockHolder:
    """What a lock says of its owner; `touched` is the time of its file."""

    text: str
    touched: float
    values: dict[str, Any]

    @property
    def is_here(self) -> bool:
        """Whether the owner is a process of this machine."""
        return self.values.get("machine") == get_machine_id()

    @property
    def is_alive(self) -> bool:
        """Whether the process lives, on this machine; another one may have its number now."""
        try:
            number = int(self.values["pid"])
            ended = psutil.Process(number).status() == psutil.STATUS_ZOMBIE
            return not ended and abs(_get_start_time(number) - float(self.values["started"])) < 1.0
        except (psutil.Error, KeyError, TypeError, ValueError):
            return False

    @property
    def is_recent(self) -> bool:
        """Whether the last sign of life is recent by this machine's clock."""
        return abs(time.time() - self.touched) < LOST_AFTER


def read_holder(folder: Path) -> LockHolder | None:
    """The owner of a job's lock; None if there is no lock, or something else that to open may wait for ever."""
    if not (folder / LOCK).is_file():
        return None
    try:
        with (folder / LOCK).open("rb") as file:  # opened, since a network file system may remember an old time
            text = file.read().decode("utf-8", errors="replace")
            touched = os.fstat(file.fileno()).st_mtime
    except OSError:
        return None
    values = None
    with suppress(ValueError):
        values = json.loads(text)
    return LockHolder(text, touched, values if isinstance(values, dict) else {})


def is_held(folder: Path) -> bool:
    """Whether a job's lock is held, as far as one look can tell."""
    holder = read_holder(folder)
    if holder is None:
        return False
    return holder.is_alive if holder.is_here else holder.is_recent


def find_held_folders(folders: Iterable[Path]) -> set[Path]:
    """The folders whose jobs show a sign of life; those of other machines are watched for a few seconds, if any."""
    watched: dict[Path, LockHolder] = {}
    held = set()
    for folder in folders:
        holder = read_holder(folder)
        if holder is not None and holder.is_here and holder.is_alive:
            held.add(folder)
        elif holder is not None and not holder.is_here:
            watched[folder] = holder
    if watched:
        time.sleep(_MISSED * BEAT)
    return held | {folder for folder, before in watched.items() if read_holder(folder) not in (None, before)}


class JobLock:
    """The lock of a job's folder, held within the context; `JobTakenError` if another process has it.

    `call` identifies who started the job: an engine starts it again if its worker was lost, and the new process waits
    until nothing is left of the old one. `on_lost` is called if another process has taken the lock over.
    """

    def __init__(
        self, folder: Path, call: str = "", *, on_lost: Callable[[], None] = lambda: None, wait: bool = True
    ) -> None:
        """Without `wait`, the lock of another machine that gave a sign of life within the last minute is not taken."""
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
                    self._remove(path, self._lost(holder))
                continue
            except OSError as error:
                raise build_write_error(path, error) from error
            self._write(handle, path)
            self._thread.start()
            return self
        raise self._build_taken_error(read_holder(self.folder))

    def _write(self, handle: int, path: Path) -> None:
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(self._text)
        except OSError as error:  # a full disk
            with suppress(OSError):
                path.unlink()
            raise build_write_error(path, error) from error

    def _lost(self, holder: LockHolder) -> LockHolder:
        """The owner of the lock, once it has shown no sign of life for long; `JobTakenError` if it lives."""
        seen, since = holder, time.monotonic()
        while True:
            is_ours = bool(self.call) and holder.values.get("call") == self.call
            if holder.is_here and not holder.is_alive:
                return holder
            if not is_ours and (holder.is_here or holder != seen or (holder.is_recent and not self._wait)):
                raise self._build_taken_error(holder)
            if holder != seen:
                seen, since = holder, time.monotonic()
            age = time.time() - seen.touched
            patience = min(LOST_AFTER, max(LOST_AFTER - max(age, 0.0), _MISSED * BEAT))
            if not holder.is_here and time.monotonic() - since >= patience:
                return holder
            time.sleep(BEAT / 4)
            found = read_holder(self.folder)
            if found is None:
                return holder
            holder = found

    def _remove(self, path: Path, lost: LockHolder) -> None:
        """Remove a lock whose owner is lost."""
        aside = path.with_name(f"{LOCK}.{self.job}")
        with suppress(FileNotFoundError):
            path.rename(aside)
            if _read_text(aside) != lost.text:  # another process was faster, and this is its lock
                with suppress(FileExistsError):
                    os.link(aside, path)
            aside.unlink()

    def _build_taken_error(self, holder: LockHolder | None) -> JobTakenError:
        values = holder.values if holder is not None else {}
        where = f"{values.get('host', 'another machine')}, process {values.get('pid', '?')}"
        return JobTakenError(f"The job of {self.folder} runs already ({where}); see it with --status, or wait.")

    @property
    def is_taken_over(self) -> bool:
        """Whether another process has the lock now; False if the file cannot be read, as for a moment on a network."""
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


def _get_start_time(number: int) -> float:
    """When a process of this machine started: on Linux in ticks since the machine did, for its clock may be set."""
    with suppress(OSError, IndexError):
        values = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return float(values[19])
    return float(psutil.Process(number).create_time())


def _read_text(path: Path) -> str:
    try:
        if not path.is_file():
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
