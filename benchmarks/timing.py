"""Seconds that several things take, measured in turns."""

import gc
import time
from collections.abc import Callable, Mapping
from statistics import median

import torch

from benchmarks.machine import synchronise
from benchmarks.outcome import Outcome


def in_turns(
    things: Mapping[str, Callable[[], Outcome]], repeats: int, device: torch.device
) -> tuple[dict[str, list[float]], dict[str, Outcome]]:
    """Do all things one after the other, and that `repeats` times: a machine that slows down slows all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in things}
    outcomes: dict[str, Outcome] = {}
    for _ in range(repeats):
        for name, thing in things.items():
            gc.collect()
            synchronise(device)
            began = time.perf_counter()
            outcomes[name] = thing()
            synchronise(device)
            seconds[name].append(time.perf_counter() - began)
            outcomes[name].settle()
    return seconds, outcomes


def spread(seconds: list[float]) -> str:
    """The median, and in brackets the fastest and the slowest."""
    return f"{median(seconds):.2f} s ({min(seconds):.2f}–{max(seconds):.2f})"
