"""The state file of a job: its progress and how it ended, for other processes to read."""

import json
import os
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from tiltmeter.cluster.job_lock import JobLock, is_held, read_holder
from tiltmeter.errors import TiltmeterError
from tiltmeter.files import write_text
from tiltmeter.text_files import read_json

STATE = "state.json"
_TYPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("job", "plan", "state", "host", "cell", "stage", "slurm", "call"), str),
    **dict.fromkeys(("answered", "questions", "finished", "cells", "attempt"), int),
    **dict.fromkeys(("began", "time"), (int, float)),
    "failed": dict,
    "timings": list,
}


def read_state(folder: Path) -> dict[str, Any]:
    """Return the last written state of a job; empty if there is none, or the file is damaged.

    `state` is `lost` if the process of a running job is gone. Values of a wrong type are left out.
    """
    try:
        values = read_json(folder / STATE)
    except TiltmeterError:
        return {}
    if not isinstance(values, dict):
        return {}
    state = {key: value for key, value in values.items() if isinstance(value, _TYPES.get(key, object))}
    if state.get("state") == "running":
        holder = read_holder(folder)
        if holder is None or holder.values.get("job") != state.get("job") or not is_held(folder):
            state["state"] = "lost"
    return state


class JobState:
    """The state of a running job, written with every heartbeat of its lock while the context lasts."""

    def __init__(self, lock: JobLock, values: Mapping[str, Any]) -> None:
        self._lock = lock
        self.values: dict[str, Any] = {
            "job": lock.job,
            "call": lock.call,
            "state": "running",
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "began": time.time(),
            **values,
        }
        self._changing, self._writing = threading.Lock(), threading.Lock()

    def __enter__(self) -> Self:
        self.write()
        self._lock.each_beat = self.write
        return self

    def __exit__(self, *exc: object) -> None:
        self._lock.each_beat = lambda: None
        self.write()

    def update(self, **values: Any) -> None:
        """Change values; they are written with the next heartbeat."""
        with self._changing:
            self.values |= values

    def write(self) -> None:
        """Write the file now; errors are ignored, because a full disk must not end the job here."""
        with self._writing, suppress(OSError, TiltmeterError):
            with self._changing:
                text = json.dumps({**self.values, "time": time.time()}, ensure_ascii=False)
            write_text(self._lock.folder / STATE, text)
