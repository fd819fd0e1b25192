"""A fused norm gives what the spelled-out one gives, and stands only where it does."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers.models.llama.modeling_llama import LlamaRMSNorm
from transformers.models.t5.modeling_t5 import T5LayerNorm

from tests.models.tiny import CAUSAL, SEQ2SEQ, made
from tiltmeter.engine.speedups.norms import fuse_norms


class _Norm(nn.Module):
    """What the norms below share."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 2, width))
        self.variance_epsilon = 1e-6

    def scaled(self, states: Tensor) -> Tensor:
        wide = states.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)).to(states.dtype)


class _Gated(_Norm):
    """As in Mamba: the states may come with a gate."""

    def forward(self, states: Tensor, gate: Tensor | None = None) -> Tensor:
        return self.weight * self.scaled(states if gate is None else states * gate)


class _NeedsGate(_Norm):
    """Says that it can do without a gate, but cannot."""

    def forward(self, states: Tensor, gate: Any = None) -> Tensor:
        return self.weight * self.scaled(states * gate.to(states.dtype))


class _AroundOne(_Norm):
    """As in Gemma: a weight of 0 leaves the states as they are."""

    def forward(self, states: Tensor) -> Tensor:
        return (1 + self.weight) * self.scaled(states)


class _OutsideTheRoot(_Norm):
    """Differs where states are small."""

    def forward(self, states: Tensor) -> Tensor:
        return self.weight * states / (states.pow(2).mean(-1, keepdim=True).sqrt() + self.variance_epsilon)


class _NarrowOnTheWay(_Norm):
    """Squares in the precision of the states: differs in float16 where these are large."""

    def forward(self, states: Tensor) -> Tensor:
        return self.weight * states * torch.rsqrt(states.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


class _AroundTheMean(_Norm):
    """As in Cohere's models."""

    def forward(self, states: Tensor) -> Tensor:
        return self.weight * self.scaled(states - states.mean(-1, keepdim=True))


def _is_fused(norm: nn.Module) -> bool:
    return "forward" in vars(norm)


@pytest.mark.parametrize(
    ("make", "more"), [(CAUSAL["llama"], {}), (SEQ2SEQ["t5"], {"decoder_input_ids": [[0, 3]]})], ids=["llama", "t5"]
)
def test_a_model_says_the_same_with_its_norms_fused(make: Callable[[], Any], more: dict[str, list[list[int]]]) -> None:
    model = made(make)
    norms = [module for module in model.modules() if isinstance(module, LlamaRMSNorm | T5LayerNorm)]
    with torch.no_grad():
        for norm in norms:  # a weight of 1 everywhere would hide that it is left out
            norm.weight.uniform_(0.5, 2)
    inputs = {name: torch.tensor(ids) for name, ids in {"input_ids": [[5, 17, 30, 8, 41]], **more}.items()}
    with torch.inference_mode():
        before = model(**inputs).logits
        fuse_norms(model)
        fuse_norms(model)
        assert norms
        assert all(_is_fused(norm) for norm in norms)
        torch.testing.assert_close(model(**inputs).logits, before, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("norm", [_AroundOne, _AroundTheMean, _OutsideTheRoot, _NeedsGate], ids=lambda n: n.__name__)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_what_is_another_norm_stays_even_if_a_large_weight_would_hide_it(norm: type[_Norm], dtype: torch.dtype) -> None:
    other = norm().to(dtype)
    with torch.no_grad():
        other.weight[-1] = 64
    fuse_norms(nn.Sequential(other, nn.LayerNorm(8), nn.RMSNorm(8)))
    assert not _is_fused(other)


def test_a_norm_that_overflows_in_its_precision_stays() -> None:
    whole, half = _NarrowOnTheWay(), _NarrowOnTheWay().half()
    fuse_norms(nn.ModuleList([whole, half]))
    assert _is_fused(whole)
    assert not _is_fused(half)


def test_a_gate_is_not_lost() -> None:
    plain, fused = _Gated(), _Gated()
    fuse_norms(fused)
    assert _is_fused(fused)
    states, gate = torch.linspace(-2, 5, 16).view(2, 8), torch.linspace(1, 0, 8)
    with torch.inference_mode():
        torch.testing.assert_close(fused(states), plain(states))
        torch.testing.assert_close(fused(states, gate), plain(states, gate))
        torch.testing.assert_close(fused(states, gate=gate), plain(states, gate))


def test_states_in_another_precision_than_the_weight_come_out_as_the_model_has_it() -> None:
    plain, fused = (T5LayerNorm(8).to(torch.bfloat16) for _ in range(2))
    fuse_norms(fused)
    assert _is_fused(fused)
    states = torch.linspace(-2, 5, 16).view(2, 8)
    with torch.inference_mode():
        assert fused(states).dtype == torch.bfloat16
        torch.testing.assert_close(fused(states), plain(states))
