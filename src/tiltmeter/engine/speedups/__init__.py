"""Speed-ups of local models, one file each: the same numbers in less time.

Each can be left out, or all of them (`--plain`): then every input has a row of its own, goes through the unchanged
transformers model, and the requested numbers are selected from the logits of all positions. Deduplication, batches by
length and the float32 normalisation are not speed-ups in this sense but part of the algorithm.

To delete a speed-up, delete its file and its name in the lists below.

torch is imported when a model is loaded, not with this module: runs of models behind a server do without.
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

# Those that change a model, in the order in which they are applied; each is checked with the ones before it in place.
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
# Those that change the process during a run.
PROCESS_SPEEDUPS = ("gc_pause",)
NAMES = MODEL_SPEEDUPS + PROCESS_SPEEDUPS
# For the argument `without`: leave out all.
ALL = frozenset(index_components("speedups", (Component(name, OWN_PACKAGE, name) for name in NAMES)))


def validate_names(without: Collection[str]) -> frozenset[str]:
    """Return the names of speed-ups to leave out; raises ValueError for an unknown name."""
    if unknown := set(without) - ALL:
        raise ValueError(f"{', '.join(sorted(unknown))} is no speed-up; there are {', '.join(NAMES)}.")
    return frozenset(without)


def load_speedup(name: str) -> SpeedUp:
    """Return the speed-up of that name; its module is imported now, since some import transformers, which takes seconds."""
    speedup: SpeedUp = import_module(f"{__name__}.{name}").SPEEDUP
    return speedup


def apply_speedups(answerer: Any, effects: "BatchEffects", without: Collection[str] = ()) -> tuple[str, ...]:
    """Apply all speed-ups but those in `without` to an `Answerer`, and return the names of those now in use.

    Each is checked on a few synthetic inputs. One that changes their numbers is undone, and the reason is added to
    `answerer.disabled`.
    """
    from tiltmeter.engine.equivalence import EquivalenceCheck

    left_out = validate_names(without)
    chosen = [load_speedup(name) for name in MODEL_SPEEDUPS if name not in left_out]
    if not chosen:
        return ()
    return tuple(_apply_checked(chosen, answerer, EquivalenceCheck(answerer, effects)))


def _apply_checked(chosen: Iterable[SpeedUp], answerer: Any, check: "EquivalenceCheck") -> Iterator[str]:
    """Apply speed-ups; the names of those that pass the check."""
    for speedup in chosen:
        try:
            if speedup.rows:
                check.prepare_rows(speedup.rows)
            undo = speedup.apply(answerer, check)
        except Exception:  # weights on several devices or on disk, layers of an unknown library
            logger.debug("The speed-up %s does not apply.", speedup.name, exc_info=True)
            continue
        if undo is None:
            continue
        if check.passes(rows=speedup.rows, rounds_logits_less=speedup.rounds_logits_less):
            check.accept()
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
    """Apply the speed-ups that change the process within the context, and restore its state afterwards."""
    left_out = validate_names(without)
    with ExitStack() as stack:
        # On CPUs without bfloat16 instructions torch turns oneDNN off for good when a bfloat16 product fails.
        stack.callback(_set_mkldnn, _has_mkldnn())
        for name in PROCESS_SPEEDUPS:
            if name not in left_out:
                stack.enter_context(load_speedup(name).during())
        yield


def _has_mkldnn() -> bool:
    """Return whether torch uses oneDNN, as it does at first."""
    torch = sys.modules.get("torch")
    return torch is None or bool(torch.backends.mkldnn.enabled)


def _set_mkldnn(enabled: bool) -> None:
    if torch := sys.modules.get("torch"):
        torch._C._set_mkldnn_enabled(enabled)
