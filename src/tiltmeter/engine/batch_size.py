"""The maximum number of tokens per batch."""

import os
from collections.abc import Mapping

import torch
from torch import nn

from tiltmeter.questions import Kind

# Maximum number of tokens per batch on a CPU. With 2,048 instead of 1,024 tokens and wider packed rows, GPT-2 took 2 to
# 7% less time, and T5 took 7 to 12% less (docs/evidence/performance.md). Larger batches were not faster per token.
_MAX_ON_CPU = 2048
# Maximum number of tokens per batch on a GPU (measured on an H200 with `perf.answering`). Larger batches use the GPU
# better, until the GPU has to wait for the preparation of the next batch. Next-sentence heads may have larger batches,
# because their batches are prepared quickly; encoder-decoders too, because sources and targets go through different
# stacks.
_MAX_ON_GPU: Mapping[Kind, int] = {
    "masked": 32_768,
    "next-sentence": 65_536,
    "causal": 32_768,
    "seq2seq": 131_072,
}
# Minimum number of tokens per batch, even if the memory seems too small. A batch that runs out of memory is halved
# (`execution.py`).
_MIN_TOKENS = 128
# Maximum share of the free memory for the activations of a batch. The rest is for attention weights and temporary
# copies.
_MEMORY_SHARE = 0.25
# Free memory in bytes that is assumed if the system does not report it.
_ASSUMED_FREE = 4 << 30


def estimate_batch_tokens(
    model: nn.Module, kind: Kind, device: torch.device, *, logits_everywhere: bool = False
) -> int:
    """Return the maximum number of tokens per batch; a power of two, so that small changes of memory have no effect.

    `logits_everywhere`: whether the model computes logits at every position.
    """
    widest = max((m.out_features + m.in_features for m in _list_inner_layers(model)), default=1)
    # Bytes per token: a transformer block keeps its input, its output, and a few tensors as wide as its widest layer.
    # The number 6 is an estimate.
    bytes_each = 6 * widest * next(model.parameters()).element_size()
    if logits_everywhere:
        projection = model.get_output_embeddings()  # type: ignore[operator]
        # The logits of the model, and a float32 copy of these logits for the normalisation, are kept for each token.
        bytes_each += 2 * 4 * len(projection.weight) if hasattr(projection, "weight") else 0
    fitting = int(_measure_free_memory(device) * _MEMORY_SHARE / bytes_each)
    limit = _MAX_ON_CPU if device.type == "cpu" else _MAX_ON_GPU[kind]
    return 1 << min(fitting, limit).bit_length() - 1 if fitting > _MIN_TOKENS else _MIN_TOKENS


def _list_inner_layers(model: nn.Module) -> list[nn.Linear]:
    """Return all linear layers except the vocabulary projection."""
    projection = getattr(model, "get_output_embeddings", lambda: None)()
    return [m for m in model.modules() if isinstance(m, nn.Linear) and m is not projection]


def _measure_free_memory(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    known = getattr(os, "sysconf_names", {})
    pages = "SC_AVPHYS_PAGES" if "SC_AVPHYS_PAGES" in known else "SC_PHYS_PAGES"
    try:
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf(pages)
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf, and some systems do not have these names
        return _ASSUMED_FREE
    return free if free > 0 else _ASSUMED_FREE
