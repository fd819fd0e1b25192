"""Low-rank adapters (LoRA) for training large models."""

from importlib.util import find_spec
from typing import Any

from torch import nn

from tiltmeter.errors import UsageError


def add_lora(core: nn.Module, rank: int) -> nn.Module:
    """Return the model with a trainable adapter on each linear layer; the model's own weights are frozen."""
    if find_spec("peft") is None:
        raise UsageError("peft is not installed, but --lora needs it; install it with: pip install 'tiltmeter[peft]'")
    if rank < 1:
        raise UsageError(f"--lora-rank must be at least 1, not {rank}.")
    import peft

    settings: Any = peft.LoraConfig(r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules="all-linear")
    adapted: nn.Module = peft.get_peft_model(core, settings)
    return adapted
