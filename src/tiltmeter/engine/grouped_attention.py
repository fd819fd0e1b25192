"""Attention of a single new token in models whose query heads share key heads (grouped queries).

transformers copies the keys and values of all earlier tokens for each query head. Here, the query heads of one group
are the queries of one key head, so nothing is copied.
"""

from typing import Any

from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

_NAME = "tiltmeter_grouped"
# Arguments that only the function of transformers supports, if they are set.
_OTHER_ARGUMENTS = ("position_bias", "cache", "softcap", "s_aux", "output_attentions")


def use_grouped_attention(model: Any) -> None:
    """Let a model with the attention `sdpa` use the attention of this module; other models are not changed."""
    if getattr(model.config, "_attn_implementation", None) != "sdpa":
        return
    AttentionInterface.register(_NAME, _attend)
    AttentionMaskInterface.register(_NAME, sdpa_mask)
    model.set_attn_implementation(_NAME)


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    batch, heads, length, _ = query.shape
    if (
        length > 1
        or key.shape[1:3] in ((heads, key.shape[2]), (key.shape[1], 1))
        or any(options.get(name) is not None for name in _OTHER_ARGUMENTS)
        or (attention_mask is not None and attention_mask.shape[1] != 1)
    ):
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **options
        )
    grouped = query.view(batch, key.shape[1], heads // key.shape[1], -1)
    found = scaled_dot_product_attention(grouped, key, value, attn_mask=attention_mask, scale=scaling)
    return found.reshape(batch, 1, heads, -1), None
