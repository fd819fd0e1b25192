"""The vocabulary side of a model, computed at the wanted positions only.

Most of a small model's time can go into logits nobody reads: the vocabulary projection at every position. Here the
model runs up to its projection, the hidden states of the wanted positions are taken out, and only those meet the
vocabulary, a slice of it at a time, so that positions x vocabulary never stands in memory as a whole.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, pad

from tiltmeter.engine.speedups.last_layer import LastLayer, flat, same

# Logits held at once. On a processor a slice should stay in the caches; a GPU wants few and large products.
_LOGITS_AT_ONCE = {"cpu": 1024**2}
_LOGITS_AT_ONCE_ELSEWHERE = 256 * 1024**2


class _Reached(Exception):  # noqa: N818 - not an error: it carries the hidden states out of the model
    def __init__(self, hidden: Tensor) -> None:
        self.hidden = hidden


class VocabularyHead:
    """Takes hidden states out in front of a model's vocabulary projection, and projects them itself.

    Where a model treats its logits further (a soft cap, a scale), that would be wrong: `check` finds out, and such
    models run whole.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        projection = model.get_output_embeddings()  # type: ignore[operator]
        self._projection = projection if isinstance(projection, nn.Linear) else None
        self._last_layer = LastLayer(model)
        self.exact = False
        self.reads_rows_only = False

    def check(self, inputs: Mapping[str, Any]) -> None:
        """See on an input whether projecting here gives what the whole model gives."""
        if self._projection is None:
            return
        whole = self._model(**inputs).logits.float()
        ours = linear(self._hidden(inputs), self._projection.weight, self._projection.bias).float()
        # The same product of the same numbers: a difference is more than rounding, in any precision.
        self.exact = ours.shape == whole.shape and torch.allclose(ours, whole, rtol=1e-6, atol=1e-6)
        if self.exact:
            self.reads_rows_only = self._reads_rows_only(inputs)
            if self.reads_rows_only:
                self._last_layer.narrow_further(lambda: self._reads_rows_only(inputs))

    def read(self, inputs: Mapping[str, Any], rows: Tensor) -> Tensor:
        """What the model has to say at the positions with these flat indices; to be given to the methods below."""
        if self.reads_rows_only:
            return self._hidden_at(inputs, rows)
        states: Tensor = self._hidden(inputs) if self.exact else self._model(**inputs).logits
        return flat(states)[rows]

    def logits(self, states: Tensor, which: Tensor, tokens: Tensor) -> Tensor:
        """The logit of each token at state `which`, in float32. Costs next to nothing: no other token is looked at."""
        if not self.exact or self._projection is None:
            return states[which, tokens].float()
        logits = (states[which].float() * self._projection.weight[tokens].float()).sum(dim=-1)
        return logits if self._projection.bias is None else logits + self._projection.bias[tokens].float()

    def log_probs(self, states: Tensor, which: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """The log-probability of each token at state `which`, and 1 where no token has a higher one, in float32."""
        if states.device.type == "cuda" and states.dtype != torch.float32:
            return self._quick_log_probs(states, which, tokens)
        return self._careful_log_probs(states, which, tokens)

    def _careful_log_probs(self, states: Tensor, which: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """The normaliser grows slice by slice over the vocabulary.

        Its largest term is kept apart from the sum of all others: a probability near 1 is that term's, and its
        logarithm is as small as the others' sum, which would be lost in one float32 sum with a 1, and with it how sure
        the model is.
        """
        most = _LOGITS_AT_ONCE.get(states.device.type, _LOGITS_AT_ONCE_ELSEWHERE)
        size = max(1024, most // max(1, len(states)))
        largest = torch.full((len(states),), -torch.inf, device=states.device)
        others = torch.zeros(len(states), device=states.device)  # in units of the largest
        values = torch.zeros(len(tokens), device=states.device)
        for start in range(0, self._vocabulary(states), size):
            logits = self._slice(states, start, start + size).float()
            # Tokens outside this slice read some logit of it, and drop it again: no device synchronisation.
            inside = tokens - start
            here = (inside >= 0) & (inside < logits.shape[1])
            values = torch.where(here, logits[which, inside.clamp(0, logits.shape[1] - 1)], values)
            top = logits.amax(dim=-1)
            new_largest = torch.maximum(largest, top)
            terms = logits.sub_(new_largest[:, None]).exp_()
            rest = _sum_without_largest(terms, torch.exp(top - new_largest))
            # Of the largest terms so far and of this slice, the lesser is now one of the others.
            lesser = torch.exp(torch.minimum(largest, top) - new_largest)
            others = others * torch.exp(largest - new_largest) + lesser + rest
            largest = new_largest
        return (values - largest[which]) - torch.log1p(others)[which], (values >= largest[which]).float()

    def _quick_log_probs(self, states: Tensor, which: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """The whole vocabulary of some states at a time, normalised in float32 by one kernel.

        For half precision on a GPU, whose memory would else be what limits it: there rounding is coarser than
        anything that is gained by more care.
        """
        size = max(1, _LOGITS_AT_ONCE_ELSEWHERE // self._vocabulary(states))
        values = torch.zeros(len(tokens), device=states.device)
        tops = torch.zeros(len(tokens), device=states.device)
        for start in range(0, len(states), size):
            logits = self._quick_logits(states[start : start + size])
            # What is asked of other states reads some number here, and drops it again: no device synchronisation.
            inside = which - start
            here = (inside >= 0) & (inside < len(logits))
            inside = inside.clamp(0, len(logits) - 1)
            tops = torch.where(here, (logits[inside, tokens] >= logits.amax(dim=-1)[inside]).float(), tops)
            values = torch.where(here, torch.log_softmax(logits, dim=-1)[inside, tokens], values)
        return values, tops

    def _quick_logits(self, states: Tensor) -> Tensor:
        """Logits in float32 of half-precision states; beyond the vocabulary, where there is more, minus infinity."""
        if not self.exact or self._projection is None:
            return states.float()
        size, bias = self._projection.out_features, self._projection.bias
        weight = self._aligned_weight
        try:
            logits = torch.mm(states, weight.T, out_dtype=torch.float32)
        except (TypeError, NotImplementedError):  # before torch 2.8
            logits = linear(states, weight).float()
        if bias is not None:
            logits[:, :size] += bias
        logits[:, size:] = -torch.inf
        return logits

    @cached_property
    def _aligned_weight(self) -> Tensor:
        """The projection's weight, with rows of zeros up to a multiple of 8: else a GPU falls back to slow kernels."""
        assert self._projection is not None
        return pad(self._projection.weight, (0, 0, 0, -self._projection.out_features % 8))

    def _vocabulary(self, states: Tensor) -> int:
        return states.shape[1] if not self.exact or self._projection is None else self._projection.weight.shape[0]

    def _slice(self, states: Tensor, start: int, end: int) -> Tensor:
        """The logits of part of the vocabulary."""
        if not self.exact or self._projection is None:
            return states[:, start:end].clone()
        bias = self._projection.bias
        return linear(states, self._projection.weight[start:end], None if bias is None else bias[start:end])

    def _reads_rows_only(self, inputs: Mapping[str, Any]) -> bool:
        """Whether the last layer can be narrowed to the positions that are read."""
        everywhere = flat(self._hidden(inputs))
        rows = torch.arange(1, len(everywhere), device=everywhere.device)
        try:
            there = self._hidden_at(inputs, rows)
        except (RuntimeError, ValueError, TypeError, IndexError, AttributeError):
            return False  # a layer of another make runs whole
        return same(everywhere[rows], there)

    def _hidden_at(self, inputs: Mapping[str, Any], rows: Tensor) -> Tensor:
        """What the model would hand to its projection at some positions."""
        with self._last_layer.only_at(rows, backbone=True):
            states = flat(self._hidden(inputs))
        return states if len(states) == len(rows) else states[rows]

    def _hidden(self, inputs: Mapping[str, Any]) -> Tensor:
        """What the model would hand to its projection."""

        def stop(_module: nn.Module, args: tuple[Tensor, ...]) -> None:
            raise _Reached(args[0])

        assert self._projection is not None
        handle = self._projection.register_forward_pre_hook(stop)
        try:
            self._model(**inputs)
        except _Reached as reached:
            return reached.hidden
        finally:
            handle.remove()
        raise AssertionError("the model never called its own vocabulary projection")


def _sum_without_largest(terms: Tensor, largest: Tensor) -> Tensor:
    """The sum of each row of terms, but for its largest one."""
    if terms.device.type != "cpu":
        return terms.scatter_(1, terms.argmax(dim=-1, keepdim=True), 0.0).sum(dim=-1)
    # A processor is slow to find the place of the largest. To subtract it is as good, unless little is left then.
    rest = terms.sum(dim=-1) - largest
    little = torch.nonzero(rest < 0.01 * largest).ravel()
    if len(little):
        some = terms[little]
        rest[little] = some.scatter_(1, some.argmax(dim=-1, keepdim=True), 0.0).sum(dim=-1)
    return rest
