"""Estimate how long a run will take from the timings of earlier runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tiltmeter.runs.timing_store import Timing

# Factors by which a run may be faster or slower than estimated. The estimate comes from an earlier run of the same
# model on the same item forms, from an earlier run of the same model on other forms, or from a run of another model of
# the same kind, scaled by size. The factors are assumptions; they were not measured.
_SPREAD = {"similar run": 1.4, "same model": 2.5, "same kind": 3.0}

# The number of earlier runs that an estimate uses: the newest ones, because the speed of a machine changes.
_NEWEST = 5


@dataclass(frozen=True, slots=True)
class ModelSize:
    """The size of a model's weight files in bytes (None if unknown), and the kind of the model (empty if unknown)."""

    bytes: int | None = None
    kind: str = ""


@dataclass(frozen=True, slots=True)
class ModelEstimate:
    """The estimated minimum and maximum seconds for one model (None if unknown); `basis` describes the timings used.

    `seconds` is the most likely time.
    """

    model: str
    low: float | None = None
    high: float | None = None
    basis: str = ""
    seconds: float | None = None


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
    tokens: int | None = None,
) -> ModelEstimate:
    """Estimate how long the runs of one model take, from the timings of the most similar earlier runs.

    `runs` is the number of runs for which the model is loaded once, and `items` the total number of items of these
    runs. `unanswered` is the share of questions without a stored answer. `tokens` is the number of tokens
    of all questions, if it is known: longer questions take more time.
    """
    # A timing without a measured speed is only used for runs with few items: at most twice as many as in its own run.
    timings = [t for t in timings if t.asked or items <= 2 * t.items]
    own = [timing for timing in timings if timing.model == name]
    scale = 1.0
    if similar := [timing for timing in own if (timing.forms, timing.protocol) == (forms, protocol)]:
        similar = similar[:_NEWEST]
        basis = f"based on {len(similar)} similar run{'s' if len(similar) > 1 else ''} of this model"
        chosen, spread = similar, _SPREAD["similar run"]
    elif own:
        chosen, basis, spread = own[:_NEWEST], "based on runs of this model on other items", _SPREAD["same model"]
    elif size.bytes and (others := [t for t in timings if t.bytes and t.asked and t.kind == size.kind]):
        others = [timing for timing in others if timing.forms == forms] or others
        nearest = min(others, key=lambda timing: abs(math.log((timing.bytes or 1) / (size.bytes or 1))))
        chosen = [timing for timing in others if timing.model == nearest.model][:_NEWEST]
        scale = size.bytes / (nearest.bytes or 1)
        basis, spread = f"based on {nearest.model}, scaled by size", _SPREAD["same kind"]
    else:
        return ModelEstimate(name)
    seconds = [_estimate_seconds(timing, items, tokens, scale * unanswered, runs) for timing in chosen]
    return ModelEstimate(name, min(seconds) / spread, max(seconds) * spread, basis, median(seconds))


def _estimate_seconds(timing: Timing, items: int, tokens: int | None, scale: float, runs: int) -> float:
    """Return the estimated seconds for these items and tokens, from the timing of an earlier run."""
    ratio = tokens / timing.tokens if tokens and timing.tokens else items / max(1, timing.items)
    # The number of earlier questions that take as long as the questions about these items.
    questions = timing.questions * ratio
    pace = timing.asking_seconds / max(1, timing.asked)
    # The weights are loaded only if a question has no stored answer.
    start = timing.start_seconds if scale else 0.0
    return start + runs * timing.end_seconds + questions * pace * scale


def format_duration(seconds: float) -> str:
    """Format a duration in words, rounded.

    >>> format_duration(0.4), format_duration(42), format_duration(200), format_duration(9000)
    ('1 second', '42 seconds', '3 minutes', '2.5 hours')
    """
    if seconds < 1.5:
        return "1 second"
    if seconds < 90:
        return f"{round(seconds)} seconds"
    if seconds < 5400:
        return f"{round(seconds / 60)} minutes"
    return f"{seconds / 3600:.1f} hours"
