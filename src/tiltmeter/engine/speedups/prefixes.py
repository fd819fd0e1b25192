"""Compute the common prefix of causal inputs once: such inputs form a prefix tree in one row.

Saves: the candidates of an item, and often several items, have a common prefix, which goes through the model once.
Relies on: what `packing` relies on. The trees are made in `engine/batch_plan.py`.
Check: inputs with a common prefix, in trees as deep and as wide as they can be, must get the same numbers in one row as
each in its own.
If it fails: every input is computed from its beginning. Slower, same numbers.
"""

from dataclasses import replace
from typing import Any

from tiltmeter.engine.batch_plan import LARGEST_TREE
from tiltmeter.engine.speedups.speedup import SpeedUp, Undo, try_mask_forms


def _apply(answerer: Any, check: Any) -> Undo | None:
    if not (answerer.kind in ("causal", "seq2seq") and answerer.accepts_positions() and answerer.layout.pads):
        return None
    before = answerer.layout, answerer.masks
    answerer.layout = replace(answerer.layout, shares_prefixes=True)
    try_mask_forms(answerer, lambda: check.passes(rows="trees"), LARGEST_TREE)

    def undo() -> None:
        answerer.layout, answerer.masks = before

    return undo


SPEEDUP = SpeedUp(name="prefixes", apply=_apply, rows="trees")
