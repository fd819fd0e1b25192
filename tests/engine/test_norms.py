"""A fused norm equals the one it replaces, and replaces only RMS norms."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers.models.llama.modeling_llama import LlamaRMSNorm
from transformers.models.t5.modeling_t5 import T5LayerNorm

from tests.models.tiny import CAUSAL, SEQ2SEQ, made
from tiltmeter.engine.speedups import norms as module
from tiltmeter.engine.speedups.norms import fuse_norms


class _Norm(nn.Module):
    """Base class of the norms below."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 2, width))
        self.variance_epsilon = 1e-6

    def scaled(self, states: Tensor) -> Tensor:
        wide = states.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)).to(states.dtype)


class _Gated(_Norm):
    """With an optional gate, as in Mamba."""

    def forward(self, states: Tensor, gate: Tensor | None = None) -> Tensor:
        return self.weight * self.scaled(states if gate is None else states * gate)


class _NeedsGate(_Norm):
    """The gate is optional by its signature, but needed."""

    def forward(self, states: Tensor, gate: Any = None) -> Tensor:
        return self.weight * self.scaled(states * gate.to(states.dtype))


class _AroundOne(_Norm):
    """With a weight relative to 1, as in Gemma."""

    def forward(self, states: Tensor) -> Tensor:
        return (1 + self.weight) * self.scaled(states)


class _OutsideTheRoot(_Norm):
    """Epsilon outside the root: differs for small states."""

    def forward(self, states: Tensor) -> Tensor:
        return self.weight * states / (states.pow(2).mean(-1, keepdim=True).sqrt() + self.variance_epsilon)


class _NarrowOnTheWay(_Norm):
    """Squares in the precision of the states: overflows in float16 for large ones."""

    def forward(self, states: Tensor) -> Tensor:
        return self.weight * states * torch.rsqrt(states.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


class _AroundTheMean(_Norm):
    """Subtracts the mean, as in Cohere's models."""

    def forward(self, states: Tensor) -> Tensor:
        return self.weight * self.scaled(states - states.mean(-1, keepdim=True))


class _WithBias(_Norm):
    """Adds a vector, which is zero."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(8))

    def forward(self, states: Tensor) -> Tensor:
        return self.weight * self.scaled(states) + self.bias


OTHER = [_AroundOne, _AroundTheMean, _OutsideTheRoot, _NeedsGate, _WithBias]


def _is_fused(norm: nn.Module) -> bool:
    return "forward" in vars(norm)


@pytest.mark.parametrize(
    ("make", "more"), [(CAUSAL["llama"], {}), (SEQ2SEQ["t5"], {"decoder_input_ids": [[0, 3]]})], ids=["llama", "t5"]
)
def test_logits_are_the_same_with_fused_norms(make: Callable[[], Any], more: dict[str, list[list[int]]]) -> None:
    model = made(make)
    norms = [module for module in model.modules() if isinstance(module, LlamaRMSNorm | T5LayerNorm)]
    with torch.no_grad():
        for norm in norms:  # weights of 1 would hide that they are ignored
            norm.weight.uniform_(0.5, 2)
    inputs = {name: torch.tensor(ids) for name, ids in {"input_ids": [[5, 17, 30, 8, 41]], **more}.items()}
    with torch.inference_mode():
        before = model(**inputs).logits
        assert fuse_norms(model) == norms
        assert fuse_norms(model) == []  # they are fused already
        assert norms
        assert all(_is_fused(norm) for norm in norms)
        torch.testing.assert_close(model(**inputs).logits, before, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("norm", OTHER, ids=lambda n: n.__name__)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_other_norms_are_not_replaced_even_if_a_large_weight_hides_them(norm: type[_Norm], dtype: torch.dtype) -> None:
    other = norm().to(dtype)
    with torch.no_grad():
        other.weight[-1] = 64
    assert fuse_norms(nn.Sequential(other, nn.LayerNorm(8), nn.RMSNorm(8, eps=1e-6), nn.PReLU(8))) == []
    assert not _is_fused(other)


def test_a_norm_that_overflows_in_its_precision_is_not_replaced() -> None:
    whole, half = _NarrowOnTheWay(), _NarrowOnTheWay().half()
    fuse_norms(nn.ModuleList([whole, half]))
    assert _is_fused(whole)
    assert not _is_fused(half)


def test_a_gate_is_applied() -> None:
    plain, fused = _Gated(), _Gated()
    fuse_norms(fused)
    assert _is_fused(fused)
    states, gate = torch.linspace(-2, 5, 16).view(2, 8), torch.linspace(1, 0, 8)
    with torch.inference_mode():
        torch.testing.assert_close(fused(states), plain(states))
        torch.testing.assert_close(fused(states, gate), plain(states, gate))
        torch.testing.assert_close(fused(states, gate=gate), plain(states, gate))


def test_states_in_another_precision_than_the_weight_use_the_original_norm() -> None:
    plain, fused = (T5LayerNorm(8).to(torch.bfloat16) for _ in range(2))
    fuse_norms(fused)
    assert _is_fused(fused)
    states = torch.linspace(-2, 5, 16).view(2, 8)
    with torch.inference_mode():
        assert fused(states).dtype == torch.bfloat16
        torch.testing.assert_close(fused(states), plain(states))


@pytest.mark.parametrize(
    ("device", "dtype", "kernel"),
    [("cpu", torch.float32, False), ("cpu", torch.bfloat16, True), ("meta", torch.float32, True)],
    ids=str,
)
def test_one_kernel_is_used_where_there_is_one(
    device: str, dtype: torch.dtype, kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[Tensor] = []

    def noted(states: Tensor, *_more: Any) -> Tensor:
        used.append(states)
        return states

    monkeypatch.setattr(module, "rms_norm", noted)
    states = torch.ones((2, 8), device=device, dtype=dtype)
    assert module._compute_rms_norm(states, torch.ones(8, device=device, dtype=dtype), 1e-6).shape == states.shape
    assert bool(used) == kernel
