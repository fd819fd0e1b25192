"""Checks of a model as it is loaded: do its tensors fit its config, and does it read in the direction of its kind?

A model that fails would answer all the same, with numbers that mean nothing.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from tiltmeter.engine.input_limits import find_max_positions
from tiltmeter.errors import ModelError
from tiltmeter.models.tensor_names import select_extra_layers
from tiltmeter.questions import Kind

# Differences of logits below this share of their spread are rounding; half precision rounds coarsely.
_ROUNDING = {torch.float16: 1e-2, torch.bfloat16: 5e-2}
_ROUNDING_OTHERWISE = 1e-4

_MOST_LAYERS = 5000
# The number of tokens of the inputs that show in which direction a model reads.
_LENGTH = 16


def reject_absurd_depth(name: str, config: Any) -> None:
    """Raise an error if the config names more layers than any model has: making them would take for ever."""
    layers = getattr(config.get_text_config(), "num_hidden_layers", None)
    if isinstance(layers, int) and layers > _MOST_LAYERS:
        raise ModelError(f"The config.json of {name} has {layers:,} layers, which no model has; correct it there.")


def reject_missing_tensors(name: str, info: Mapping[str, Any], remedy: str) -> None:
    """Raise an error if tensors were not in the checkpoint; `info` is what `from_pretrained` reports of the loading."""
    if missing := sorted(info["missing_keys"]):
        raise ModelError(
            f"{name}: its checkpoint lacks {len(missing)} tensors, {missing[0]} first, so its answers would be random"
            f"{remedy}"
        )


def reject_extra_layers(name: str, model: nn.Module, info: Mapping[str, Any]) -> None:
    """Raise an error if the checkpoint has tensors of layers that the config leaves out."""
    if beyond := select_extra_layers(info["unexpected_keys"], model.state_dict()):
        raise ModelError(
            f"The checkpoint of {name} has {len(beyond)} tensors of layers that its config.json leaves out, "
            f"{beyond[0]} first, so only a part of the model would be asked; correct the number of layers there, or "
            "fetch the model again."
        )


@torch.inference_mode()
def reject_wrong_direction(name: str, model: nn.Module, kind: Kind, device: torch.device) -> None:
    """Raise an error for a causal model that reads later tokens, and for a masked one that does not."""
    if kind not in ("causal", "masked"):
        return
    size = int(model.config.get_text_config().vocab_size)  # type: ignore[union-attr, operator]
    first, one, other = size // 2, size // 3, size - 1
    # Not very short: models that shorten their inputs need some tokens.
    rest = [one] * min(_LENGTH - 2, (find_max_positions(model) or _LENGTH) - 2)
    inputs = {"input_ids": torch.tensor([[first, one, *rest], [first, other, *rest]], device=device)}
    logits: torch.Tensor = model(**inputs).logits[:, 0].float()
    difference = float((logits[0] - logits[1]).abs().max())
    if kind == "masked" and difference == 0.0:
        raise ModelError(
            f"{name} does not read the tokens after a masked one, so it is not a masked model; if it is a causal one, "
            "say so with --kind causal, else correct is_decoder in its config.json."
        )
    dtype = next(parameter.dtype for parameter in model.parameters() if parameter.is_floating_point())
    if kind == "causal" and difference > _ROUNDING.get(dtype, _ROUNDING_OTHERWISE) * float(logits.std()):
        raise ModelError(
            f"{name} reads the tokens after the one that it is asked about, so it cannot be used as causal: its "
            "answers would be known to it beforehand. Leave out --kind; if it was trained as a decoder, its "
            "config.json should have is_decoder."
        )
