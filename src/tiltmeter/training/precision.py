"""The precision of a training's matrix products; the weights themselves are kept in float32."""

import torch

from tiltmeter.errors import UsageError
from tiltmeter.training.training_recipe import TrainingRecipe


def select_precision(recipe: TrainingRecipe, device: torch.device) -> torch.dtype:
    """The precision of a recipe on a device.

    The published recipe's float16 is only for GPUs; elsewhere, with a recipe that was not changed, it is float32.
    """
    if recipe.precision == "auto":
        fast = device.type == "cuda" and torch.cuda.is_bf16_supported()
        return torch.bfloat16 if fast else torch.float32
    if recipe.precision == "float16" and device.type != "cuda":
        if recipe.name == "published":
            return torch.float32
        raise UsageError("float16 needs a GPU; train with --precision float32 or bfloat16.")
    found: torch.dtype = getattr(torch, recipe.precision)
    return found
