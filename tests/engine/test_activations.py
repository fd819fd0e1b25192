"""The fused activation equals the one it replaces, and replaces it throughout a model."""

import torch
from transformers.activations import NewGELUActivation

from tests.models.tiny import CAUSAL, made
from tiltmeter.engine.speedups.activations import fuse_activations


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
