"""The inputs of a bidirectional encoder: rows of one input, or packed rows separated by an attention mask."""

from typing import Any

from torch import nn

from tiltmeter.engine.answerer import Answerer
from tiltmeter.engine.rows import Batch


def encoder_inputs(answerer: Answerer, batch: Batch, first_position: int) -> dict[str, Any]:
    """The keyword arguments of the forward call; position ids start at `first_position`."""
    ids = [row.ids for row in batch]
    inputs: dict[str, Any] = {"input_ids": answerer.padded(ids)}
    if any(row.has_several for row in batch):
        positions, numbers = answerer.inputs_of_tokens([row.lengths or (len(row.ids),) for row in batch])
        inputs["position_ids"] = positions + first_position
        inputs["attention_mask"] = answerer.additive(numbers[:, :, None] == numbers[:, None])
    else:
        inputs["attention_mask"] = answerer.mask(ids)
    if any(row.segments for row in batch):
        inputs["token_type_ids"] = answerer.padded([row.segments or (0,) * len(row.ids) for row in batch])
    return inputs


def first_position(model: nn.Module) -> int:
    """The position id of the first token: 0, or for RoBERTa and similar models the padding index plus 1."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding) and module.padding_idx is not None:
            return module.padding_idx + 1
    return 0
