"""Seconds that several things take, measured in turns."""

import gc
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import TypeVar

import torch

from perf.machine import synchronise
from perf.outcome import Outcome
from tiltmeter.engine.speedups.gc_pause import uncollected

Result = TypeVar("Result")


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
            took, outcomes[name] = timed(thing, device)
            seconds[name].append(took)
            outcomes[name].assign_verdicts()
    return seconds, outcomes


def timed(thing: Callable[[], Result], device: torch.device) -> tuple[float, Result]:
    """The seconds that something takes, until the device has done it, and what comes of it."""
    gc.collect()
    synchronise(device)
    with uncollected():  # as in a run of Tiltmeter; else one way would pay for what the other has left
        began = time.perf_counter()
        result = thing()
        synchronise(device)
        return time.perf_counter() - began, result


def spread(seconds: list[float]) -> str:
    """The median, and in brackets the fastest and the slowest; three digits where it went fast."""
    digits = 2 if median(seconds) >= 1 else 3
    return f"{median(seconds):.{digits}f} s ({min(seconds):.{digits}f}–{max(seconds):.{digits}f})"
