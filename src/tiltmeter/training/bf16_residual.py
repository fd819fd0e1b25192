"""Less memory traffic in bfloat16 training on a GPU: hidden states in bfloat16, RMS norms as one kernel.

With automatic mixed precision the states between layers stay in float32, because token embeddings are, and every
linear layer converts its input. Most language models were trained with these states in bfloat16, and here they are,
too, in models with RMS norms. Elsewhere layer norms give float32 anyway, and nothing is changed.
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
    """Within the context, states are bfloat16 and RMS norms fused, where that applies; yields whether it does."""
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
            del module.forward  # the instance's attribute, which hides the method of the class


def _fuse_norm(module: Any, epsilon: float) -> None:
    def forward(states: Tensor) -> Tensor:
        return rms_norm(states, module.weight.shape, module.weight.to(states.dtype), epsilon)

    module.forward = forward
