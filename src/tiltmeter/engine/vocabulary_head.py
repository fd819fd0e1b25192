"""Computation of the requested log-probabilities from a model's forward pass.

The class `VocabularyHead` computes logits at all positions and selects the logits at the wanted positions. A speed-up
replaces it with a head that projects only the wanted positions onto the vocabulary (`speedups/wanted_positions.py`).
Both heads normalise over the vocabulary in the same way.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn

from tiltmeter.engine.tensors import flatten_states

# A function that takes flat indices of positions and returns a context in which only the last layer's outputs at these
# positions are needed.
RestrictPositions = Callable[[Tensor], AbstractContextManager[None]]

# Maximum number of logits in memory. On a CPU, a slice of logits should fit into the processor's caches; on a GPU, few
# large matrix products are faster. These values were not measured separately.
_LOGITS_AT_ONCE = {"cpu": 1024**2}
_LOGITS_AT_ONCE_ELSEWHERE = 256 * 1024**2


class VocabularyHead:
    """Selects logits from a complete forward pass of the model.

    In this class and its subclasses, a state is one row of the result of `compute_states`.
    """

    # Whether the logits of all positions are in memory at once.
    projects_everywhere = True

    def __init__(self, model: nn.Module) -> None:
        self._model = model

    def compute_states(self, inputs: Mapping[str, Any], rows: Tensor, only_at: RestrictPositions) -> Tensor:
        """Return the states at the positions with the flat indices `rows`; the other methods take these states."""
        with only_at(rows):
            logits: Tensor = self._model(**inputs).logits
        width = inputs["decoder_input_ids" if "decoder_input_ids" in inputs else "input_ids"].shape[1]
        # Some models, such as Perceiver, always return logits for the maximum number of positions.
        return flatten_states(logits[:, :width])[rows]

    def compute_token_logits(self, states: Tensor, which: Tensor, tokens: Tensor) -> Tensor:
        """Return the logit of `tokens[i]` at state `which[i]` for each i, in float32."""
        return states[which, tokens].float()

    def get_vocabulary_size(self, states: Tensor) -> int:
        """Return the number of logits of a state, which is the size of the vocabulary."""
        return states.shape[1]

    def compute_logit_slice(self, states: Tensor, start: int, end: int) -> Tensor:
        """Return the logits of the tokens from `start` to before `end`, as a tensor that may be overwritten."""
        return states[:, start:end].clone()

    def compute_all_logits(self, states: Tensor) -> Tensor:
        """Return all logits of half-precision states in float32; columns beyond the vocabulary are minus infinity."""
        return states.float()

    def compute_log_probs(self, states: Tensor, which: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Return for each i the log-probability of `tokens[i]` at state `which[i]`.

        Also return for each i the number 1 if this token is the most probable one at this state, else 0.
        """
        if states.device.type == "cuda" and states.dtype != torch.float32:
            return self._compute_log_probs_whole(states, which, tokens)
        return self._compute_log_probs_sliced(states, which, tokens)

    def _compute_log_probs_sliced(self, states: Tensor, which: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Return the result of `compute_log_probs`; the vocabulary is normalised slice by slice.

        The largest term of the softmax is kept separate from the sum of all other terms. If a probability is near 1,
        the absolute value of its logarithm is about as large as this sum. A float32 sum that includes the largest term
        (1) would lose this small number by rounding.
        """
        most = _LOGITS_AT_ONCE.get(states.device.type, _LOGITS_AT_ONCE_ELSEWHERE)
        size = max(1024, most // len(states))
        largest = torch.full((len(states),), -torch.inf, device=states.device)
        # The sum of all terms except the largest, divided by the largest term.
        others = torch.zeros(len(states), device=states.device)
        values = torch.zeros(len(tokens), device=states.device)
        for start in range(0, self.get_vocabulary_size(states), size):
            logits = self.compute_logit_slice(states, start, start + size).float()
            # For tokens outside this slice, an arbitrary logit is read and discarded. This avoids a synchronisation.
            inside = tokens - start
            here = (inside >= 0) & (inside < logits.shape[1])
            values = torch.where(here, logits[which, inside.clamp(0, logits.shape[1] - 1)], values)
            top = logits.amax(dim=1)
            new_largest = torch.maximum(largest, top)
            terms = logits.sub_(new_largest[:, None]).exp_()
            rest = _sum_without_largest(terms, torch.exp(top - new_largest))
            # The smaller of the two largest terms (of the earlier slices and of this slice) is added to the other
            # terms.
            smaller = torch.exp(torch.minimum(largest, top) - new_largest)
            others = others * torch.exp(largest - new_largest) + smaller + rest
            largest = new_largest
        return (values - largest[which]) - torch.log1p(others)[which], (values >= largest[which]).float()

    def _compute_log_probs_whole(self, states: Tensor, which: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Return the result of `compute_log_probs`; one kernel normalises the vocabulary for some states at a time.

        This method is for half precision on a GPU. There, memory bandwidth would limit the speed of
        `_compute_log_probs_sliced`, and the higher precision of that method is useless, because the states are already
        rounded.
        """
        size = max(1, _LOGITS_AT_ONCE_ELSEWHERE // self.get_vocabulary_size(states))
        values = torch.zeros(len(tokens), device=states.device)
        tops = torch.zeros(len(tokens), device=states.device)
        for start in range(0, len(states), size):
            logits = self.compute_all_logits(states[start : start + size])
            # For requests of other states, an arbitrary number is read and discarded. This avoids a synchronisation.
            inside = which - start
            here = (inside >= 0) & (inside < len(logits))
            inside = inside.clamp(0, len(logits) - 1)
            tops = torch.where(here, (logits[inside, tokens] >= logits.amax(dim=1)[inside]).float(), tops)
            values = torch.where(here, torch.log_softmax(logits, dim=1)[inside, tokens], values)
        return values, tops


def _sum_without_largest(terms: Tensor, largest: Tensor) -> Tensor:
    """Return the sum of each row of terms without the row's largest term."""
    if terms.device.type != "cpu":
        return _sum_others(terms)
    # Argmax is slow on a CPU. Subtracting the largest term gives the same result unless the rest is small: for a rest
    # below 1% of the largest term, two or more of the seven digits of float32 would be lost.
    rest = terms.sum(dim=1) - largest
    imprecise = torch.nonzero(rest < 0.01 * largest).ravel()
    if len(imprecise):
        rest[imprecise] = _sum_others(terms[imprecise])
    return rest


def _sum_others(terms: Tensor) -> Tensor:
    """Return the sum of each row of terms without the row's largest term, and overwrite the terms."""
    return terms.scatter_(1, terms.argmax(dim=1, keepdim=True), 0.0).sum(dim=1)
