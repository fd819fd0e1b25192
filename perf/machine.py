"""Facts about the machine: its name, its matrix rate, and the peak memory of a process."""

import os
import platform
import resource
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
import transformers

# The shape of the widest layer of a base-size model.
_HIDDEN, _WIDE = 768, 3072
_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def describe(device: torch.device) -> dict[str, Any]:
    """Return the machine and the versions of packages, for the record."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "python": platform.python_version(),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def synchronise(device: torch.device) -> None:
    """Wait for all work on a GPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def matrix_rate(device: torch.device, dtype: torch.dtype) -> float:
    """Return the operations per second of matrix products of typical shapes: the best of several sizes and repeats."""
    sizes, products = ((8192, 32_768, 131_072), 20) if device.type == "cuda" else ((512, 1024, 2048), 2)
    best = 0.0
    with torch.inference_mode():
        for tokens in sizes:
            states = torch.randn(tokens, _HIDDEN, device=device, dtype=dtype)
            weights = torch.randn(_HIDDEN, _WIDE, device=device, dtype=dtype)
            for _ in range(6):
                synchronise(device)
                began = time.perf_counter()
                for _ in range(products):
                    torch.matmul(states, weights)
                synchronise(device)
                best = max(best, 2.0 * products * tokens * _HIDDEN * _WIDE / (time.perf_counter() - began))
    return best


def peak_memory() -> int:
    """Return the peak memory of this process, in bytes.

    `ru_maxrss` is avoided if possible, because on Linux a process inherits it from its parent.
    """
    if _STATUS.is_file():
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def forget_peak_memory() -> None:
    """Reset the peak, if the system allows it."""
    with suppress(OSError):
        _CLEAR.write_text("5")
