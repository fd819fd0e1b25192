"""How many tokens fit into one batch."""

import os
from collections.abc import Mapping

import torch
from torch import nn

from tiltmeter.questions import Kind

# How many tokens serve at most. With more, a processor takes no less time for each. A GPU wants many, but not so many
# that it has to wait while they are made ready; more where a token is little work to make ready (one decision is
# read of a pair of sentences), and of an encoder-decoder, which is two stacks to send them through.
_MOST_ON_PROCESSOR = 2048
_MOST_ELSEWHERE: Mapping[Kind, int] = {
    "masked": 32_768,
    "next-sentence": 65_536,
    "causal": 32_768,
    "seq2seq": 131_072,
}
_LEAST = 128
# The share of the free memory that the activations of one batch may take.
_SHARE = 0.25
# Where the system does not tell how much memory is free.
_ASSUMED_FREE = 4 << 30


def batch_tokens(model: nn.Module, kind: Kind, device: torch.device, *, logits_everywhere: bool = False) -> int:
    """How many tokens to send at once: a power of two, so that a little less free memory changes no batch.

    `logits_everywhere` tells that the model projects every position onto the vocabulary.
    """
    widest = max((m.out_features + m.in_features for m in _inner_layers(model)), default=1)
    # A block holds its input, its output, and a few things as wide as its widest layer at the same time.
    bytes_each = 6 * widest * next(model.parameters()).element_size()
    if logits_everywhere:
        projection = model.get_output_embeddings()  # type: ignore[operator]
        # The logits as the model gives them, and again in float32 where they are normalised.
        bytes_each += 2 * 4 * len(projection.weight) if hasattr(projection, "weight") else 0
    fitting = int(_free_memory(device) * _SHARE / bytes_each)
    most = _MOST_ON_PROCESSOR if device.type == "cpu" else _MOST_ELSEWHERE[kind]
    return 1 << min(fitting, most).bit_length() - 1 if fitting > _LEAST else _LEAST


def _inner_layers(model: nn.Module) -> list[nn.Linear]:
    """All linear layers but the projection onto the vocabulary, which is sliced."""
    find = getattr(model, "get_output_embeddings", lambda: None)
    projection = find()
    return [m for m in model.modules() if isinstance(m, nn.Linear) and m is not projection]


def _free_memory(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    known = getattr(os, "sysconf_names", {})
    pages = "SC_AVPHYS_PAGES" if "SC_AVPHYS_PAGES" in known else "SC_PHYS_PAGES"
    try:
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf(pages)
    except (AttributeError, ValueError, OSError):  # not on Windows, and not all names on every system
        return _ASSUMED_FREE
    return found if found > 0 else _ASSUMED_FREE
