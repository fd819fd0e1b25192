"""What a processor's batches leave to each other: memory that one has freed and the next will need again.

Left to itself, the C library of most Linux systems hands large blocks back to the system at once, and the next batch
pays for every page anew, a twentieth of the time. Told to keep them, it keeps more and more pieces that do not quite
fit, so that a process would grow with its batches. So it keeps them for two batches.
"""

import ctypes
import sys
from typing import Any

_library: Any = ctypes.CDLL(None) if sys.platform == "linux" else None
# Numbers of mallopt(3): from which size on blocks are handed back at once, and how much may lie free at the end.
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
_KEPT = 1 << 30
_BATCHES = 2


def keep() -> None:
    """Let this process keep what it frees."""
    if hasattr(_library, "mallopt"):
        for threshold in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
            _library.mallopt(threshold, _KEPT)


def give_back(batches: int) -> None:
    """Hand back what is free, if that many batches are enough."""
    if batches % _BATCHES == 0 and hasattr(_library, "malloc_trim"):
        _library.malloc_trim(0)
