"""The time that a model will take, from what runs took before."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tiltmeter.cluster.timing_store import Timing
from tiltmeter.reports.formatting import format_count

# By how much a run may be faster or slower than one like it: the same model and forms of items; the same model on
# other forms; another model of the same kind, scaled by size. Assumed, not measured.
_SPREAD = {"like it": 1.4, "same model": 2.5, "same kind": 3.0}


@dataclass(frozen=True, slots=True)
class ModelSize:
    """The size of the files with the weights in bytes, and the kind; None and empty if they are not known."""

    bytes: int | None = None
    kind: str = ""


@dataclass(frozen=True, slots=True)
class ModelEstimate:
    """The seconds that one model will take, and what that is based on; None if nothing is known."""

    model: str
    low: float | None = None
    high: float | None = None
    basis: str = ""


def estimate_model(
    name: str,
    size: ModelSize,
    forms: str,
    protocol: str,
    items: int,
    timings: Sequence[Timing],
    *,
    runs: int = 1,
    unanswered: float = 1.0,
) -> ModelEstimate:
    """The time of one model, from the runs most like it; `size` and `forms` are those of the run to be estimated.

    The items may be those of several `runs` with the model loaded once; `unanswered` is the share of the questions that
    have no stored answer yet.
    """
    own = [timing for timing in timings if timing.model == name]
    scale = 1.0
    if alike := [timing for timing in own if (timing.forms, timing.protocol) == (forms, protocol)]:
        chosen, basis, spread = (
            alike,
            f"it took part in {format_count(len(alike), 'run')} like this",
            _SPREAD["like it"],
        )
    elif own:
        chosen, basis, spread = own, "it was measured on other items", _SPREAD["same model"]
    elif size.bytes and (others := [t for t in timings if t.bytes and t.kind == size.kind]):
        others = [timing for timing in others if timing.forms == forms] or others
        nearest = min(others, key=lambda timing: abs(math.log((timing.bytes or 1) / (size.bytes or 1))))
        chosen = [timing for timing in others if timing.model == nearest.model]
        scale = size.bytes / (nearest.bytes or 1)
        basis, spread = f"scaled by size from {nearest.model}", _SPREAD["same kind"]
    else:
        return ModelEstimate(name)
    seconds = [_estimate_seconds(timing, items, scale * unanswered, runs) for timing in chosen]
    return ModelEstimate(name, min(seconds) / spread, max(seconds) * spread, basis)


def _estimate_seconds(timing: Timing, items: int, scale: float, runs: int) -> float:
    """The time for so many items at the pace of an earlier run."""
    questions = items * timing.questions / max(1, timing.items)
    pace = timing.asking_seconds / max(1, timing.asked)
    start = timing.start_seconds if scale else 0.0  # weights are loaded if there is a question to ask
    return start + runs * timing.end_seconds + questions * pace * scale


def format_duration(seconds: float) -> str:
    """A time in words, rounded.

    >>> format_duration(0.4), format_duration(42), format_duration(200), format_duration(9000)
    ('1 second', '42 seconds', '3 minutes', '2.5 hours')
    """
    if seconds < 90:
        return format_count(max(1, round(seconds)), "second")
    if seconds < 5400:
        return format_count(round(seconds / 60), "minute")
    return f"{seconds / 3600:.1f} hours"
