"""Estimate how long a run will take from the timings of earlier runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tiltmeter.cluster.timing_store import Timing
from tiltmeter.reports.formatting import format_count

# Factors by which a run may be faster or slower than estimated. The estimate comes from an earlier run of the same
# model on the same item forms, from an earlier run of the same model on other forms, or from a run of another model of
# the same kind, scaled by size. The factors are assumptions; they were not measured.
_SPREAD = {"similar run": 1.4, "same model": 2.5, "same kind": 3.0}


@dataclass(frozen=True, slots=True)
class ModelSize:
    """The size of a model's weight files in bytes (None if unknown), and the kind of the model (empty if unknown)."""

    bytes: int | None = None
    kind: str = ""


@dataclass(frozen=True, slots=True)
class ModelEstimate:
    """The estimated minimum and maximum seconds for one model (None if unknown); `basis` describes the timings used."""

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
    """Estimate how long the runs of one model take, from the timings of the most similar earlier runs.

    `runs` is the number of runs for which the model is loaded once, and `items` the total number of items of these
    runs. `unanswered` is the share of questions without a stored answer.
    """
    own = [timing for timing in timings if timing.model == name]
    scale = 1.0
    if similar := [timing for timing in own if (timing.forms, timing.protocol) == (forms, protocol)]:
        basis = f"based on {format_count(len(similar), 'similar run')} of this model"
        chosen, spread = similar, _SPREAD["similar run"]
    elif own:
        chosen, basis, spread = own, "based on runs of this model on other items", _SPREAD["same model"]
    elif size.bytes and (others := [t for t in timings if t.bytes and t.kind == size.kind]):
        others = [timing for timing in others if timing.forms == forms] or others
        nearest = min(others, key=lambda timing: abs(math.log((timing.bytes or 1) / (size.bytes or 1))))
        chosen = [timing for timing in others if timing.model == nearest.model]
        scale = size.bytes / (nearest.bytes or 1)
        basis, spread = f"based on {nearest.model}, scaled by size", _SPREAD["same kind"]
    else:
        return ModelEstimate(name)
    seconds = [_estimate_seconds(timing, items, scale * unanswered, runs) for timing in chosen]
    return ModelEstimate(name, min(seconds) / spread, max(seconds) * spread, basis)


def _estimate_seconds(timing: Timing, items: int, scale: float, runs: int) -> float:
    """Return the estimated seconds for this number of items, from the timing of an earlier run."""
    questions = items * timing.questions / max(1, timing.items)
    pace = timing.asking_seconds / max(1, timing.asked)
    # The weights are loaded only if a question has no stored answer.
    start = timing.start_seconds if scale else 0.0
    return start + runs * timing.end_seconds + questions * pace * scale


def format_duration(seconds: float) -> str:
    """Format a duration in words, rounded.

    >>> format_duration(0.4), format_duration(42), format_duration(200), format_duration(9000)
    ('1 second', '42 seconds', '3 minutes', '2.5 hours')
    """
    if seconds < 90:
        return format_count(max(1, round(seconds)), "second")
    if seconds < 5400:
        return format_count(round(seconds / 60), "minute")
    return f"{seconds / 3600:.1f} hours"
