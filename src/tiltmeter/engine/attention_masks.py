"""Attention masks of rows with several inputs, including the windows and chunks of local attention.

transformers builds the masks of rows with one input, but uses a four-dimensional mask as it is. Masks of rows with
several inputs must therefore include the windows of the model's config.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

# Names in transformers' configs. For a causal model, a window is the number of tokens that a token attends to (with
# itself); for a bidirectional model, it is the largest distance. Tokens of a chunk attend only to the same chunk.
_WINDOW_NAMES = ("sliding_window", "sliding_window_size")
_CHUNK_NAMES = ("attention_chunk_size",)

# "full" ignores windows, "local" restricts all layers, "by layer type" gives the model a mask for each type of layer.
MaskForm = Literal["full", "local", "by layer type"]


def build_tree_mask(ends: Tensor) -> Tensor:
    """Return which (query, key) pairs of tokens of prefix trees attend: a token attends to itself and its ancestors.

    `ends` are the ends of the tokens' subtrees (see `Row`). Padding attends to itself.
    """
    indices = torch.arange(ends.shape[1], device=ends.device)
    follows = (indices[:, None] >= indices) & (indices[:, None] < ends[:, None])
    return follows | (indices[:, None] == indices)


def to_additive_mask(seen: Tensor, dtype: torch.dtype) -> Tensor:
    """Return an additive attention mask (batch, 1, query, key), which all implementations of attention accept."""
    mask = torch.zeros(seen.shape, dtype=dtype, device=seen.device)
    return mask.masked_fill_(~seen, torch.finfo(dtype).min)[:, None]


@dataclass(frozen=True, slots=True)
class AttentionMasks:
    """The attention masks of one model for rows with several inputs.

    `window` and `chunk` are sizes from the config, or 0. `layer_types` are the types of the model's layers, such as
    `full_attention` and `sliding_attention`.
    """

    causal: bool
    window: int = 0
    chunk: int = 0
    layer_types: frozenset[str] = field(default_factory=frozenset)
    form: MaskForm = "full"

    @classmethod
    def from_config(cls, config: Any, *, causal: bool) -> "AttentionMasks":
        """Return the masks of a model with this config, in the form "full"."""
        text = config.get_text_config()
        return cls(
            causal=causal,
            window=_read_first_size(text, _WINDOW_NAMES),
            chunk=_read_first_size(text, _CHUNK_NAMES),
            layer_types=frozenset(map(str, getattr(text, "layer_types", None) or ())),
        )

    def forms(self, longest_row: int) -> list[MaskForm]:
        """Return the forms of mask to try for rows of up to `longest_row` tokens, the most likely one first."""
        sizes = [size for size in (self.window, self.chunk) if size]
        if not sizes or min(sizes) > longest_row:
            return ["full"]
        return ["by layer type", "local", "full"] if self.layer_types else ["local", "full"]

    def build(self, seen: Tensor, positions: Tensor, dtype: torch.dtype) -> Tensor | Mapping[str, Tensor]:
        """Return the mask for the pairs of `seen` that are within the model's windows.

        `positions` are those of the tokens in their own inputs.
        """
        if self.form == "full":
            return to_additive_mask(seen, dtype)
        if self.form == "local":
            return to_additive_mask(seen & self._find_near_pairs(positions), dtype)
        full, local = to_additive_mask(seen, dtype), to_additive_mask(seen & self._find_near_pairs(positions), dtype)
        return {name: local if "slid" in name or "chunk" in name else full for name in self.layer_types}

    def _find_near_pairs(self, positions: Tensor) -> Tensor:
        """Return which (query, key) pairs of positions are within the window and in the same chunk."""
        distances = positions[:, :, None] - positions[:, None]
        near = torch.ones_like(distances, dtype=torch.bool)
        if self.window:
            near &= distances < self.window if self.causal else distances.abs() <= self.window
        if self.chunk:
            near &= positions[:, :, None] // self.chunk == positions[:, None] // self.chunk
        return near


def _read_first_size(config: Any, names: tuple[str, ...]) -> int:
    for name in names:
        # Some configs raise an error here; the equivalence check detects wrong masks.
        with suppress(Exception):
            size = getattr(config, name, None)
            if isinstance(size, int) and size > 0:
                return size
    return 0
