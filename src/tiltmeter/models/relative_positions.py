"""Where tokens stand, told to a stack that takes no positions: T5 and its kin see how far apart two tokens are."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from torch import Tensor, nn


class RelativePositions:
    """The attentions of an encoder or decoder that add something to each pair of tokens by their distance."""

    def __init__(self, stack: nn.Module) -> None:
        self._attentions: list[Any] = [part for part in stack.modules() if hasattr(part, "compute_bias")]

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
        for attention in self._attentions:
            attention.compute_bias = partial(_bias_at, depths, attention.compute_bias)
        try:
            yield
        finally:
            for attention in self._attentions:
                del attention.compute_bias


def _bias_at(
    depths: Tensor, plain: Callable[..., Tensor], queries: int, keys: int, *args: Any, **kwargs: Any
) -> Tensor:
    """What is added to the attention of each head, for all pairs of tokens in each row: as if they stood there."""
    # No token stands farther from the beginning of its input than from that of its row.
    by_depth = plain(queries, keys, *args, **kwargs)[0]
    return by_depth[:, depths[:, :, None], depths[:, None]].transpose(0, 1)
