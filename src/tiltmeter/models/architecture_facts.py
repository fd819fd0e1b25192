"""A model's architecture, number of parameters, number of layers and vocabulary size, from its config."""

from typing import Any

import torch
from torch import nn

from tiltmeter.models.model_kinds import AUTO_CLASSES
from tiltmeter.questions import Kind

# Names of the number of layers in the configs of encoder-decoders; all other configs use `num_hidden_layers`.
_ENCODER_LAYERS = ("encoder_layers", "num_layers", "num_hidden_layers")
_DECODER_LAYERS = ("decoder_layers", "num_decoder_layers", "num_hidden_layers")


def build_skeleton(config: Any, kind: Kind, *, trust_remote_code: bool = False) -> nn.Module:
    """Return the model with tensors that have shapes but no data."""
    with torch.device("meta"):
        model: nn.Module = AUTO_CLASSES[kind].from_config(config, trust_remote_code=trust_remote_code)
    return model


def collect_facts(config: Any, model: nn.Module) -> dict[str, Any]:
    """Return a model's type, architecture, and numbers of parameters, layers and tokens, for the manifest of a run.

    A parameter that several modules share is counted once.
    """
    return {
        "type": config.model_type,
        "architecture": type(model).__name__,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "layers": _count_layers(config),
        "vocabulary": getattr(config.get_text_config(), "vocab_size", None),
    }


def _count_layers(config: Any) -> int | None:
    """Return the number of layers; for an encoder-decoder, the sum of encoder and decoder layers."""
    text = config.get_text_config()
    if not config.is_encoder_decoder:
        return _read_first_number(text, ("num_hidden_layers",))
    stacks = [_read_first_number(text, names) for names in (_ENCODER_LAYERS, _DECODER_LAYERS)]
    return sum(stack for stack in stacks if stack) or None


def _read_first_number(config: Any, names: tuple[str, ...]) -> int | None:
    values = (getattr(config, name, None) for name in names)
    return next((value for value in values if isinstance(value, int)), None)
