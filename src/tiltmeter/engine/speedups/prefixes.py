"""Compute the common prefix of causal inputs once, with a prefix tree in one row.

Saves: the candidates of an item, and often several items, have a common prefix, which goes through the model only once.
Relies on: the same properties of the model as `packing`. The trees are made in `engine/batch_plan.py`.
Check: inputs with a common prefix, in trees as deep and as wide as possible, must get the same answers in one row as in
separate rows.
If the check fails: every input is computed from its beginning. This is slower and gives the same numbers.
"""

from dataclasses import replace
from typing import Any

from tiltmeter.engine.batch_plan import LARGEST_TREE
from tiltmeter.engine.speedups.speedup import SpeedUp, Undo, set_attributes, try_mask_forms


def _apply(answerer: Any, check: Any) -> Undo | None:
    if not (answerer.kind in ("causal", "seq2seq") and answerer.accepts_positions() and answerer.layout.pads):
        return None
    undo = set_attributes(answerer, layout=replace(answerer.layout, shares_prefixes=True), masks=answerer.masks)
    try_mask_forms(answerer, lambda: check.gives_same_numbers(rows="trees"), LARGEST_TREE)
    return undo


SPEEDUP = SpeedUp(name="prefixes", apply=_apply, rows="trees")
