"""Seconds that several things take, measured in turns."""

import gc
import time
from collections.abc import Callable, Mapping
from statistics import median

import torch

from benchmarks.machine import synchronise
from benchmarks.outcome import Outcome
from tiltmeter.garbage import uncollected


def in_turns(
    things: Mapping[str, Callable[[], Outcome]], repeats: int, device: torch.device
) -> tuple[dict[str, list[float]], dict[str, Outcome]]:
    """Do all things one after the other, and that `repeats` times: a machine that slows down slows all alike.

    Every other time in the reverse order, so that no thing always has to do with what the same other one has left.
    """
    seconds: dict[str, list[float]] = {name: [] for name in things}
    outcomes: dict[str, Outcome] = {}
    for repeat in range(repeats):
        for name, thing in list(things.items())[:: -1 if repeat % 2 else 1]:
            outcomes.pop(name, None)  # what the last repeat left is let go of before the clock runs
            gc.collect()
            synchronise(device)
            with uncollected():  # as in a run of Tiltmeter; else one way would pay for what the other has left
                began = time.perf_counter()
                outcome = thing()
                synchronise(device)
                seconds[name].append(time.perf_counter() - began)
            outcome.settle()
            outcomes[name] = outcome
            del outcome
    return seconds, outcomes


def spread(seconds: list[float]) -> str:
    """The median, and in brackets the fastest and the slowest."""
    return f"{median(seconds):.2f} s ({min(seconds):.2f}–{max(seconds):.2f})"
