"""How a model numbers the positions of its input."""

from torch import nn


def first_position(model: nn.Module) -> int:
    """The number of the first token: RoBERTa and its kin begin after the index of the padding, all others with 0."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding) and module.padding_idx is not None:
            return module.padding_idx + 1
    return 0
