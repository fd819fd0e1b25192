"""Encode each distinct source of an encoder-decoder once for all its targets.

Saves: the three candidates of an item have one source; without this it is encoded for each of them.
Relies on: the `encoder_outputs` argument of encoder-decoders in transformers.
Check: the model's answers must be those of complete forward passes of source and target.
If it fails: every target has a complete forward pass, without packing or shared prefixes. Slower, same numbers.
"""

from typing import Any

from tiltmeter.engine.speedups.speedup import SpeedUp, Undo


def _apply(answerer: Any, _check: Any) -> Undo | None:
    if not hasattr(answerer, "encodes_once"):
        return None
    answerer.encodes_once = True

    def undo() -> None:
        answerer.encodes_once = False

    return undo


SPEEDUP = SpeedUp(name="encode_once", apply=_apply)
