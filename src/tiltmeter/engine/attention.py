"""How much attention each position of an input gets."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from tiltmeter.errors import ModelError


@torch.inference_mode()
def mean_attention(model: nn.Module, inputs: Mapping[str, Any]) -> Tensor:
    """The attention each position gets, a row for each input: the mean over layers, heads and attending positions.

    This is the weight of a token in AULA (Kaneko and Bollegala 2022). Padding attends to nothing here.
    """
    with _attention_that_can_be_seen(model):
        layers = model.base_model(**inputs, output_attentions=True).attentions  # type: ignore[operator]
    if not layers or any(layer is None for layer in layers):
        raise ModelError("The model does not give its attention weights, so the protocol aula cannot be had; use aul.")
    mask = inputs.get("attention_mask")
    attending = torch.ones_like(inputs["input_ids"]) if mask is None else mask
    weights = attending.float() / attending.sum(dim=1, keepdim=True)
    got = sum(torch.einsum("bq,bhqk->bk", weights, layer.float()) / layer.shape[1] for layer in layers)
    found: Tensor = got / len(layers)
    return found


@contextmanager
def _attention_that_can_be_seen(model: Any) -> Iterator[None]:
    """The fused kernels never form the weights; the plain one does."""
    usual = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        yield
    finally:
        model.set_attn_implementation(usual)
