"""Low-rank adapters (LoRA): train few weights beside those of a large model."""

from importlib.util import find_spec
from typing import Any

from torch import nn

from tiltmeter.errors import UsageError


def add_lora(core: nn.Module, rank: int) -> nn.Module:
    """The core with an adapter on each of its linear layers; only the adapter is trained."""
    if find_spec("peft") is None:
        raise UsageError("--lora needs PEFT: pip install 'tiltmeter[peft]'")
    if rank < 1:
        raise UsageError(f"The rank of an adapter must be at least 1, not {rank}.")
    import peft

    settings: Any = peft.LoraConfig(r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules="all-linear")
    adapted: nn.Module = peft.get_peft_model(core, settings)
    return adapted
