"""A fused norm gives what the spelled-out one gives, and stands only where it does."""

import pytest
import torch
from torch import Tensor, nn
from transformers.models.llama.modeling_llama import LlamaRMSNorm
from transformers.models.t5.modeling_t5 import T5LayerNorm

from tests.models.tiny import CAUSAL, SEQ2SEQ, made
from tiltmeter.models.norms import fuse_norms


class _AroundOne(nn.Module):
    """As in Gemma: a weight of 0 leaves the states as they are."""

    def __init__(self, width: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))
        self.eps = eps

    def forward(self, states: Tensor) -> Tensor:
        return states * torch.rsqrt(states.pow(2).mean(-1, keepdim=True) + self.eps) * (1 + self.weight)


def _spelled_out(model: nn.Module) -> list[str]:
    return [name for name, module in model.named_modules() if type(module) in (LlamaRMSNorm, T5LayerNorm)]


@pytest.mark.parametrize(("config", "more"), [(CAUSAL["llama"], {}), (SEQ2SEQ["t5"], {"decoder_input_ids": [[0, 3]]})])
def test_a_model_says_the_same_with_its_norms_fused(config: object, more: dict[str, list[list[int]]]) -> None:
    model = made(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:  # a weight of 1 everywhere would hide that it is left out
                parameter.uniform_(0.5, 2)
    inputs = {name: torch.tensor(ids) for name, ids in {"input_ids": [[5, 17, 30, 8, 41]], **more}.items()}
    with torch.inference_mode():
        before = model(**inputs).logits
        norms = _spelled_out(model)
        fuse_norms(model)
        assert norms
        assert all(name.endswith("._spelled_out") for name in _spelled_out(model))
        torch.testing.assert_close(model(**inputs).logits, before, rtol=1e-5, atol=1e-5)


def test_a_norm_with_another_meaning_of_its_weight_stays() -> None:
    model = nn.Sequential(_AroundOne(8), nn.LayerNorm(8), nn.Linear(8, 8))
    before = list(model)
    fuse_norms(model)
    assert list(model) == before


def test_states_in_another_precision_than_the_weight_come_out_as_the_model_has_it() -> None:
    norm = T5LayerNorm(8).to(torch.bfloat16)
    model = nn.Sequential(norm)
    fuse_norms(model)
    assert model[0] is not norm
    states = torch.linspace(-2, 5, 16).view(2, 8)
    with torch.inference_mode():
        assert model(states).dtype == torch.bfloat16
        torch.testing.assert_close(model(states), norm(states))
