"""Where tokens stand, told to a stack that takes no positions: T5 and its kin see how far apart two tokens are."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from torch import Tensor, nn


class RelativePositions:
    """The attentions of an encoder or decoder that add something to each pair of tokens by their distance."""

    def __init__(self, stack: nn.Module) -> None:
        self._attentions: list[Any] = [part for part in stack.modules() if hasattr(part, "compute_bias")]
        self._joining = [attention for attention in self._attentions if _hands_on_more(attention)]

    @property
    def can_be_told(self) -> bool:
        """Whether there are any."""
        return bool(self._attentions)

    @contextmanager
    def at(self, depths: Tensor | None) -> Iterator[None]:
        """Inside the block the tokens of each row stand at these places; without any, where they are written."""
        if depths is None:
            yield
            return
        join = partial(_join_bias_and_mask, joined=[])
        hooks = [attention.register_forward_pre_hook(join, with_kwargs=True) for attention in self._joining]
        for attention in self._attentions:
            attention.compute_bias = partial(_bias_at, depths, attention.compute_bias)
        try:
            yield
        finally:
            for attention in self._attentions:
                del attention.compute_bias
            for hook in hooks:
                hook.remove()


def _bias_at(
    depths: Tensor, plain: Callable[..., Tensor], queries: int, keys: int, *args: Any, **kwargs: Any
) -> Tensor:
    """What is added to the attention of each head, for all pairs of tokens in each row: as if they stood there."""
    # No token stands farther from the beginning of its input than from that of its row.
    by_depth = plain(queries, keys, *args, **kwargs)[0]
    return by_depth[:, depths[:, :, None], depths[:, None]].transpose(0, 1)


def _hands_on_more(attention: nn.Module) -> bool:
    """Whether what computes attention can be told by name that the mask is all there is to it."""
    parameters = inspect.signature(attention.forward).parameters.values()
    return any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)


def _join_bias_and_mask(
    _attention: nn.Module, args: tuple[Any, ...], named: dict[str, Any], *, joined: list[Tensor]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Add a mask to a bias once, instead of in each layer: a layer is given the bias that the one before it was.

    The sum is as large as all attention of a batch, and on a GPU to make it took as long as attention itself.
    """
    bias, mask = named.get("position_bias"), named.get("mask")
    if bias is None or mask is None or not mask.is_floating_point():
        return None
    if not any(bias is one for one in joined):
        bias = (bias + mask).contiguous()
        joined.append(bias)
    return args, {**named, "position_bias": bias, "mask": None, "is_causal": False}
