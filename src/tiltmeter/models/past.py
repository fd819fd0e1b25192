"""What an encoder-decoder has read so far, kept for all sources of a batch, to go on from for any of their rows."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor
from transformers.cache_utils import DynamicCache, DynamicLayer, EncoderDecoderCache


class Past:
    """Keys and values of all sources of a batch and of what was decoded after each, layer by layer."""

    def __init__(self, sources: Sequence[tuple[int, ...]]) -> None:
        self.place = {source: number for number, source in enumerate(sources)}
        self._longest = max(map(len, sources))
        # Layers of keys and values, first of the decoder's own tokens, then of the sources.
        self._tables: list[list[tuple[Tensor, Tensor]]] = []

    def keep(self, lines: Tensor, cache: EncoderDecoderCache) -> None:
        """Take over what a cache holds of the sources with these numbers."""
        parts: list[Any] = [cache.self_attention_cache, cache.cross_attention_cache]
        found: list[list[tuple[Tensor, Tensor]]] = [
            [(layer.keys, layer.values) for layer in part.layers] for part in parts
        ]
        if not self._tables:
            lengths = (found[0][0][0].shape[2], self._longest)
            self._tables = [
                [(self._table(keys, length), self._table(values, length)) for keys, values in layers]
                for layers, length in zip(found, lengths, strict=True)
            ]
        for tables, layers in zip(self._tables, found, strict=True):
            for pair_of_tables, pair in zip(tables, layers, strict=True):
                for table, tensor in zip(pair_of_tables, pair, strict=True):
                    table[lines, :, : tensor.shape[2]] = tensor

    def of(self, lines: Tensor, longest: int) -> EncoderDecoderCache:
        """A cache for rows of the sources with these numbers, the longest of which is so long."""
        own, across = self._tables
        of_sources = DynamicCache()
        of_sources.layers = [
            _Lines({"keys": keys[:, :, :longest], "values": values[:, :, :longest]}, lines) for keys, values in across
        ]
        return EncoderDecoderCache(DynamicCache([(keys[lines], values[lines]) for keys, values in own]), of_sources)

    def _table(self, like: Tensor, length: int) -> Tensor:
        return like.new_zeros((len(self.place), like.shape[1], length, like.shape[3]))


class _Lines(DynamicLayer):  # type: ignore[no-untyped-call]
    """Some lines of the keys and values of one layer, taken out when the layer reads them: all at once are many."""

    def __init__(self, tables: dict[str, Tensor], lines: Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        del self.keys, self.values  # so that __getattr__ is asked
        self._tables = tables
        self._lines = lines
        self.is_initialized = True

    def __getattr__(self, name: str) -> Tensor:
        if name in ("keys", "values"):
            return self._tables[name][self._lines]
        raise AttributeError(name)

    def get_seq_length(self) -> int:
        return self._tables["keys"].shape[2]
