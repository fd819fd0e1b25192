"""glibc malloc settings while a CPU answers: keep freed blocks for the next batch.

Saves: with its own settings glibc returns large blocks to the system when they are freed, and the next batch has every
page mapped and cleared anew. Kept for too long, blocks that do not quite fit pile up; so what is free is returned after
every second batch.
Relies on: `mallopt` and `malloc_trim` of glibc. Elsewhere, on a GPU, and where the environment tunes malloc
(`MALLOC_…`, `GLIBC_TUNABLES`) nothing is done.
Trial: that of all speed-ups, though no number depends on it.
Afterwards: mallopt cannot be read back, and setting a threshold ends glibc's own adjustment of it. When the last batch
is answered the thresholds are set to the values at which that adjustment ends (mallopt(3): 32 MiB on 64-bit systems,
and twice that for trimming), which is where a process that has freed large blocks would be.
"""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tiltmeter.engine.speedups.speedup import SpeedUp, Undo

# Parameters of mallopt(3).
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
_KEPT = 1 << 30
_LARGEST_DYNAMIC = 4 * 1024 * 1024 * ctypes.sizeof(ctypes.c_long)
# Free memory is returned to the system after so many batches.
_BATCHES = 2


def _c_library() -> Any:
    """The C library of a Linux process, which may or may not be glibc; None elsewhere."""
    if sys.platform != "linux":
        return None
    try:
        return ctypes.CDLL(None)
    except OSError:
        return None


_library: Any = _c_library()
# One entry for each context that is open: several models may be answering.
_open: list[None] = []


def _is_usable() -> bool:
    tuned = any(name.startswith("MALLOC_") for name in os.environ) or "GLIBC_TUNABLES" in os.environ
    return not tuned and all(hasattr(_library, name) for name in ("mallopt", "malloc_trim", "gnu_get_libc_version"))


@contextmanager
def kept() -> Iterator[None]:
    """Within the context, malloc keeps what is freed."""
    _open.append(None)
    if len(_open) == 1:
        _library.mallopt(_MMAP_THRESHOLD, _KEPT)
        _library.mallopt(_TRIM_THRESHOLD, _KEPT)
    try:
        yield
    finally:
        _open.pop()
        if not _open:
            _library.mallopt(_MMAP_THRESHOLD, _LARGEST_DYNAMIC)
            _library.mallopt(_TRIM_THRESHOLD, 2 * _LARGEST_DYNAMIC)
            _library.malloc_trim(0)


def _apply(answerer: Any, _trial: Any) -> Undo | None:
    if answerer.device.type != "cpu" or not _is_usable():
        return None
    batches = 0

    def trim() -> None:
        nonlocal batches
        batches += 1
        if _open and batches % _BATCHES == 0:
            _library.malloc_trim(0)

    answerer.contexts.append(kept)
    answerer.after_batch.append(trim)

    def undo() -> None:
        answerer.contexts.remove(kept)
        answerer.after_batch.remove(trim)

    return undo


SPEEDUP = SpeedUp(name="malloc", apply=_apply)
