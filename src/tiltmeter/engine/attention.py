"""Computation of the mean attention to each position of an input."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from tiltmeter.errors import ModelError


@torch.inference_mode()
def compute_mean_attention(model: nn.Module, inputs: Mapping[str, Any]) -> Tensor:
    """Return the mean attention to each position of each input, as a tensor of inputs × positions.

    The mean is over layers, heads and attending positions; padding is not an attending position. The protocol AULA uses
    the mean as the weight of a token (Kaneko and Bollegala 2022).
    """
    with _use_eager_attention(model):
        layers = model.base_model(**inputs, output_attentions=True).attentions  # type: ignore[operator]
    if not layers or any(layer is None for layer in layers):
        raise ModelError("The model returns no attention weights, which the protocol aula needs; use --protocol aul.")
    mask = inputs.get("attention_mask")
    attending = torch.ones_like(inputs["input_ids"]) if mask is None else mask
    weights = attending.float() / attending.sum(dim=1, keepdim=True)
    total = sum(torch.einsum("bq,bhqk->bk", weights, layer.float()) / layer.shape[1] for layer in layers)
    mean: Tensor = total / len(layers)
    return mean


@contextmanager
def _use_eager_attention(model: Any) -> Iterator[None]:
    """Use eager attention within the context, because fused kernels return no attention weights."""
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        yield
    finally:
        model.set_attn_implementation(before)
