"""Faster bfloat16 training on a GPU: hidden states are bfloat16, and RMS norms are fused kernels.

With automatic mixed precision, the hidden states between layers are float32 like the token embeddings, and every linear
layer converts its input. Most language models were trained with bfloat16 states. Therefore models with RMS norms use
bfloat16 states here. Models with layer norms are not changed, because layer norms return float32 anyway.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import rms_norm

from tiltmeter.engine.speedups.norms import find_rms_norms


@contextmanager
def use_bf16_residual(core: nn.Module, precision: torch.dtype, device: torch.device) -> Iterator[bool]:
    """Use bfloat16 states and fused RMS norms within the context if the model has RMS norms; yield True if so."""
    norms = find_rms_norms(core) if precision == torch.bfloat16 and device.type == "cuda" else []
    if not norms:
        yield False
        return
    embeddings: nn.Module = core.get_input_embeddings()  # type: ignore[operator]
    hook = embeddings.register_forward_hook(lambda _module, _inputs, states: states.to(precision))
    for module, epsilon in norms:
        _fuse_norm(module, epsilon)
    try:
        yield True
    finally:
        hook.remove()
        for module, _ in norms:
            del module.forward  # removes the instance attribute, so that the method of the class is used again


def _fuse_norm(module: Any, epsilon: float) -> None:
    def forward(states: Tensor) -> Tensor:
        return rms_norm(states, module.weight.shape, module.weight.to(states.dtype), epsilon)

    module.forward = forward
