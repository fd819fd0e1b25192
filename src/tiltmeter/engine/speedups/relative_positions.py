"""Override T5's relative position bias, so that a row can contain several inputs.

Saves: nothing by itself, but T5 accepts no position ids, so packing and shared prefixes need this speed-up. Also, the
attention mask is added to the bias once for all layers instead of in each layer.
Relies on: the method `compute_bias(query_length, key_length, ...)` of the attention modules; and each layer gets the
`position_bias` of the previous layer.
Check: the checks of `packing` and `prefixes`, which are the first to use positions other than 0, 1, 2, …
If a check fails: every input has its own row. This is slower and gives the same numbers.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from torch import Tensor, nn

from tiltmeter.engine.speedups.speedup import SpeedUp, Undo, set_attributes


class RelativePositions:
    """Sets token positions in an encoder or decoder whose attention modules have a relative position bias (T5)."""

    def __init__(self, stack: nn.Module) -> None:
        self._attentions: list[Any] = [part for part in stack.modules() if hasattr(part, "compute_bias")]
        self._joining = [attention for attention in self._attentions if _accepts_keywords(attention)]

    @property
    def can_set_positions(self) -> bool:
        """Whether the encoder or decoder has a relative position bias."""
        return bool(self._attentions)

    @contextmanager
    def use_positions(self, depths: Tensor | None) -> Iterator[None]:
        """Set the positions of all tokens to `depths` within the context; None means the tokens' indices in the row."""
        if depths is None:
            yield
            return
        join = partial(_join_bias_and_mask, joined=[])
        hooks = [attention.register_forward_pre_hook(join, with_kwargs=True) for attention in self._joining]
        for attention in self._attentions:
            attention.compute_bias = partial(_compute_bias, depths, attention.compute_bias)
        try:
            yield
        finally:
            for attention in self._attentions:
                del attention.compute_bias
            for hook in hooks:
                hook.remove()


def _compute_bias(
    depths: Tensor, plain: Callable[..., Tensor], queries: int, keys: int, *args: Any, **kwargs: Any
) -> Tensor:
    """Return each head's bias for all pairs of tokens of each row; `depths` are the positions of the tokens."""
    # A position is never larger than the index in the row, so the bias for the row's length includes all positions.
    by_depth = plain(queries, keys, *args, **kwargs)[0]
    return by_depth[:, depths[:, :, None], depths[:, None]].transpose(0, 1)


def _accepts_keywords(attention: nn.Module) -> bool:
    """Return whether the module passes additional keyword arguments, such as `is_causal`, to the attention function."""
    parameters = inspect.signature(attention.forward).parameters.values()
    return any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)


def _join_bias_and_mask(
    _attention: nn.Module, args: tuple[Any, ...], named: dict[str, Any], *, joined: list[Tensor]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Add the mask to the bias once instead of in each layer, because the layers share the bias.

    The sum has as many elements as the attention weights of a batch. When each of T5's 36 attention modules computed
    it, this took a sixth of the GPU's time on StereoSet intrasentence (docs/evidence/performance.md).
    """
    bias, mask = named.get("position_bias"), named.get("mask")
    if bias is None or mask is None or not mask.is_floating_point():
        return None
    if not any(bias is earlier for earlier in joined):
        bias = (bias + mask).contiguous()
        joined.append(bias)
    return args, {**named, "position_bias": bias, "mask": None, "is_causal": False}


def _apply(answerer: Any, _check: Any) -> Undo | None:
    if not hasattr(answerer, "decoder_at"):
        return None
    encoder = RelativePositions(answerer.model.get_encoder())
    decoder = RelativePositions(answerer.model.get_decoder())
    return (
        set_attributes(answerer, encoder_at=encoder.use_positions, decoder_at=decoder.use_positions)
        if decoder.can_set_positions
        else None
    )


SPEEDUP = SpeedUp(name="relative_positions", apply=_apply)
