"""Checks of a model while it is loaded: tensors must match the config, and attention must match the model's kind.

A model that fails a check would still give answers, but these answers would be meaningless.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from tiltmeter.engine.input_limits import find_max_positions
from tiltmeter.errors import ModelError
from tiltmeter.models.tensor_names import select_extra_layers
from tiltmeter.questions import Kind

# Maximum difference between logits that counts as rounding, as a multiple of the logits' standard deviation.
_ROUNDING = {torch.float16: 1e-2, torch.bfloat16: 5e-2}
_ROUNDING_OTHERWISE = 1e-4

_MAX_LAYERS = 5000
# Length in tokens of the inputs that test whether a model attends to later tokens.
_LENGTH = 16


def reject_absurd_depth(name: str, config: Any) -> None:
    """Raise a ModelError if the config has more than `_MAX_LAYERS` layers, which would take too long to build."""
    layers = getattr(config.get_text_config(), "num_hidden_layers", None)
    if isinstance(layers, int) and layers > _MAX_LAYERS:
        raise ModelError(f"The config.json of {name} has {layers:,} layers, more than {_MAX_LAYERS:,}; correct it.")


def reject_missing_tensors(name: str, info: Mapping[str, Any], remedy: str) -> None:
    """Raise an error if the checkpoint lacks tensors; `info` is the loading info that `from_pretrained` returns."""
    if missing := sorted(info["missing_keys"]):
        raise ModelError(
            f"{name}: the checkpoint lacks {len(missing)} tensors ({missing[0]} is the first), so answers would be "
            f"random{remedy}"
        )


def reject_extra_layers(name: str, model: nn.Module, info: Mapping[str, Any]) -> None:
    """Raise an error if the checkpoint has tensors of layers that the config does not have."""
    if extra := select_extra_layers(info["unexpected_keys"], model.state_dict()):
        raise ModelError(
            f"The checkpoint of {name} has {len(extra)} tensors of layers that are not in its config.json "
            f"({extra[0]} is the first), so only a part of the model would be used; correct the number of layers in "
            "config.json, or download the model again."
        )


@torch.inference_mode()
def reject_wrong_direction(name: str, model: nn.Module, kind: Kind, device: torch.device) -> None:
    """Raise an error if a causal model attends to later tokens, or a masked model does not attend to later tokens."""
    if kind not in ("causal", "masked"):
        return
    size = int(model.config.get_text_config().vocab_size)  # type: ignore[union-attr, operator]
    first, one, other = size // 2, size // 3, size - 1
    # The inputs are not very short, because models that downsample their inputs fail on very short inputs.
    rest = [one] * min(_LENGTH - 2, (find_max_positions(model) or _LENGTH) - 2)
    inputs = {"input_ids": torch.tensor([[first, one, *rest], [first, other, *rest]], device=device)}
    logits: torch.Tensor = model(**inputs).logits[:, 0].float()
    difference = float((logits[0] - logits[1]).abs().max())
    if kind == "masked" and difference == 0.0:
        raise ModelError(
            f"{name} does not attend to tokens after a mask, so it is not a masked model; if it is a causal model, use "
            "--kind causal, otherwise correct is_decoder in its config.json."
        )
    dtype = next(parameter.dtype for parameter in model.parameters() if parameter.is_floating_point())
    if kind == "causal" and difference > _ROUNDING.get(dtype, _ROUNDING_OTHERWISE) * float(logits.std()):
        raise ModelError(
            f"{name} attends to later tokens, so it cannot be used as causal: it would see the token that it has to "
            "predict. Omit --kind; if the model was trained as a decoder, set is_decoder in its config.json."
        )
