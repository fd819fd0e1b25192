"""Speed-ups of local models, one file each: the same numbers in less time.

What is here can be left out, one by one or all at once (`--plain`): then every input has a row of its own, goes through
the unchanged transformers model, and the wanted numbers are picked from the logits of all positions. Deduplication,
batches of like length and the float32 normalisation are not speed-ups in this sense but part of the algorithm.

A speed-up is deleted by deleting its file and its line (or word) in the lists below.
"""

import logging
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

import torch

from tiltmeter.engine.speedups.speedup import SpeedUp
from tiltmeter.engine.trial import ModelTrial

logger = logging.getLogger(__name__)

# Those of a model, in the order in which they are applied: each trial is run with the ones before it in place.
OF_A_MODEL = (
    "activations",
    "norms",
    "wanted_positions",
    "last_layer",
    "encode_once",
    "relative_positions",
    "packing",
    "prefixes",
)
# Those of the process, for the length of a run.
OF_THE_PROCESS = ("gc_pause",)
NAMES = OF_A_MODEL + OF_THE_PROCESS
# To be given as `without`.
ALL = frozenset(NAMES)


def check_names(without: Collection[str]) -> frozenset[str]:
    """The names of speed-ups to leave out, if they are such names."""
    if unknown := set(without) - ALL:
        raise ValueError(f"{', '.join(sorted(unknown))} is no speed-up; there are {', '.join(NAMES)}.")
    return frozenset(without)


def speedup_named(name: str) -> SpeedUp:
    """The speed-up in the module of that name."""
    found: SpeedUp = import_module(f"{__name__}.{name}").SPEEDUP  # some import transformers, which takes seconds
    return found


@torch.inference_mode()
def speed_up(answerer: Any, without: Collection[str] = ()) -> tuple[str, ...]:
    """Apply all speed-ups but those in `without` to an `Answerer`, and return the names of those now in use.

    Each is tried on a few made inputs. One that gives other numbers, or an error, is undone.
    """
    left_out = check_names(without)
    chosen = [speedup_named(name) for name in OF_A_MODEL if name not in left_out]
    if not chosen:
        return ()
    trial = ModelTrial(answerer)
    used = []
    for speedup in chosen:
        if speedup.changes_rows:
            trial.prepare_rows()
        try:
            undo = speedup.apply(answerer, trial)
        except Exception:  # weights on several devices or on disk, layers of an unknown library
            logger.debug("The speed-up %s does not apply.", speedup.name, exc_info=True)
            continue
        if undo is None:
            continue
        if trial.passes(rows=speedup.changes_rows, rounds_logits_less=speedup.rounds_logits_less):
            trial.accept()
            used.append(speedup.name)
        else:
            undo()
            logger.warning(
                "The speed-up %s gives other numbers on %s and is not used: answers stay the same, only slower.",
                speedup.name,
                type(answerer.model).__name__,
            )
    return tuple(used)


@contextmanager
def running(without: Collection[str] = ()) -> Iterator[None]:
    """The speed-ups that concern the process, for the length of a run; afterwards all is as before."""
    left_out = check_names(without)
    with ExitStack() as stack:
        # Torch turns oneDNN off for good when a product in bfloat16 fails, on processors without such instructions.
        stack.callback(torch._C._set_mkldnn_enabled, bool(torch.backends.mkldnn.enabled))
        for name in OF_THE_PROCESS:
            if name not in left_out:
                stack.enter_context(speedup_named(name).during())
        yield
