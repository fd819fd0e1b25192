"""Time several functions in alternating turns."""

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
    functions: Mapping[str, Callable[[], Outcome]], repeats: int, device: torch.device
) -> tuple[dict[str, list[float]], dict[str, Outcome]]:
    """Call all functions in turn, `repeats` times, so that a slower machine affects all of them.

    The order is reversed every second time, so that no function always follows the same one.
    """
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    outcomes: dict[str, Outcome] = {}
    for repeat in range(repeats):
        for name, function in list(functions.items())[:: -1 if repeat % 2 else 1]:
            outcomes.pop(name, None)  # free the last outcome before the timed part
            took, outcomes[name] = timed(function, device)
            seconds[name].append(took)
            outcomes[name].settle()
    return seconds, outcomes


def pairs_of_turns(
    one: Callable[[], Outcome], other: Callable[[], Outcome], repeats: int, device: torch.device
) -> tuple[list[tuple[float, float]], tuple[Outcome, Outcome]]:
    """Return the seconds of two functions in alternating turns (A B B A A B …), and the last outcome of each.

    The garbage collector stays enabled, because the functions may differ in its use.
    """
    pairs: list[tuple[float, float]] = []
    for repeat in range(repeats):
        second, other_outcome = timed(other, device, collect=True) if repeat % 2 else (0.0, None)
        first, outcome = timed(one, device, collect=True)
        if other_outcome is None:
            second, other_outcome = timed(other, device, collect=True)
        pairs.append((first, second))
    outcome.settle()
    other_outcome.settle()
    return pairs, (outcome, other_outcome)


def timed(function: Callable[[], Result], device: torch.device, *, collect: bool = False) -> tuple[float, Result]:
    """Return the seconds of a function, including its work on the device, and its result.

    The garbage collector is disabled, unless `collect`, so that no function pays for the garbage of another.
    """
    gc.collect()
    synchronise(device)
    was_on = gc.isenabled()
    if not collect:
        gc.disable()
    try:
        began = time.perf_counter()
        result = function()
        synchronise(device)
        return time.perf_counter() - began, result
    finally:
        if was_on:
            gc.enable()


def spread(seconds: list[float]) -> str:
    """Return the median, with minimum and maximum in brackets; three decimals below a second."""
    digits = 2 if median(seconds) >= 1 else 3
    return f"{median(seconds):.{digits}f} s ({min(seconds):.{digits}f}–{max(seconds):.{digits}f})"
