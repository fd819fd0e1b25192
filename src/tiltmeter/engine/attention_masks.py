"""Attention masks of rows with several inputs, including the windows and chunks of local attention.

For rows with one input, transformers builds the attention masks. For rows with several inputs, this module builds a
four-dimensional mask. transformers uses such a mask without changes; therefore it must already include the windows from
the model's config.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

# Names of window and chunk sizes in the configs of transformers. In a causal model, the window is the number of tokens
# that a token attends to, including itself. In a bidirectional model, the window is the maximum distance between two
# tokens. With chunks, a token attends only to tokens of its own chunk.
_WINDOW_NAMES = ("sliding_window", "sliding_window_size")
_CHUNK_NAMES = ("attention_chunk_size",)

# The form of a mask: "full" ignores windows and chunks, "local" applies them to all layers, and "by layer type" builds
# one mask for each type of layer.
MaskForm = Literal["full", "local", "by layer type"]


def build_tree_mask(ends: Tensor) -> Tensor:
    """Return for each (query, key) pair of tokens in prefix trees whether the query attends to the key.

    A token attends to itself and to its ancestors in the tree. `ends` are the ends of the tokens' subtrees (see `Row`).
    Padding attends only to itself.
    """
    indices = torch.arange(ends.shape[1], device=ends.device)
    follows = (indices[:, None] >= indices) & (indices[:, None] < ends[:, None])
    return follows | (indices[:, None] == indices)


def to_additive_mask(seen: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert a boolean mask to an additive mask (batch, 1, query, key), which every attention function accepts."""
    mask = torch.zeros(seen.shape, dtype=dtype, device=seen.device)
    return mask.masked_fill_(~seen, torch.finfo(dtype).min)[:, None]


@dataclass(frozen=True, slots=True)
class AttentionMasks:
    """The attention masks of one model for rows with several inputs.

    `window` and `chunk` are sizes in tokens from the config; 0 means that attention has no window or no chunks.
    `layer_types` are the types of the model's layers, such as `full_attention` and `sliding_attention`. For `form` see
    `MaskForm`.
    """

    causal: bool
    window: int = 0
    chunk: int = 0
    layer_types: frozenset[str] = field(default_factory=frozenset)
    form: MaskForm = "full"

    @classmethod
    def from_config(cls, config: Any, *, causal: bool) -> "AttentionMasks":
        """Return the `AttentionMasks` of a model with this config, with the form "full"."""
        text = config.get_text_config()
        return cls(
            causal=causal,
            window=_read_first_size(text, _WINDOW_NAMES),
            chunk=_read_first_size(text, _CHUNK_NAMES),
            layer_types=frozenset(map(str, getattr(text, "layer_types", None) or ())),
        )

    def list_mask_forms(self, longest_row: int) -> list[MaskForm]:
        """Return the mask forms to try for rows of up to `longest_row` tokens, the most probable one first."""
        sizes = [size for size in (self.window, self.chunk) if size]
        if not sizes or min(sizes) > longest_row:
            return ["full"]
        return ["by layer type", "local", "full"] if self.layer_types else ["local", "full"]

    def build_mask(
        self, seen: Tensor, positions: Tensor, dtype: torch.dtype, key_positions: Tensor | None = None
    ) -> Tensor | Mapping[str, Tensor]:
        """Return the attention mask that allows the (query, key) pairs in `seen`, within the model's attention windows.

        `seen` is a boolean tensor (batch, query, key). `positions` are the positions of the tokens in their own inputs;
        `key_positions` are those of the keys, if the queries are only some of the tokens.
        """
        if self.form == "full":
            return to_additive_mask(seen, dtype)
        near = seen & self._find_near_pairs(positions, positions if key_positions is None else key_positions)
        if self.form == "local":
            return to_additive_mask(near, dtype)
        full, local = to_additive_mask(seen, dtype), to_additive_mask(near, dtype)
        return {name: local if "slid" in name or "chunk" in name else full for name in self.layer_types}

    def _find_near_pairs(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return for each (query, key) pair of positions whether they are within one window and in one chunk."""
        distances = queries[:, :, None] - keys[:, None]
        near = torch.ones_like(distances, dtype=torch.bool)
        if self.window:
            near &= distances < self.window if self.causal else distances.abs() <= self.window
        if self.chunk:
            near &= queries[:, :, None] // self.chunk == keys[:, None] // self.chunk
        return near


def _read_first_size(config: Any, names: tuple[str, ...]) -> int:
    for name in names:
        # Reading an attribute raises an error in some configs. The error is ignored: if a size is missed, the
        # equivalence check detects the wrong mask.
        with suppress(Exception):
            size = getattr(config, name, None)
            if isinstance(size, int) and size > 0:
                return size
    return 0
