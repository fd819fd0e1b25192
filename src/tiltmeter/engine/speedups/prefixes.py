"""Compute the common prefix of causal inputs once: such inputs form a prefix tree in one row.

Saves: the candidates of an item, and often several items, have a common prefix, which goes through the model once.
Relies on: what `packing` relies on. The trees are made in `engine/plan.py`.
Check: inputs with a common prefix must get the same numbers in one row as each in its own.
If it fails: every input is computed from its beginning. Slower, same numbers.
"""

from typing import Any

from tiltmeter.engine.speedups.speedup import SpeedUp, Undo


def _apply(answerer: Any, _check: Any) -> Undo | None:
    if answerer.kind not in ("causal", "seq2seq") or not answerer.takes_positions():
        return None
    answerer.shares_prefixes = True

    def undo() -> None:
        answerer.shares_prefixes = False

    return undo


SPEEDUP = SpeedUp(name="prefixes", apply=_apply, changes_rows=True)
