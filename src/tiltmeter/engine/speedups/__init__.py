"""Speed-ups of local models: each file changes the computation so that it gives the same answers in less time.

Each speed-up can be disabled; `--plain` disables all of them. Without speed-ups, every input has its own row and goes
through the unchanged transformers model, and the requested numbers are selected from the logits of all positions.
Deduplication, batches by length and the float32 normalisation are not speed-ups; they are part of the algorithm.

To delete a speed-up, delete its file and its name in the lists below.

This module does not import torch, because runs with models on a server do not need torch.
"""

import logging
import math
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tiltmeter.engine.speedups.speedup import SpeedUp
from tiltmeter.registry import OWN_PACKAGE, Component, index_components

if TYPE_CHECKING:
    from tiltmeter.engine.batch_effects import BatchEffects
    from tiltmeter.engine.equivalence import EquivalenceCheck

logger = logging.getLogger(__name__)

# Speed-ups that change a model, in the order in which they are applied. Each speed-up is checked together with all
# speed-ups before it.
MODEL_SPEEDUPS = (
    "activations",
    "norms",
    "wanted_positions",
    "last_layer",
    "encode_once",
    "relative_positions",
    "packing",
    "prefixes",
)
# Speed-ups that change the Python process during a run.
PROCESS_SPEEDUPS = ("gc_pause",)
NAMES = MODEL_SPEEDUPS + PROCESS_SPEEDUPS
# The names of all speed-ups; as the argument `without`, this set disables all speed-ups.
ALL = frozenset(index_components("speedups", (Component(name, OWN_PACKAGE, name) for name in NAMES)))


def validate_speedup_names(without: Collection[str]) -> frozenset[str]:
    """Return the names of the speed-ups to disable as a set; raise a ValueError for an unknown name."""
    if unknown := set(without) - ALL:
        raise ValueError(f"Unknown speed-up {', '.join(sorted(unknown))}; choose from {', '.join(NAMES)}.")
    return frozenset(without)


def load_speedup(name: str) -> SpeedUp:
    """Import and return the speed-up with this name."""
    speedup: SpeedUp = import_module(f"{__name__}.{name}").SPEEDUP
    return speedup


def apply_speedups(answerer: Any, effects: "BatchEffects", without: Collection[str] = ()) -> tuple[str, ...]:
    """Apply all speed-ups except the ones in `without` to an `Answerer`; return the names of the speed-ups in use.

    Each speed-up is checked with a few synthetic inputs. If it changes the answers for these inputs, it is undone, and
    the reason is added to `answerer.disabled`.
    """
    from tiltmeter.engine.equivalence import EquivalenceCheck

    excluded = validate_speedup_names(without)
    chosen = [load_speedup(name) for name in MODEL_SPEEDUPS if name not in excluded]
    if not chosen:
        return ()
    return tuple(_apply_checked_speedups(chosen, answerer, EquivalenceCheck(answerer, effects)))


def _apply_checked_speedups(chosen: Iterable[SpeedUp], answerer: Any, check: "EquivalenceCheck") -> Iterator[str]:
    """Apply speed-ups one after the other, and yield the names of the speed-ups that pass the check."""
    for speedup in chosen:
        try:
            if speedup.rows:
                check.prepare_rows(speedup.rows)
            undo = speedup.apply(answerer, check)
        except Exception:  # for example weights on several devices or on disk, or layers of an unknown library
            logger.debug("The speed-up %s does not apply.", speedup.name, exc_info=True)
            continue
        if undo is None:
            continue
        if check.gives_same_numbers(rows=speedup.rows, rounds_logits_less=speedup.rounds_logits_less):
            check.accept_last_numbers()
            yield speedup.name
        else:
            undo()
            answerer.disabled = {**answerer.disabled, speedup.name: _describe_difference(check.difference)}


def _describe_difference(difference: float) -> str:
    if math.isfinite(difference):
        return f"it changes numbers by up to {difference:.2g}"
    return "the model does not support it"


@contextmanager
def apply_process_speedups(without: Collection[str] = ()) -> Iterator[None]:
    """Apply the speed-ups that change the process, and restore the process's state at the end of the context."""
    excluded = validate_speedup_names(without)
    with ExitStack() as stack:
        # The state of oneDNN is restored too: on CPUs without bfloat16 instructions, torch permanently disables oneDNN
        # if a bfloat16 matrix product fails.
        stack.callback(_set_mkldnn, _has_mkldnn())
        for name in PROCESS_SPEEDUPS:
            if name not in excluded:
                stack.enter_context(load_speedup(name).during())
        yield


def _has_mkldnn() -> bool:
    torch = sys.modules.get("torch")
    return torch is None or bool(torch.backends.mkldnn.enabled)


def _set_mkldnn(enabled: bool) -> None:
    if torch := sys.modules.get("torch"):
        torch._C._set_mkldnn_enabled(enabled)
