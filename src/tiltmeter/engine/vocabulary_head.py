"""Computation of the requested log-probabilities from a model's forward pass.

The model computes logits at all positions, and those at the wanted positions are selected. A speed-up replaces this
head by one that projects only the wanted positions onto the vocabulary (`speedups/wanted_positions.py`). Both normalise
over the vocabulary in the same way.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn

from tiltmeter.engine.tensors import flatten_states

# Takes flat indices of positions and returns a context in which the last layer is needed only there.
RestrictPositions = Callable[[Tensor], AbstractContextManager[None]]

# Maximum number of logits in memory. On a CPU, a slice should fit into the caches; on a GPU, few large products are
# faster. These values were not measured separately.
_LOGITS_AT_ONCE = {"cpu": 1024**2}
_LOGITS_AT_ONCE_ELSEWHERE = 256 * 1024**2


class VocabularyHead:
    """Selects from the logits of a complete forward pass; a state is the result of `read` for one position."""

    # Whether the logits of all positions are in memory at once.
    projects_everywhere = True

    def __init__(self, model: nn.Module) -> None:
        self._model = model

    def read(self, inputs: Mapping[str, Any], rows: Tensor, only_at: RestrictPositions) -> Tensor:
        """Return the states at the positions with these flat indices, for the methods below."""
        with only_at(rows):
            logits: Tensor = self._model(**inputs).logits
        width = inputs["decoder_input_ids" if "decoder_input_ids" in inputs else "input_ids"].shape[1]
        # Some models, such as Perceiver, return logits for the maximum number of positions.
        return flatten_states(logits[:, :width])[rows]

    def logits(self, states: Tensor, which: Tensor, tokens: Tensor) -> Tensor:
        """Return the logit of each token at state `which`, in float32."""
        return states[which, tokens].float()

    def vocabulary(self, states: Tensor) -> int:
        """Return the number of logits of a state."""
        return states.shape[1]

    def slice(self, states: Tensor, start: int, end: int) -> Tensor:
        """Return the logits of a part of the vocabulary, as a tensor that may be overwritten."""
        return states[:, start:end].clone()

    def compute_all_logits(self, states: Tensor) -> Tensor:
        """Return the logits of half-precision states in float32; columns after the vocabulary are minus infinity."""
        return states.float()

    def log_probs(self, states: Tensor, which: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log-probability of each token at state `which`, and 1 if no token has a higher one, in float32."""
        if states.device.type == "cuda" and states.dtype != torch.float32:
            return self._compute_log_probs_whole(states, which, tokens)
        return self._compute_log_probs_sliced(states, which, tokens)

    def _compute_log_probs_sliced(self, states: Tensor, which: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Return the same as `log_probs`, and sum the normaliser slice by slice over the vocabulary.

        The largest term is kept separate from the sum of all others. The logarithm of a probability near 1 is about as
        large as this sum, which rounding would lose in a float32 sum that includes the 1.
        """
        most = _LOGITS_AT_ONCE.get(states.device.type, _LOGITS_AT_ONCE_ELSEWHERE)
        size = max(1024, most // len(states))
        largest = torch.full((len(states),), -torch.inf, device=states.device)
        others = torch.zeros(len(states), device=states.device)  # relative to the largest term
        values = torch.zeros(len(tokens), device=states.device)
        for start in range(0, self.vocabulary(states), size):
            logits = self.slice(states, start, start + size).float()
            # Tokens outside this slice read an arbitrary logit, which is discarded; this avoids a synchronisation.
            inside = tokens - start
            here = (inside >= 0) & (inside < logits.shape[1])
            values = torch.where(here, logits[which, inside.clamp(0, logits.shape[1] - 1)], values)
            top = logits.amax(dim=1)
            new_largest = torch.maximum(largest, top)
            terms = logits.sub_(new_largest[:, None]).exp_()
            rest = _sum_without_largest(terms, torch.exp(top - new_largest))
            # The smaller one of the two largest terms, of earlier slices and of this slice, is added to the others.
            smaller = torch.exp(torch.minimum(largest, top) - new_largest)
            others = others * torch.exp(largest - new_largest) + smaller + rest
            largest = new_largest
        return (values - largest[which]) - torch.log1p(others)[which], (values >= largest[which]).float()

    def _compute_log_probs_whole(self, states: Tensor, which: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Return the same as `log_probs`, and normalise the whole vocabulary of some states at a time by one kernel.

        For half precision on a GPU, where `_compute_log_probs_sliced` would be limited by memory bandwidth, and its
        precision is lost in the rounding of the states.
        """
        size = max(1, _LOGITS_AT_ONCE_ELSEWHERE // self.vocabulary(states))
        values = torch.zeros(len(tokens), device=states.device)
        tops = torch.zeros(len(tokens), device=states.device)
        for start in range(0, len(states), size):
            logits = self.compute_all_logits(states[start : start + size])
            # Requests of other states read an arbitrary number, which is discarded; this avoids a synchronisation.
            inside = which - start
            here = (inside >= 0) & (inside < len(logits))
            inside = inside.clamp(0, len(logits) - 1)
            tops = torch.where(here, (logits[inside, tokens] >= logits.amax(dim=1)[inside]).float(), tops)
            values = torch.where(here, torch.log_softmax(logits, dim=1)[inside, tokens], values)
        return values, tops


def _sum_without_largest(terms: Tensor, largest: Tensor) -> Tensor:
    """Return the sum of each row of terms without its largest term."""
    if terms.device.type != "cpu":
        return _sum_others(terms)
    # Argmax is slow on a CPU. Subtracting the largest term is equivalent unless the rest is small: a rest below 1% of
    # the largest term would lose two or more of float32's seven digits.
    rest = terms.sum(dim=1) - largest
    imprecise = torch.nonzero(rest < 0.01 * largest).ravel()
    if len(imprecise):
        rest[imprecise] = _sum_others(terms[imprecise])
    return rest


def _sum_others(terms: Tensor) -> Tensor:
    """Return the sum of each row of terms without its largest term; overwrites the terms."""
    return terms.scatter_(1, terms.argmax(dim=1, keepdim=True), 0.0).sum(dim=1)
