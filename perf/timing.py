"""Seconds that several things take, measured in turns."""

import gc
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import TypeVar

import torch

from perf.machine import synchronise
from perf.outcome import Outcome

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
            outcomes[name].settle()
    return seconds, outcomes


def pairs_of_turns(
    one: Callable[[], Outcome], other: Callable[[], Outcome], repeats: int, device: torch.device
) -> tuple[list[tuple[float, float]], tuple[Outcome, Outcome]]:
    """The seconds of two things in alternating turns (A B B A A B …), and what came of each the last time.

    The garbage collector is as it is: it may be what the two differ in.
    """
    pairs: list[tuple[float, float]] = []
    for repeat in range(repeats):
        second, other_outcome = timed(other, device, collect=True) if repeat % 2 else (0.0, None)
        first, outcome = timed(one, device, collect=True)
        if other_outcome is None:
            second, other_outcome = timed(other, device, collect=True)
        pairs.append((first, second))
    for found in (outcome, other_outcome):
        found.settle()
    return pairs, (outcome, other_outcome)


def timed(thing: Callable[[], Result], device: torch.device, *, collect: bool = False) -> tuple[float, Result]:
    """The seconds that something takes, until the device has done it, and what comes of it.

    The garbage collector is off meanwhile, so that one way does not pay for what another has left, unless `collect`
    leaves it on.
    """
    gc.collect()
    synchronise(device)
    was_on = gc.isenabled()
    if not collect:
        gc.disable()
    try:
        began = time.perf_counter()
        result = thing()
        synchronise(device)
        return time.perf_counter() - began, result
    finally:
        if was_on:
            gc.enable()


def spread(seconds: list[float]) -> str:
    """The median, and in brackets the fastest and the slowest; three digits where it went fast."""
    digits = 2 if median(seconds) >= 1 else 3
    return f"{median(seconds):.{digits}f} s ({min(seconds):.{digits}f}–{max(seconds):.{digits}f})"
