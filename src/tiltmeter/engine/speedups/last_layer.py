"""A model's last layer, at the positions that are read.

What the last layer makes of a position goes nowhere else: only the keys and values of its attention are for others. So
its feed-forward part, two thirds of the layer, need not be computed where nobody reads, nor what attention asks there
and makes of it. The same holds for what stands between the layers and the vocabulary.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

# Where more of the positions are read, to take them out takes longer than to compute the others.
_MOST_READ = 0.75


class LastLayer:
    """Finds the feed-forward part of a model's last layer by its shape, and narrows what goes through it.

    Whether the model gives the same with less is for its user to check, on a few positions; `narrow_further` then looks
    for other matrices of the layer that can do with less.
    """

    def __init__(self, model: nn.Module) -> None:
        self._matrices = _matrices_of_last_layer(model)
        self._widening, self._narrowing = _feed_forward(self._matrices)
        self._single: list[nn.Module] = []
        # An encoder-decoder is its own backbone, and has nothing in front of its projection.
        backbone: nn.Module = model.base_model  # type: ignore[assignment]
        self._backbone = backbone if backbone is not model else None

    def narrow_further(self, gives_the_same: Callable[[], bool]) -> None:
        """Narrow every other matrix with which the check still holds."""
        others = [m for m, _, _ in self._matrices if m is not self._narrowing and m not in self._widening]
        for matrix in others:
            self._single.append(matrix)
            if not gives_the_same():
                self._single.pop()

    @contextmanager
    def only_at(self, rows: Tensor, *, backbone: bool) -> Iterator[None]:
        """The layer only at the positions with these flat indices; elsewhere it gives no numbers, so that none is read.

        With `backbone` the model's backbone gives these positions alone, in one line.
        """
        shapes: list[torch.Size] = []

        def gather(_module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            if len(rows) > _MOST_READ * args[0].shape[:-1].numel():
                return args
            shapes[:] = [args[0].shape]
            return (flat(args[0])[rows], *args[1:])

        def scatter(_module: nn.Module, _args: Any, output: Tensor) -> Tensor:
            if not shapes:
                return output
            (shape,) = shapes
            everywhere = output.new_full((shape[:-1].numel(), output.shape[-1]), torch.nan)
            return everywhere.index_copy_(0, rows, output).view(*shape[:-1], -1)

        def keep_rows(_module: nn.Module, _args: Any, output: Any) -> Any:
            output.last_hidden_state = flat(output.last_hidden_state)[rows][None]
            return output

        handles = [matrix.register_forward_pre_hook(gather) for matrix in (*self._widening, *self._single)]
        if self._narrowing is not None:
            handles.append(self._narrowing.register_forward_hook(scatter))
        handles += [matrix.register_forward_hook(scatter) for matrix in self._single]
        if backbone and self._backbone is not None:
            handles.append(self._backbone.register_forward_hook(keep_rows))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def same(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors differ by no more than another order of work makes in their precision."""
    if one.shape != other.shape:
        return False
    error = max(8 * torch.finfo(one.dtype).eps, 1e-5)
    return bool((one - other).abs().max() <= error * one.abs().max())


def flat(states: Tensor) -> Tensor:
    """The states of all positions of all rows in one line."""
    return states.reshape(-1, states.shape[-1])


def _matrices_of_last_layer(model: nn.Module) -> list[tuple[nn.Module, int, int]]:
    """Each with the widths of what goes in and what comes out."""
    stacks = _outermost_stacks(model)
    return [(m, *_shape(m)) for m in stacks[-1][-1].modules() if isinstance(m, nn.Linear | Conv1D)] if stacks else []


def _feed_forward(matrices: Sequence[tuple[nn.Module, int, int]]) -> tuple[list[nn.Module], nn.Module | None]:
    """The matrices that widen the hidden states, and the one that narrows them again."""
    # The last matrix of a layer that changes the width is the one that narrows, in whatever order the parts stand.
    for narrowing, inside, outside in reversed(matrices):
        widening = [m for m, width_in, width_out in matrices if (width_in, width_out) == (outside, inside)]
        if inside > outside and widening:
            return widening, narrowing
    return [], None


def _outermost_stacks(module: nn.Module) -> list[nn.ModuleList]:
    stacks: list[nn.ModuleList] = []
    for child in module.children():
        if isinstance(child, nn.ModuleList) and len(child):
            stacks.append(child)
        else:
            stacks += _outermost_stacks(child)
    return stacks


def _shape(matrix: nn.Linear | Conv1D) -> tuple[int, int]:
    """The widths of what goes in and what comes out."""
    if isinstance(matrix, nn.Linear):
        return matrix.in_features, matrix.out_features
    return tuple(matrix.weight.shape)  # type: ignore[return-value]
