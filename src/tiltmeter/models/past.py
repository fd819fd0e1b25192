"""What an encoder-decoder has read so far, kept for all sources of a batch, to go on from for any of their rows."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers.cache_utils import DynamicCache, DynamicLayer, EncoderDecoderCache

Source = tuple[int, ...]


class Past:
    """Keys and values of sources, and of what was decoded after each, in the caches that the model left behind."""

    def __init__(self, to_device: Callable[[NDArray[Any]], Tensor]) -> None:
        self._to_device = to_device
        self._caches: list[EncoderDecoderCache] = []
        self._place: dict[Source, tuple[int, int]] = {}  # in which cache, and in which of its lines

    def keep(self, sources: Sequence[Source], cache: EncoderDecoderCache) -> None:
        """Keep what a cache holds of these sources."""
        self._place |= {source: (len(self._caches), line) for line, source in enumerate(sources)}
        self._caches.append(cache)

    def of(self, sources: Sequence[Source]) -> EncoderDecoderCache:
        """A cache for rows of these sources, in this order."""
        places = np.array([self._place[source] for source in sources])
        # For each cache that has some of them: itself, their lines in it, and where they stand among the rows.
        parts = [
            (self._caches[number], self._to_device(places[there, 1]), self._to_device(there))
            for number in np.unique(places[:, 0])
            for there in [np.flatnonzero(places[:, 0] == number)]
        ]
        own = [(cache.self_attention_cache, lines, rows) for cache, lines, rows in parts]
        across = [(cache.cross_attention_cache, lines, rows) for cache, lines, rows in parts]
        depth = len(own[0][0].layers)
        of_sources = DynamicCache()
        of_sources.layers = [_Lines(across, layer) for layer in range(depth)]
        pairs = [_Lines(own, layer) for layer in range(depth)]
        return EncoderDecoderCache(DynamicCache([(pair.keys, pair.values) for pair in pairs]), of_sources)


class _Lines(DynamicLayer):  # type: ignore[no-untyped-call]
    """One layer of some lines of several caches, put together when the model reads it: all layers at once are many."""

    def __init__(self, parts: Sequence[tuple[Any, Tensor, Tensor]], layer: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        del self.keys, self.values  # so that __getattr__ is asked
        self._parts = [(cache.layers[layer], lines, rows) for cache, lines, rows in parts]
        self._longest: int = max(found.keys.shape[2] for found, _, _ in self._parts)
        self.is_initialized = True

    def __getattr__(self, name: str) -> Tensor:
        if name not in ("keys", "values"):
            raise AttributeError(name)
        if len(self._parts) == 1:
            ((found, lines, _),) = self._parts
            only: Tensor = getattr(found, name)[lines]
            return only
        number = sum(len(rows) for _, _, rows in self._parts)
        like: Tensor = getattr(self._parts[0][0], name)
        together = torch.zeros(
            (number, like.shape[1], self._longest, like.shape[3]), dtype=like.dtype, device=like.device
        )
        for found, lines, rows in self._parts:
            tensor: Tensor = getattr(found, name)
            together[rows, :, : tensor.shape[2]] = tensor[lines]
        return together

    def get_seq_length(self) -> int:
        """How many tokens the longest of the lines has."""
        return self._longest
