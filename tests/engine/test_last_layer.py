"""The last layer: which matrices are feed-forward, and at which positions they are computed."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from tests.support.messages import raises_mentioning
from tiltmeter.engine.speedups import last_layer
from tiltmeter.engine.speedups.last_layer import LastLayer


class Layer(nn.Module):
    """A feed-forward part, and after it a square matrix."""

    def __init__(self, after: nn.Module | None = None) -> None:
        super().__init__()
        self.up, self.gate, self.down = nn.Linear(4, 6), nn.Linear(4, 6), nn.Linear(6, 4)
        self.after = after or nn.Linear(4, 4)

    def forward(self, hidden_states: Tensor) -> Tensor:
        states: Tensor = self.after(hidden_states + self.down(self.up(hidden_states) * self.gate(hidden_states)))
        return states


class Stack(nn.Module):
    """Three stacks of layers, of which the last is called; module lists inside a layer are not stacks."""

    def __init__(self, layer: type[Layer] = Layer, **options: Any) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.other, self.another = nn.ModuleList([Layer()]), nn.ModuleList([Layer(), Layer()])
        self.body = nn.Sequential()
        self.body.layers = nn.ModuleList([Layer(), Layer(), layer(**options)])
        self.body.layers[-1].inner = nn.ModuleList([nn.Linear(4, 6)])
        self.empty = nn.ModuleList()

    def forward(self, states: Tensor) -> Tensor:
        for layer in self.body.layers:  # type: ignore[union-attr]
            states = layer(hidden_states=states) if layer is self.body.layers[0] else layer(states)  # type: ignore[index]
        return states


def test_the_last_layer_is_that_of_the_last_stack() -> None:
    stack = Stack()
    assert last_layer._find_last_layer(stack) is stack.body.layers[-1]  # type: ignore[index]
    assert last_layer._find_last_layer(nn.Linear(2, 2)) is None
    assert last_layer._list_matrices(None) == []


@pytest.mark.parametrize(
    ("shapes", "widening", "narrowing"),
    [
        ({"query": (4, 4), "up": (4, 6), "down": (6, 4)}, ["up"], "down"),
        ({"up": (4, 6), "down": (6, 4), "query": (4, 4), "output": (4, 4)}, ["up"], "down"),
        ({"up": (4, 6), "gate": (4, 6), "down": (6, 4)}, ["up", "gate"], "down"),
        ({"up": (4, 6), "down": (6, 4), "narrow": (6, 3)}, ["up"], "down"),
        ({"query": (4, 4), "output": (4, 4)}, [], None),
        ({"fused": (4, 9), "down": (6, 4)}, [], None),
        ({}, [], None),
    ],
)
def test_the_feed_forward_part_is_found_by_its_shapes(
    shapes: dict[str, tuple[int, int]], widening: list[str], narrowing: str | None
) -> None:
    matrices: Any = [(name, *shape) for name, shape in shapes.items()]
    assert last_layer._find_feed_forward(matrices) == (widening, narrowing)


def test_the_shape_of_a_matrix() -> None:
    assert last_layer._get_shape(nn.Linear(4, 6)) == (4, 6)
    assert last_layer._get_shape(Conv1D(6, 4)) == (4, 6)


@torch.inference_mode()
def test_the_layer_is_computed_only_at_read_positions() -> None:
    stack, states = Stack(), torch.randn(2, 4, 4)
    layer = LastLayer(stack)
    assert layer.is_restricted
    before = stack(states).view(8, 4)
    seen: list[int] = []
    last: Any = stack.body.layers[-1]  # type: ignore[index]
    for matrix in (last.up, last.gate, last.down, last.after):
        matrix.register_forward_hook(lambda _module, _args, output: seen.append(output.shape[:-1].numel()))
    rows = torch.tensor([1, 6])
    with layer.restrict_to_positions(rows):
        found = stack(states)
    assert seen == [2, 2, 2, 8]
    assert found.shape == (2, 4, 4)
    torch.testing.assert_close(found.view(8, 4)[rows], before[rows])
    others = [place for place in range(8) if place not in rows.tolist()]
    assert found.view(8, 4)[others].isnan().all()
    assert torch.equal(stack(states).view(8, 4), before)  # nothing is left behind
    layer.restrict_more_matrices(lambda: True)
    assert layer.other_restricted_matrices == (last.after,)


@torch.inference_mode()
@pytest.mark.parametrize(("read", "narrowed"), [(6, True), (7, False)])
def test_if_most_positions_are_read_all_are_computed(read: int, narrowed: bool) -> None:
    stack, states = Stack(), torch.randn(2, 4, 4)
    with LastLayer(stack).restrict_to_positions(torch.arange(read)):
        assert bool(stack(states).isnan().any()) == narrowed


class Crossing(Layer):
    """Its matrix `after` reads other states than the layer's."""

    def forward(self, hidden_states: Tensor) -> Tensor:
        return hidden_states + self.after(hidden_states[:, :2]).sum(dim=1, keepdim=True)


@torch.inference_mode()
def test_a_matrix_that_reads_other_states_is_an_error() -> None:
    stack, states = Stack(Crossing), torch.randn(2, 4, 4)
    layer = LastLayer(stack)
    layer.restrict_more_matrices(lambda: True)
    with raises_mentioning(ValueError, "another input than its layer"), layer.restrict_to_positions(torch.tensor([1])):
        stack(states)
    assert not any(module._forward_pre_hooks or module._forward_hooks for module in stack.modules())


@torch.inference_mode()
def test_a_matrix_that_fails_the_check_is_not_restricted() -> None:
    layer = LastLayer(Stack())
    layer.restrict_more_matrices(lambda: False)
    assert layer.other_restricted_matrices == ()
    assert layer.is_restricted
    assert not LastLayer(nn.Linear(2, 2)).is_restricted
