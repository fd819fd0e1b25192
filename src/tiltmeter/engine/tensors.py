"""Functions for tensors of hidden states."""

import torch
from torch import Tensor


def flatten_states(states: Tensor) -> Tensor:
    """Return the states of all positions of all rows as one sequence, with the shape (rows × positions, width)."""
    return states.reshape(-1, states.shape[-1])


def is_close(expected: Tensor, actual: Tensor) -> bool:
    """Return whether two tensors differ only by the rounding of their precision."""
    if expected.shape != actual.shape:
        return False
    tolerance = max(8 * torch.finfo(expected.dtype).eps, 1e-5)  # multiplied by the largest absolute value below
    return bool((expected - actual).abs().max() <= tolerance * expected.abs().max())
