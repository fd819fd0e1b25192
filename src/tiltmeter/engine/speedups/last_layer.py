"""Compute a model's last layer only at the positions that are read.

Saves: for a position that is not read, only the keys and values of the last layer's attention are needed. The other
parts of the layer are needed only at the positions that are read: the feed-forward part (two thirds of the layer), and
the queries and the output projection of the attention.
Relies on: the layers are in an `nn.ModuleList`; the matrices are `nn.Linear` or `Conv1D` and are called once in a
forward pass with the states of all positions. The feed-forward matrices are recognised by their shapes.
Check: the layer returns NaN at the other positions, which shows whether these positions are used. First the
feed-forward part, and then each other matrix of the layer, is restricted only if the model's answers do not change.
If a check fails: the layer, or the matrix, is computed at all positions. This is slower and gives the same numbers.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from tiltmeter.engine.speedups.speedup import SpeedUp, Undo, set_attributes
from tiltmeter.engine.tensors import flatten_states

# Maximum share of positions that are read. Above this share, gathering the positions takes longer than computing all of
# them. The value was not measured separately; without the whole speed-up, runs take 0.96 to 1.12 times as long
# (`perf.speedups`, docs/evidence/performance.md).
_MAX_READ_SHARE = 0.75


class LastLayer:
    """The matrices of a model's last layer; some of them are computed only at the positions that are read.

    At first, only the feed-forward matrices are restricted to these positions; `restrict_more_matrices` also restricts
    each other matrix that passes a check.
    """

    def __init__(self, model: nn.Module) -> None:
        self._layer = _find_last_layer(model)
        self._matrices = _list_matrices(self._layer)
        self._widening, self._narrowing = _find_feed_forward(self._matrices)
        self._single: list[nn.Module] = []

    @property
    def is_restricted(self) -> bool:
        """Whether at least one matrix is computed only at the positions that are read."""
        return self._narrowing is not None or bool(self._single)

    @property
    def other_restricted_matrices(self) -> tuple[nn.Module, ...]:
        """The matrices, except feed-forward matrices, that are computed only at the positions that are read."""
        return tuple(self._single)

    def restrict_more_matrices(self, passes: Callable[[], bool]) -> None:
        """Restrict each other matrix of the layer to the positions that are read, if the check still passes."""
        others = [m for m, _, _ in self._matrices if m is not self._narrowing and m not in self._widening]
        for matrix in others:
            self._single.append(matrix)
            if not passes():
                self._single.pop()

    @contextmanager
    def restrict_to_positions(self, rows: Tensor) -> Iterator[None]:
        """Within the context, compute the layer only at the positions with these flat indices; return NaN elsewhere."""
        shapes: list[torch.Size] = []
        positions: list[int] = []

        def count_rows(_module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            positions[:] = [(args[0] if args else kwargs["hidden_states"]).shape[:-1].numel()]

        def gather_rows(_module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor] | None:
            # The keys and values of cross-attention are computed from other states. An index outside these states would
            # raise an exception on a CPU, but it would end the process on a GPU.
            if [args[0].shape[:-1].numel()] != positions:
                raise ValueError("this matrix has another input than its layer")
            if len(rows) > _MAX_READ_SHARE * positions[0]:
                return None
            shapes[:] = [args[0].shape]
            return (flatten_states(args[0])[rows],)

        def scatter_rows(_module: nn.Module, _args: Any, output: Tensor) -> Tensor | None:
            if not shapes:
                return None
            (shape,) = shapes
            all_positions = output.new_full((shape[:-1].numel(), output.shape[1]), torch.nan)
            return all_positions.index_copy_(0, rows, output).view(*shape[:-1], -1)

        handles = [matrix.register_forward_pre_hook(gather_rows) for matrix in (*self._widening, *self._single)]
        if self._layer is not None:
            handles.append(self._layer.register_forward_pre_hook(count_rows, with_kwargs=True))
        if self._narrowing is not None:
            handles.append(self._narrowing.register_forward_hook(scatter_rows))
        handles += [matrix.register_forward_hook(scatter_rows) for matrix in self._single]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def _find_last_layer(model: nn.Module) -> nn.Module | None:
    stacks = _find_outermost_stacks(model)
    return stacks[-1][-1] if stacks else None


def _list_matrices(layer: nn.Module | None) -> list[tuple[nn.Module, int, int]]:
    """Return the matrices of a layer, each with its input width and its output width."""
    return [(m, *_get_shape(m)) for m in layer.modules() if isinstance(m, nn.Linear | Conv1D)] if layer else []


def _find_feed_forward(matrices: Sequence[tuple[nn.Module, int, int]]) -> tuple[list[nn.Module], nn.Module | None]:
    """Return the feed-forward matrices: the ones that widen the hidden states, and the one that narrows them again."""
    # The matrices are searched from the last to the first: the last matrix with fewer outputs than inputs belongs to
    # the feed-forward part, whether attention comes before or after it.
    for narrowing, inside, outside in reversed(matrices):
        widening = [m for m, width_in, width_out in matrices if (width_in, width_out) == (outside, inside)]
        if inside > outside and widening:
            return widening, narrowing
    return [], None


def _find_outermost_stacks(module: nn.Module) -> list[nn.ModuleList]:
    stacks: list[nn.ModuleList] = []
    for child in module.children():
        if isinstance(child, nn.ModuleList) and len(child):
            stacks.append(child)
        else:
            stacks += _find_outermost_stacks(child)
    return stacks


def _get_shape(matrix: nn.Linear | Conv1D) -> tuple[int, int]:
    if isinstance(matrix, nn.Linear):
        return matrix.in_features, matrix.out_features
    return tuple(matrix.weight.shape)  # type: ignore[return-value]


def _apply(answerer: Any, check: Any) -> Undo | None:
    layer = LastLayer(answerer.model)
    undo = set_attributes(answerer, restrict_to_positions=layer.restrict_to_positions)
    if check.gives_same_numbers(few=True):
        layer.restrict_more_matrices(lambda: check.gives_same_numbers(few=True))
    if not layer.is_restricted:
        undo()
        return None
    return undo


SPEEDUP = SpeedUp(name="last_layer", apply=_apply)
