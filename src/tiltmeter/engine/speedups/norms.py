"""Norms that transformers spells out step by step, replaced by fewer steps that do the same."""

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import rms_norm

from tiltmeter.engine.speedups.last_layer import same

_EPSILONS = ("variance_epsilon", "eps", "epsilon")


def fuse_norms(model: nn.Module) -> None:
    """Replace each norm by the root mean square, seven small kernels, where fewer give the same."""
    for module in model.modules():
        if (epsilon := _epsilon(module)) is not None and _is_root_mean_square(module, epsilon):
            _fuse(module, epsilon)


def _epsilon(module: nn.Module) -> float | None:
    """What a module adds to a mean of squares, if it looks like such a norm: a weight for each state and no more."""
    if isinstance(module, nn.LayerNorm | nn.RMSNorm) or [*module.children()] or "forward" in vars(module):
        return None
    shapes = {name: parameter.dim() for name, parameter in module.named_parameters()}
    found = [getattr(module, name) for name in _EPSILONS if isinstance(getattr(module, name, None), float)]
    return found[0] if found and shapes == {"weight": 1} else None


@torch.inference_mode()
def _is_root_mean_square(module: nn.Module, epsilon: float) -> bool:
    """See on states of three sizes whether both give the same.

    In float32 with a weight of our own, where any other formula would show; and as the module is, where too narrow a
    precision on the way would.
    """
    try:
        plain = copy.deepcopy(module).float()
        weight: Tensor = plain.weight  # type: ignore[assignment]
        weight.copy_(torch.linspace(0.5, 2, len(weight)))
        states = torch.linspace(-3, 2, 4 * len(weight), device=weight.device).view(4, -1)
        for size in (1e-3, 1.0, 1e3):
            one, other = plain(size * states), _normalised(size * states, weight, epsilon)
            if one.shape != other.shape or not torch.allclose(one, other, rtol=1e-5, atol=1e-7):
                return False
            own: Tensor = module.weight  # type: ignore[assignment]
            narrow = (size * states).to(own.dtype)
            if not same(module(narrow), _normalised(narrow, own, epsilon)):
                return False
    except Exception:  # whatever a module does that is no such norm
        return False
    return True


def _fuse(module: Any, epsilon: float) -> None:
    """Let a norm take fewer steps; all else about it stays."""
    spelled_out = module.forward

    def forward(states: Tensor, *more: Any, **named: Any) -> Any:
        # What a gate does, and which precision states of another one come out in, is for the model to say.
        if more or named or states.dtype != module.weight.dtype:
            return spelled_out(states, *more, **named)
        return _normalised(states, module.weight, epsilon)

    module.forward = forward


def _normalised(states: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """States by their root mean square: one kernel, which a processor does not have.

    It is given three passes over the states instead of six.
    """
    if states.device.type != "cpu" or states.dtype != torch.float32:
        return rms_norm(states, weight.shape, weight, epsilon)
    squares = torch.linalg.vector_norm(states, dim=-1, keepdim=True).square_()
    return torch.mul(states, squares.div_(len(weight)).add_(epsilon).rsqrt_()).mul_(weight)
