"""The precision of matrix products in training; the trained weights are always float32."""

import torch

from tiltmeter.errors import UsageError
from tiltmeter.training.training_recipe import TrainingRecipe


def select_precision(recipe: TrainingRecipe, device: torch.device) -> torch.dtype:
    """Return the precision of matrix products for a recipe on a device.

    On a CPU, the published recipe uses float32 instead of float16.
    """
    if recipe.precision == "auto":
        has_bf16 = device.type == "cuda" and torch.cuda.is_bf16_supported()
        return torch.bfloat16 if has_bf16 else torch.float32
    if recipe.precision == "float16" and device.type != "cuda":
        if recipe.name == "published":
            return torch.float32
        raise UsageError("float16 needs a GPU; train with --precision float32 or bfloat16.")
    precision: torch.dtype = getattr(torch, recipe.precision)
    return precision
