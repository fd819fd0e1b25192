"""Small helpers on tensors of hidden states."""

import torch
from torch import Tensor


def flat(states: Tensor) -> Tensor:
    """The states of all positions of all rows, as one sequence."""
    return states.reshape(-1, states.shape[-1])


def same(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors differ by no more than rounding in their precision."""
    if one.shape != other.shape:
        return False
    error = max(8 * torch.finfo(one.dtype).eps, 1e-5)
    return bool((one - other).abs().max() <= error * one.abs().max())
