"""Compute GPT-2's GELU in fewer passes over the feed-forward states.

Saves: transformers' `NewGELUActivation` needs eight element-wise operations on the widest states of a layer. The
replacement needs one fused kernel on a GPU, and four in-place operations on a CPU.
Relies on: `transformers.activations.NewGELUActivation` is the tanh approximation of GELU. Other activations are not
changed.
Check: the replacement must equal the original module for values from -60 to 60, and the model's answers must not
change.
If a check fails: the model's own activation is used. This is slower and gives the same numbers.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu
from transformers.activations import NewGELUActivation

from tiltmeter.engine.speedups.speedup import SpeedUp, Undo
from tiltmeter.engine.tensors import is_close

_LINEAR = 2 * math.sqrt(2 / math.pi)
_CUBIC = _LINEAR * 0.044715


class TanhGelu(nn.Module):
    """The tanh approximation of GELU.

    On a CPU in float32, it is computed with a sigmoid, since (1 + tanh(x)) / 2 = sigmoid(2x). This is faster than
    torch's kernel.
    """

    def forward(self, states: Tensor) -> Tensor:
        """Return the activations of the states."""
        if states.device.type != "cpu" or states.dtype != torch.float32:
            return gelu(states, approximate="tanh")
        factor = torch.addcmul(states.new_tensor(_LINEAR), states, states, value=_CUBIC)
        return factor.mul_(states).sigmoid_().mul_(states)


def fuse_activations(model: nn.Module) -> list[tuple[nn.Module, str, nn.Module]]:
    """Replace the GELU modules of a model; return (parent, name, replaced module) for each replacement."""
    parameter = next(model.parameters(), torch.empty(0))
    replaced: list[tuple[nn.Module, str, nn.Module]] = []
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, NewGELUActivation) and _is_equivalent(child, TanhGelu(), parameter):
                setattr(module, name, TanhGelu())
                replaced.append((module, name, child))
    return replaced


@torch.inference_mode()
def _is_equivalent(plain: nn.Module, fused: nn.Module, like: Tensor) -> bool:
    """Return whether both modules give equal outputs, on the device and in the dtype of `like`.

    The outputs for values near zero are also compared separately, because the tolerance is relative to the largest
    output.
    """
    values = torch.linspace(-60, 60, 4801, device=like.device).to(like.dtype)
    near_zero = values[(values.abs() < 6)]
    return is_close(plain(values), fused(values)) and is_close(plain(near_zero), fused(near_zero))


def _apply(answerer: Any, _check: Any) -> Undo | None:
    replaced = fuse_activations(answerer.model)

    def undo() -> None:
        for module, name, child in replaced:
            setattr(module, name, child)

    return undo if replaced else None


SPEEDUP = SpeedUp(name="activations", apply=_apply)
