"""The number of tokens per batch."""

import os
from collections.abc import Mapping

import torch
from torch import nn

from tiltmeter.questions import Kind

# On a CPU, 2,048 tokens instead of 1,024, with wider packed rows, took GPT-2 2 to 7% and T5 7 to 12% less time
# (docs/evidence/performance.md); larger batches were not faster per token.
_MAX_ON_CPU = 2048
# On a GPU (H200, `perf.answering`), larger batches use the device better, until it has to wait for the next batch.
# Batches of next-sentence heads are prepared quickly, and encoder-decoders have two stacks, so both may be larger.
_MAX_ON_GPU: Mapping[Kind, int] = {
    "masked": 32_768,
    "next-sentence": 65_536,
    "causal": 32_768,
    "seq2seq": 131_072,
}
# Minimum even if the memory seems too small, since a batch that runs out of memory is halved (`execution.py`).
_MIN_TOKENS = 128
# Maximum share of free memory for the activations of a batch; the rest is for attention weights and temporary copies.
_MEMORY_SHARE = 0.25
# Assumed if the system does not report free memory.
_ASSUMED_FREE = 4 << 30


def estimate_batch_tokens(
    model: nn.Module, kind: Kind, device: torch.device, *, logits_everywhere: bool = False
) -> int:
    """Return the maximum number of tokens per batch, a power of two, so that little changes of memory have no effect.

    `logits_everywhere`: whether the model projects every position onto the vocabulary.
    """
    widest = max((m.out_features + m.in_features for m in _list_inner_layers(model)), default=1)
    # A block keeps its input, its output and a few tensors as wide as its widest layer in memory; estimated as six.
    bytes_each = 6 * widest * next(model.parameters()).element_size()
    if logits_everywhere:
        projection = model.get_output_embeddings()  # type: ignore[operator]
        # The model's logits, and a float32 copy for the normalisation.
        bytes_each += 2 * 4 * len(projection.weight) if hasattr(projection, "weight") else 0
    fitting = int(_measure_free_memory(device) * _MEMORY_SHARE / bytes_each)
    limit = _MAX_ON_CPU if device.type == "cpu" else _MAX_ON_GPU[kind]
    return 1 << min(fitting, limit).bit_length() - 1 if fitting > _MIN_TOKENS else _MIN_TOKENS


def _list_inner_layers(model: nn.Module) -> list[nn.Linear]:
    """Return all linear layers without the vocabulary projection."""
    projection = getattr(model, "get_output_embeddings", lambda: None)()
    return [m for m in model.modules() if isinstance(m, nn.Linear) and m is not projection]


def _measure_free_memory(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    known = getattr(os, "sysconf_names", {})
    pages = "SC_AVPHYS_PAGES" if "SC_AVPHYS_PAGES" in known else "SC_PHYS_PAGES"
    try:
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf(pages)
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf, and some systems have no such names
        return _ASSUMED_FREE
    return free if free > 0 else _ASSUMED_FREE
