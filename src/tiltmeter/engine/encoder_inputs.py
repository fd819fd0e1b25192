"""The inputs of a bidirectional encoder, for packed rows and for rows with one input."""

from typing import Any

from tiltmeter.engine.answerer import Answerer
from tiltmeter.engine.batch_rows import Batch


def build_encoder_inputs(answerer: Answerer, batch: Batch, first_position: int) -> dict[str, Any]:
    """Return the keyword arguments of the model's `forward`; position ids start at `first_position`."""
    ids = [row.ids for row in batch]
    inputs: dict[str, Any] = {"input_ids": answerer.pad_rows(ids)}
    if any(row.has_several_inputs for row in batch):
        positions, numbers = answerer.locate_packed_tokens([row.lengths or (len(row.ids),) for row in batch])
        inputs["position_ids"] = positions + first_position
        same_input = numbers[:, :, None] == numbers[:, None]
        inputs["attention_mask"] = answerer.masks.build_mask(same_input, positions, answerer.dtype)
    else:
        inputs["attention_mask"] = answerer.build_padding_mask(ids)
    if any(row.segments for row in batch):
        inputs["token_type_ids"] = answerer.pad_rows([row.segments or (0,) * len(row.ids) for row in batch])
    return inputs
