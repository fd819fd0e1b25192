"""The fused activation equals the one it replaces, and replaces it throughout a model."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers.activations import NewGELUActivation

from tests.models.tiny import CAUSAL, made
from tiltmeter.engine.speedups import activations
from tiltmeter.engine.speedups.activations import TanhGelu, fuse_activations


def test_logits_of_gpt2_are_the_same_with_fused_activations() -> None:
    model = made(CAUSAL["gpt2"])
    ids = torch.tensor([[5, 17, 30, 8, 41]])
    with torch.inference_mode():
        before = model(ids).logits
        assert any(isinstance(module, NewGELUActivation) for module in model.modules())
        fuse_activations(model)
        assert not any(isinstance(module, NewGELUActivation) for module in model.modules())
        torch.testing.assert_close(model(ids).logits, before, rtol=1e-5, atol=1e-5)


def test_large_inputs_and_half_precision() -> None:
    states = torch.cat([torch.linspace(-60, 60, 5001), torch.tensor([0.0, -0.0, 1e-30, 3e4])])
    layer = torch.nn.Sequential(NewGELUActivation())
    expected = NewGELUActivation()(states.double())
    fuse_activations(layer)
    with torch.inference_mode():
        torch.testing.assert_close(layer(states).double(), expected, rtol=1e-5, atol=1e-6)
        half = states.clamp(-60, 60).bfloat16()
        torch.testing.assert_close(layer(half), torch.nn.functional.gelu(half, approximate="tanh"))


class _Wrong(nn.Module):
    """Differs from the activation by a constant where a condition holds."""

    def __init__(self, added: float, low: float, high: float) -> None:
        super().__init__()
        self._added, self._low, self._high = added, low, high

    def forward(self, states: Tensor) -> Tensor:
        size = states.abs()
        right: Tensor = NewGELUActivation()(states)
        return right + self._added * ((size >= self._low) & (size < self._high))


@pytest.mark.parametrize(
    ("added", "low", "high", "agrees"),
    [
        (0.0, 0, 99, True),
        (1e-2, 20, 99, False),  # wrong for large values
        (2e-4, 0, 3, False),  # wrong near zero, by less than the rounding of the largest values
        (2e-4, 20, 99, True),  # rounding of the largest values
    ],
)
def test_activations_are_compared_overall_and_near_zero(added: float, low: float, high: float, agrees: bool) -> None:
    assert activations._is_equivalent(NewGELUActivation(), _Wrong(added, low, high), torch.empty(0)) == agrees


@pytest.mark.parametrize(
    ("device", "dtype", "kernel"),
    [("cpu", torch.float32, False), ("cpu", torch.bfloat16, True), ("meta", torch.float32, True)],
    ids=str,
)
def test_one_kernel_is_used_where_it_is_faster(
    device: str, dtype: torch.dtype, kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[Tensor] = []

    def noted(states: Tensor, **_more: Any) -> Tensor:
        used.append(states)
        return states

    monkeypatch.setattr(activations, "gelu", noted)
    states = torch.ones(4, device=device, dtype=dtype)
    assert TanhGelu()(states).shape == states.shape
    assert bool(used) == kernel
