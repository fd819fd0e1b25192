"""Batches of a training: the division of pairs into batches, and the tensors of each batch."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset

from tiltmeter.training.tokenised_pairs import TokenisedPairs

# Number of batches whose pairs are sorted by length together. A higher number gives less padding, but makes the batches
# less random. With 50, padding is 1 to 4% of the tokens (docs/evidence/next-sentence.md).
WINDOW = 50
Rows = NDArray[np.int64]


def plan_batches(lengths: NDArray[np.integer], size: int, seed: Sequence[int], *, by_length: bool) -> list[Rows]:
    """Return the batches of an epoch in random order, each as an array of row indices; every pair is in one batch.

    With `by_length`, a batch has pairs of similar length, because the pairs of `WINDOW` batches are sorted together.
    """
    random = np.random.default_rng(list(seed))
    order = random.permutation(len(lengths))
    if by_length:
        window = WINDOW * size
        pieces = [order[start : start + window] for start in range(0, len(order), window)]
        order = np.concatenate([piece[np.argsort(lengths[piece], kind="stable")] for piece in pieces])
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    if by_length:
        batches = [batches[index] for index in random.permutation(len(batches))]
    return batches


class TrainingBatches(Dataset[dict[str, torch.Tensor]]):
    """All batches of a training as tensors, one epoch after the other."""

    def __init__(self, passes: Sequence[TokenisedPairs], size: int, *, seed: int, by_length: bool) -> None:
        self._passes = passes
        self._planned = [
            (index, rows)
            for index, tokens in enumerate(passes)
            for rows in plan_batches(tokens.lengths, size, (seed, index), by_length=by_length)
        ]

    def __len__(self) -> int:
        return len(self._planned)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        number, rows = self._planned[index]
        return build_tensors(self._passes[number], rows)

    @property
    def padding(self) -> float:
        """The number of padding tokens in all batches, divided by the number of all tokens with padding."""
        tokens = padded = 0
        for number, rows in self._planned:
            lengths = self._passes[number].lengths[rows]
            tokens += int(lengths.sum())
            padded += len(rows) * int(lengths.max())
        return 1 - tokens / padded if padded else 0.0

    @property
    def token_count(self) -> int:
        """The number of tokens in all batches, without padding."""
        return self.count_tokens(len(self))

    def count_tokens(self, batches: int) -> int:
        """Return the number of tokens in the first `batches` batches, without padding."""
        return int(sum(self._passes[number].lengths[rows].sum() for number, rows in self._planned[:batches]))


def build_tensors(tokens: TokenisedPairs, rows: Rows) -> dict[str, torch.Tensor]:
    """Return the keyword arguments of a head's `forward`: token ids padded on the right, lengths, and labels."""
    lengths = tokens.lengths[rows].astype(np.int64)
    width = int(lengths.max())
    mask = np.arange(width) < lengths[:, None]
    positions = (tokens.starts[rows][:, None] + np.arange(width))[mask]
    tensors: dict[str, Any] = {"input_ids": _pad_rows(tokens.ids, positions, mask)}
    if tokens.segments is not None:
        tensors["token_type_ids"] = _pad_rows(tokens.segments, positions, mask)
    tensors["lengths"] = torch.from_numpy(lengths)
    tensors["labels"] = torch.from_numpy(tokens.labels[rows].astype(np.int64))
    return tensors


def get_only_batch(batches: Sequence[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """Return the only item of a list; the data loader calls this function, because its items are complete batches."""
    (batch,) = batches
    return batch


def _pad_rows(flat: NDArray[np.integer], positions: Rows, mask: NDArray[np.bool_]) -> torch.Tensor:
    table = np.zeros(mask.shape, dtype=np.int64)
    table[mask] = flat[positions]
    return torch.from_numpy(table)
