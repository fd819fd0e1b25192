"""Pack several short inputs into one row, separated by an attention mask.

Saves: padding, and small batches: all rows have about the same length, whatever the lengths of the inputs.
Relies on: `position_ids` (for T5 see `relative_positions`) and a four-dimensional additive attention mask, which
transformers passes to attention unchanged. The rows are made in `engine/batch_plan.py`.
Check: several inputs, one of them as long as a row allows, must get the same numbers in one row as each in its own.
This reveals models with other positions, models that ignore the mask, and local attention that `attention_masks` does
not know.
If it fails: every input has a row of its own. Slower, same numbers.
"""

from dataclasses import replace
from typing import Any

from tiltmeter.engine.speedups.speedup import SpeedUp, Undo, try_mask_forms


def _apply(answerer: Any, check: Any) -> Undo | None:
    if not (answerer.accepts_positions() and answerer.layout.pads):
        return None
    before = answerer.layout, answerer.masks
    width = answerer.compute_pack_width()
    answerer.layout = replace(answerer.layout, pack=width)
    try_mask_forms(answerer, lambda: check.passes(rows="packed"), width)

    def undo() -> None:
        answerer.layout, answerer.masks = before

    return undo


SPEEDUP = SpeedUp(name="packing", apply=_apply, rows="packed")
