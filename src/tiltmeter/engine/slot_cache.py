"""The cache of keys and values of a batch of texts; texts can leave the batch and others can join it.

Each text has a row of the cache. Keys and values are written in place, so a step copies no earlier keys. The newest
tokens of all rows are in the same column; the columns before a shorter text are empty.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin


@dataclass(slots=True)
class SlotLayout:
    """The part of the cache that the next pass through the model writes and reads.

    The pass writes the columns from `start` to `end` of the rows from `first_row`, and reads the columns from `begin`.
    `prefix` is the number of tokens of the prefix that is copied to the columns before `start`. With `records_prefix`,
    the pass computes the prefix itself.
    """

    rows: int
    columns: int
    first_row: int = 0
    begin: int = 0
    start: int = 0
    end: int = 0
    prefix: int = 0
    records_prefix: bool = False


class SlotLayer(CacheLayerMixin):  # type: ignore[no-untyped-call]
    """The keys and values of one layer, as tensors (row, head, column, number)."""

    is_sliding = False

    def __init__(self, layout: SlotLayout) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._layout = layout
        self._prefix: tuple[Tensor, Tensor] | None = None

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Allocate the tensors."""
        self.keys, self.values = (
            # Empty columns are masked, but must not contain values that are not finite.
            torch.zeros(
                self._layout.rows, new.shape[1], self._layout.columns, new.shape[3], dtype=new.dtype, device=new.device
            )
            for new in (key_states, value_states)
        )
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *_args: Any, **_options: Any) -> tuple[Tensor, Tensor]:
        """Write the keys and values of new tokens; return those of all tokens that the pass reads."""
        layout = self._layout
        if layout.records_prefix:
            self._prefix = key_states, value_states
            return key_states, value_states
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        assert self.keys is not None
        assert self.values is not None
        rows = slice(layout.first_row, layout.first_row + key_states.shape[0])
        for index, (whole, new) in enumerate(((self.keys, key_states), (self.values, value_states))):
            whole[rows, :, layout.start : layout.end] = new
            if layout.prefix:
                assert self._prefix is not None
                whole[rows, :, layout.start - layout.prefix : layout.start] = self._prefix[index]
        read = slice(layout.begin, layout.end)
        return self.keys[rows, :, read], self.values[rows, :, read]

    def move_rows(self, sources: Tensor, targets: Tensor) -> None:
        """Copy the rows `sources` to the rows `targets`; no row is in both."""
        read = slice(self._layout.begin, self._layout.end)
        for whole in (self.keys, self.values):
            assert whole is not None
            whole[targets.to(whole.device), :, read] = whole[sources.to(whole.device), :, read]

    def move_columns(self, distance: int) -> None:
        """Move all columns to the left."""
        for whole in (self.keys, self.values):
            assert whole is not None
            whole[:, :, :-distance] = whole[:, :, distance:].clone()

    def get_mask_sizes(self, query_length: Any) -> tuple[int, int]:
        """Return the number of columns that the pass reads, and 0."""
        length = query_length if isinstance(query_length, int) else len(query_length)
        return self.get_seq_length() + length, 0

    def get_seq_length(self) -> int:
        """Return the number of columns that the pass reads before the new ones."""
        return 0 if self._layout.records_prefix else self._layout.start - self._layout.begin

    def get_max_length(self) -> int:
        """Return the number of columns."""
        return self._layout.columns

    get_max_cache_shape = get_max_length


class SlotCache(Cache):
    """The cache of all layers; layers are added when the model first uses them."""

    def __init__(self, rows: int, columns: int) -> None:
        self.layout = SlotLayout(rows, columns)
        super().__init__(layer_class_to_replicate=lambda: SlotLayer(self.layout))  # type: ignore[arg-type]

    def move_rows(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        """Copy the rows `sources` to the rows `targets`; no row is in both."""
        for layer in self._slot_layers:
            layer.move_rows(torch.tensor(sources), torch.tensor(targets))

    def move_columns(self, distance: int) -> None:
        """Move all columns to the left."""
        for layer in self._slot_layers:
            layer.move_columns(distance)

    def compute_column_bytes(self) -> int:
        """Return the size in bytes of one column of one row in all layers."""
        tensors = [tensor for layer in self._slot_layers for tensor in (layer.keys, layer.values) if tensor is not None]
        return sum(tensor.shape[1] * tensor.shape[3] * tensor.element_size() for tensor in tensors)

    @property
    def _slot_layers(self) -> list[SlotLayer]:
        return [layer for layer in self.layers if isinstance(layer, SlotLayer)]
