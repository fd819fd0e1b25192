"""Pack several short inputs into one row, separated by an attention mask.

Saves: padding, and small batches: all rows have about the same length, whatever the lengths of the inputs.
Relies on: `position_ids` (for T5 see `relative_positions`) and a four-dimensional additive attention mask, which
transformers passes to attention unchanged. The rows are made in `engine/plan.py`.
Check: several inputs, one of them as long as a row allows, must get the same numbers in one row as each in its own.
This reveals models with other positions or local attention, and models that ignore the mask.
If it fails: every input has a row of its own. Slower, same numbers.
"""

from typing import Any

from tiltmeter.engine.speedups.speedup import SpeedUp, Undo


def _apply(answerer: Any, _check: Any) -> Undo | None:
    if not answerer.takes_positions():
        return None
    answerer.pack = answerer.width_of_packs()

    def undo() -> None:
        answerer.pack = 0

    return undo


SPEEDUP = SpeedUp(name="packing", apply=_apply, changes_rows=True)
