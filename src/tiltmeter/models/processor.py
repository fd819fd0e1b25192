"""Facts about the processor and the main memory of this machine, as far as the system tells them."""

import os
import platform
from pathlib import Path

_CPU_INFO = Path("/proc/cpuinfo")
_BF16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}


def get_processor_name() -> str:
    """Return the name of the processor, or of its architecture if the name is unknown."""
    named = (line.partition(":")[2].strip() for line in _read_cpu_info() if line.startswith("model name"))
    return next(named, "") or platform.processor() or f"CPU ({platform.machine()})"


def has_bf16_instructions() -> bool | None:
    """Return whether the processor has instructions for bfloat16; None if the system does not say it."""
    lines = (line.split() for line in _read_cpu_info() if line.lower().startswith(("flags", "features")))
    flags = next(lines, None)
    return None if flags is None else bool(_BF16_FLAGS & set(flags))


def measure_main_memory() -> int | None:
    """Return the size of the main memory in bytes; None if it is unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None


def _read_cpu_info() -> list[str]:
    if not _CPU_INFO.is_file():
        return []
    return _CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines()
