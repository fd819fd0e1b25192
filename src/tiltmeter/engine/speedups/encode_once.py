"""Encode each distinct source of an encoder-decoder once for all its targets.

Saves: the candidates of an item have the same source. Without this speed-up, the source is encoded for each candidate.
Relies on: the `encoder_outputs` argument of encoder-decoders in transformers.
Check: the model's answers must equal the answers from complete forward passes of source and target.
If the check fails: every target needs a complete forward pass, without packing or shared prefixes. This is slower and
gives the same numbers.
"""

from typing import Any

from tiltmeter.engine.speedups.speedup import SpeedUp, Undo, set_attributes


def _apply(answerer: Any, _check: Any) -> Undo | None:
    return set_attributes(answerer, encodes_once=True) if hasattr(answerer, "encodes_once") else None


SPEEDUP = SpeedUp(name="encode_once", apply=_apply)
