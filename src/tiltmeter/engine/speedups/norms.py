"""Compute RMS norms (T5, Llama) with fewer kernels.

Saves: transformers computes an RMS norm with seven element-wise operations. The replacement is one fused kernel on a
GPU, and three operations on a CPU, which has no such kernel.
Relies on: a norm is a module without children, with one weight vector and an epsilon attribute that has one of the
usual names. The output of a module, not its class, determines whether it is an RMS norm.
Check: the replacement must equal the original module for states of three magnitudes, in float32 and in the model's
precision, and the model's answers must not change.
If a check fails: the module's own `forward` is used. This is slower and gives the same numbers.
"""

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import rms_norm

from tiltmeter.engine.speedups.speedup import SpeedUp, Undo
from tiltmeter.engine.tensors import is_close

_EPSILONS = ("variance_epsilon", "eps", "epsilon")


def fuse_norms(model: nn.Module) -> list[nn.Module]:
    """Replace the `forward` of each RMS norm in a model; return the changed modules."""
    norms = find_rms_norms(model)
    for module, epsilon in norms:
        _fuse_norm(module, epsilon)
    return [module for module, _ in norms]


def find_rms_norms(model: nn.Module) -> list[tuple[nn.Module, float]]:
    """Return the RMS norms of a model, each with its epsilon."""
    found = []
    for module in model.modules():
        if (epsilon := _find_epsilon(module)) is not None and _is_rms_norm(module, epsilon):
            found.append((module, epsilon))
    return found


def _apply(answerer: Any, _check: Any) -> Undo | None:
    fused = fuse_norms(answerer.model)

    def undo() -> None:
        for module in fused:
            del module.forward  # removes the instance attribute, so that the method of the class is used again

    return undo if fused else None


SPEEDUP = SpeedUp(name="norms", apply=_apply)


def _find_epsilon(module: nn.Module) -> float | None:
    """Return the epsilon of a module without children whose only parameter is a weight vector; otherwise None."""
    if isinstance(module, nn.LayerNorm | nn.RMSNorm) or [*module.children()] or "forward" in vars(module):
        return None
    shapes = {name: parameter.dim() for name, parameter in module.named_parameters()}
    found = [getattr(module, name) for name in _EPSILONS if isinstance(getattr(module, name, None), float)]
    return found[0] if found and shapes == {"weight": 1} else None


@torch.inference_mode()
def _is_rms_norm(module: nn.Module, epsilon: float) -> bool:
    """Return whether a module and Tiltmeter's RMS norm give equal outputs for states of three magnitudes.

    The outputs are compared in float32 with weights other than 1, which detects a different formula, and in the
    module's own precision, which detects an overflow of intermediate results.
    """
    try:
        plain = copy.deepcopy(module).float()
        weight: Tensor = plain.weight  # type: ignore[assignment]
        weight.copy_(torch.linspace(0.5, 2, len(weight)))
        states = torch.linspace(-3, 2, 4 * len(weight), device=weight.device).view(4, -1)
        for size in (1e-3, 1.0, 1e3):
            expected, ours = plain(size * states), _compute_rms_norm(size * states, weight, epsilon)
            if expected.shape != ours.shape or not torch.allclose(expected, ours):
                return False
            own: Tensor = module.weight  # type: ignore[assignment]
            narrow = (size * states).to(own.dtype)
            if not is_close(module(narrow), _compute_rms_norm(narrow, own, epsilon)):
                return False
    except Exception:  # other modules may raise any class of error
        return False
    return True


def _fuse_norm(module: Any, epsilon: float) -> None:
    original = module.forward

    def forward(states: Tensor, *more: Any, **named: Any) -> Any:
        # The original `forward` handles additional arguments (gates) and states of another precision.
        if more or named or states.dtype != module.weight.dtype:
            return original(states, *more, **named)
        return _compute_rms_norm(states, module.weight, epsilon)

    module.forward = forward


def _compute_rms_norm(states: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    if states.device.type != "cpu" or states.dtype != torch.float32:
        return rms_norm(states, weight.shape, weight, epsilon)
    squares = torch.linalg.vector_norm(states, dim=-1, keepdim=True).square_()
    return torch.mul(states, squares.div_(len(weight)).add_(epsilon).rsqrt_()).mul_(weight)
