"""Pack several short inputs into one row, separated by an attention mask.

Saves: padding and small batches, since all rows have about the same length, whatever the lengths of the inputs.
Relies on: `position_ids` (for T5 see `relative_positions`) and a four-dimensional additive attention mask, which
transformers passes to attention unchanged. The rows are made in `engine/batch_plan.py`.
Check: several inputs, one of them as long as possible, must get the same numbers in one row as in separate rows. This
reveals other types of positions, models that ignore the mask, and local attention that `attention_masks` does not
support.
If it fails: every input has its own row. Slower, same numbers.
"""

from dataclasses import replace
from typing import Any

from tiltmeter.engine.speedups.speedup import SpeedUp, Undo, set_attributes, try_mask_forms


def _apply(answerer: Any, check: Any) -> Undo | None:
    if not (answerer.accepts_positions() and answerer.layout.pads):
        return None
    width = answerer.compute_pack_width()
    undo = set_attributes(answerer, layout=replace(answerer.layout, pack=width), masks=answerer.masks)
    try_mask_forms(answerer, lambda: check.passes(rows="packed"), width)
    return undo


SPEEDUP = SpeedUp(name="packing", apply=_apply, rows="packed")
