"""Pack several short inputs into one row, separated by an attention mask.

Saves: padding and small batches, because all rows have about the same length, whatever the lengths of the inputs are.
Relies on: `position_ids` (for T5 see `relative_positions`), and a four-dimensional additive attention mask, which
transformers passes on to the attention without changes. The rows are made in `engine/batch_plan.py`.
Check: several inputs, one of them as long as possible, must get the same answers in one row as in separate rows. The
check fails for other types of positions, for models that ignore the mask, and for local attention that
`attention_masks` does not support.
If the check fails: every input has its own row. This is slower and gives the same numbers.
"""

from dataclasses import replace
from typing import Any

from tiltmeter.engine.speedups.speedup import SpeedUp, Undo, set_attributes, try_mask_forms


def _apply(answerer: Any, check: Any) -> Undo | None:
    if not (answerer.accepts_positions() and answerer.layout.pads):
        return None
    width = answerer.compute_pack_width()
    undo = set_attributes(answerer, layout=replace(answerer.layout, pack=width), masks=answerer.masks)
    try_mask_forms(answerer, lambda: check.gives_same_numbers(rows="packed"), width)
    return undo


SPEEDUP = SpeedUp(name="packing", apply=_apply, rows="packed")
