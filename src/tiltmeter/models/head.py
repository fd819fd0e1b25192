"""The vocabulary side of a model, computed at the wanted positions only.

Most of a small model's time can go into logits nobody reads: the vocabulary projection at every position. Here the
model runs up to its projection, the hidden states of the wanted positions are taken out, and only those meet the
vocabulary, a slice of it at a time, so that positions x vocabulary never stands in memory as a whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

# Logits held at once. Small enough to stay near the caches, large enough for an efficient matrix product.
_LOGITS_AT_ONCE = 4 * 1024 * 1024


class _Reached(Exception):  # noqa: N818 - not an error: it carries the hidden states out of the model
    def __init__(self, hidden: Tensor) -> None:
        self.hidden = hidden


@dataclass(frozen=True, slots=True)
class Wanted:
    """Numbers wanted of a batch: number i is about `tokens[i]` at the position with flat index `rows[which[i]]`."""

    rows: Tensor
    which: Tensor
    tokens: Tensor
    normalise: bool


class VocabularyHead:
    """Takes hidden states out in front of a model's vocabulary projection, and projects them itself."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        projection = model.get_output_embeddings()  # type: ignore[operator]
        self._projection = projection if isinstance(projection, nn.Linear) else None
        self.exact = False

    def check(self, inputs: Mapping[str, Any]) -> None:
        """See on an input whether projecting here gives what the whole model gives.

        It does not where a model treats its logits further (a soft cap, a scale). Such models run whole.
        """
        if self._projection is None:
            return
        whole = self._model(**inputs).logits.float()
        hidden = self._hidden(inputs)
        ours = torch.nn.functional.linear(hidden, self._projection.weight, self._projection.bias).float()
        self.exact = ours.shape == whole.shape and torch.allclose(ours, whole, rtol=1e-3, atol=1e-3)

    def __call__(self, inputs: Mapping[str, Any], wanted: Wanted) -> tuple[Tensor, Tensor | None]:
        """The wanted logits or log-probabilities in float32, and, if normalised, the largest one at each row."""
        if not self.exact or self._projection is None:
            logits = self._model(**inputs).logits
            logits = logits.reshape(-1, logits.shape[-1])[wanted.rows].float()
            values = logits[wanted.which, wanted.tokens]
            if not wanted.normalise:
                return values, None
            normaliser = _Normaliser(logits)
            normaliser.add(logits)
            return normaliser.log_probs(values, wanted.which)
        hidden = self._hidden(inputs)
        hidden = hidden.reshape(-1, hidden.shape[-1])[wanted.rows]
        if wanted.normalise:
            return self._normalised(hidden, wanted)
        return self._logits_of_tokens(hidden, wanted), None

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

    def _logits_of_tokens(self, hidden: Tensor, wanted: Wanted) -> Tensor:
        assert self._projection is not None
        weights = self._projection.weight[wanted.tokens].float()
        logits = (hidden[wanted.which].float() * weights).sum(dim=-1)
        if self._projection.bias is not None:
            logits = logits + self._projection.bias[wanted.tokens].float()
        return logits

    def _normalised(self, hidden: Tensor, wanted: Wanted) -> tuple[Tensor, Tensor]:
        """Log-probabilities by a log-normaliser that grows slice by slice over the vocabulary."""
        assert self._projection is not None
        weight, bias = self._projection.weight, self._projection.bias
        slice_size = max(1024, _LOGITS_AT_ONCE // max(1, len(hidden)))
        normaliser = _Normaliser(hidden)
        values = torch.zeros(len(wanted.tokens), device=hidden.device)
        for start in range(0, weight.shape[0], slice_size):
            part = weight[start : start + slice_size]
            logits = torch.nn.functional.linear(
                hidden, part, None if bias is None else bias[start : start + slice_size]
            )
            logits = logits.float()
            # Tokens outside this slice read some logit of it, and drop it again: no device synchronisation.
            inside = wanted.tokens - start
            here = (inside >= 0) & (inside < len(part))
            read = logits[wanted.which, inside.clamp(0, len(part) - 1)]
            values = torch.where(here, read, values)
            normaliser.add(logits)
        return normaliser.log_probs(values, wanted.which)


class _Normaliser:
    """The logarithm of a sum of exponentials that grows slice by slice, with a row for each row of `like`.

    The largest term is kept apart from the sum of all others. A probability near 1 is that term's, and its logarithm
    is as small as the others' sum: in one float32 sum next to a 1 it would be lost, and with it how sure a model is.
    """

    def __init__(self, like: Tensor) -> None:
        self._largest = torch.full((len(like),), -torch.inf, device=like.device)
        self._others = torch.zeros(len(like), device=like.device)  # in units of the largest

    def add(self, logits: Tensor) -> None:
        """Take in more columns; they are overwritten."""
        top, place = logits.max(dim=-1)
        largest = torch.maximum(self._largest, top)
        terms = logits.sub_(largest[:, None]).exp_()
        terms.scatter_(1, place[:, None], 0.0)
        # Of the two largest terms, the old one and that of these columns, the lesser is now one of the others.
        lesser = torch.exp(torch.minimum(self._largest, top) - largest)
        self._others = self._others * torch.exp(self._largest - largest) + lesser + terms.sum(dim=-1)
        self._largest = largest

    def log_probs(self, logits: Tensor, which: Tensor) -> tuple[Tensor, Tensor]:
        """The log-probabilities of some logits, each at the row `which` says, and the largest one at that row."""
        log_total = torch.log1p(self._others)[which]
        return (logits - self._largest[which]) - log_total, -log_total
