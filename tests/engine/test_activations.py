"""A fused activation gives what the spelled-out one gives, and stands wherever a model had that."""

import torch
from transformers.activations import NewGELUActivation

from tests.models.tiny import CAUSAL, made
from tiltmeter.engine.speedups.activations import fuse_activations


def test_gpt2_says_the_same_with_its_activation_fused() -> None:
    model = made(CAUSAL["gpt2"])
    ids = torch.tensor([[5, 17, 30, 8, 41]])
    with torch.inference_mode():
        before = model(ids).logits
        assert any(isinstance(module, NewGELUActivation) for module in model.modules())
        fuse_activations(model)
        assert not any(isinstance(module, NewGELUActivation) for module in model.modules())
        torch.testing.assert_close(model(ids).logits, before, rtol=1e-5, atol=1e-5)


def test_the_activation_far_from_zero_and_in_half_precision() -> None:
    states = torch.cat([torch.linspace(-60, 60, 5001), torch.tensor([0.0, -0.0, 1e-30, 3e4])])
    layer = torch.nn.Sequential(NewGELUActivation())
    expected = NewGELUActivation()(states.double())
    fuse_activations(layer)
    with torch.inference_mode():
        torch.testing.assert_close(layer(states).double(), expected, rtol=1e-5, atol=1e-6)
        half = states.clamp(-60, 60).bfloat16()
        torch.testing.assert_close(layer(half), torch.nn.functional.gelu(half, approximate="tanh"))
