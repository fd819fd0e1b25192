"""Norms that transformers spells out step by step, replaced by one call that does the same."""

import torch
from torch import Tensor, nn
from torch.nn.functional import rms_norm

from tiltmeter.models.last_layer import same

_EPSILONS = ("variance_epsilon", "eps", "epsilon")


def fuse_norms(model: nn.Module) -> None:
    """Replace each norm by the root mean square, seven small kernels on a GPU, for which one kernel gives the same."""
    for module in list(model.modules()):
        for name, child in module.named_children():
            if (epsilon := _epsilon(child)) is None:
                continue
            fused = _RootMeanSquare(child, epsilon)
            if fused.gives_the_same():
                setattr(module, name, fused)


def _epsilon(module: nn.Module) -> float | None:
    """What a module adds to a mean of squares, if it looks like such a norm: a weight for each state and no more."""
    if isinstance(module, nn.LayerNorm | nn.RMSNorm) or [*module.children()]:
        return None
    shapes = {name: parameter.dim() for name, parameter in module.named_parameters()}
    found = [getattr(module, name) for name in _EPSILONS if isinstance(getattr(module, name, None), float)]
    return found[0] if found and shapes == {"weight": 1} else None


class _RootMeanSquare(nn.Module):
    """States over the root of their mean square, times a weight each."""

    def __init__(self, spelled_out: nn.Module, epsilon: float) -> None:
        super().__init__()
        self._spelled_out = spelled_out
        self._epsilon = epsilon
        self.weight: Tensor = spelled_out.weight  # type: ignore[assignment]

    def forward(self, states: Tensor) -> Tensor:
        if states.dtype != self.weight.dtype:
            kept: Tensor = self._spelled_out(states)  # what is kept in another precision is for the model to say
            return kept
        return rms_norm(states, self.weight.shape, self.weight, self._epsilon)

    @torch.inference_mode()
    def gives_the_same(self) -> bool:
        """See on a few states whether both give the same."""
        states = torch.linspace(-3, 2, 4 * len(self.weight)).view(4, -1).to(self.weight)
        try:
            return same(self._spelled_out(states), self(states))
        except (RuntimeError, ValueError, TypeError, IndexError):
            return False
