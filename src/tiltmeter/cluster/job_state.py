"""The state file of a job; other processes read the progress and the outcome of the job from this file."""

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
    """Return the content of a job's state file; empty if the file is missing or damaged.

    The value of `state` is `lost` if the file says that the job is running, but its process is gone. Values of a wrong
    type are omitted.
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
    """The state of a running job; within the context, each heartbeat of the job's lock writes the state file."""

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
        self.write_file()
        self._lock.each_beat = self.write_file
        return self

    def __exit__(self, *exc: object) -> None:
        self._lock.each_beat = lambda: None
        self.write_file()

    def update_values(self, **values: Any) -> None:
        """Change values of the state; the next heartbeat writes them to the file."""
        with self._changing:
            self.values |= values

    def write_file(self) -> None:
        """Write the state file now; ignore errors, so that a full disk does not end the job."""
        with self._writing, suppress(OSError, TiltmeterError):
            with self._changing:
                text = json.dumps({**self.values, "time": time.time()}, ensure_ascii=False)
            write_text(self._lock.folder / STATE, text)
