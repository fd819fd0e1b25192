"""Compute the vocabulary projection only at the wanted positions.

Saves: a model's own forward pass projects every position onto the vocabulary. This can take most of a small model's
time, and keeps positions x vocabulary logits in memory. Here, a hook takes the hidden states before the projection, and
only the states of the wanted positions are projected.
Relies on: `get_output_embeddings()` is an `nn.Linear` whose output is the logits; and `base_model` returns
`last_hidden_state`, so that the layers between the base model and the projection can be restricted too.
Check: for a small input, the projection must give the logits of the whole model within 1e-6 in any precision, which is
not the case for models that scale or cap their logits; and the model's answers must not change. The selection of
positions after the base model is checked separately.
If a check fails: the model computes logits at all positions. This is slower, needs more memory, and gives the same
numbers.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, pad

from tiltmeter.engine.speedups.speedup import SpeedUp, Undo, set_attributes
from tiltmeter.engine.tensors import flatten_states, is_close
from tiltmeter.engine.vocabulary_head import RestrictPositions, VocabularyHead

_TOLERANCE = 1e-6


class _ProjectionReached(Exception):  # noqa: N818 - not an error: it carries the hidden states out of the model
    def __init__(self, hidden: Tensor) -> None:
        self.hidden = hidden


class ProjectingHead(VocabularyHead):
    """Projects only the hidden states at the wanted positions onto the vocabulary; overrides `VocabularyHead`."""

    projects_everywhere = False

    def __init__(self, model: nn.Module, projection: nn.Linear) -> None:
        super().__init__(model)
        self._projection = projection
        # An encoder-decoder is its own base model. It has no layers between its decoder and the projection, so there is
        # nothing to restrict.
        backbone: nn.Module = model.base_model  # type: ignore[assignment]
        self._backbone = backbone if backbone is not model else None

    def matches_model(self, inputs: Mapping[str, Any]) -> bool:
        """Return whether the projection of this head gives the same logits as the whole model for an input."""
        whole = self._model(**inputs).logits.float()
        hidden = self._compute_hidden_states(inputs)
        ours = linear(hidden, self._projection.weight, self._projection.bias).float()
        # `ours` and `whole` are the same matrix product of the same numbers, so a larger difference is not rounding.
        if ours.shape != whole.shape or not torch.allclose(ours, whole, rtol=_TOLERANCE, atol=_TOLERANCE):
            return False
        rows = torch.arange(1, len(flatten_states(hidden)))
        try:
            kept = self.compute_states(inputs, rows, lambda _rows: nullcontext())
        except (RuntimeError, ValueError, TypeError, IndexError, AttributeError):
            self._backbone = None
        else:
            if not is_close(flatten_states(hidden)[rows], kept):
                self._backbone = None
        return True

    def compute_states(self, inputs: Mapping[str, Any], rows: Tensor, only_at: RestrictPositions) -> Tensor:
        """Return the hidden states before the vocabulary projection, at the positions with these flat indices."""
        with only_at(rows), self._limit_backbone_output(rows):
            states = flatten_states(self._compute_hidden_states(inputs))
        return states if len(states) == len(rows) else states[rows]

    def compute_token_logits(self, states: Tensor, which: Tensor, tokens: Tensor) -> Tensor:
        """Return the logit of `tokens[i]` at state `which[i]` for each i, in float32; no other logits are computed."""
        logits = (states[which].float() * self._projection.weight[tokens].float()).sum(dim=1)
        return logits if self._projection.bias is None else logits + self._projection.bias[tokens].float()

    def get_vocabulary_size(self, _states: Tensor) -> int:
        """Return the number of logits of a state, which is the size of the vocabulary."""
        return self._projection.weight.shape[0]

    def compute_logit_slice(self, states: Tensor, start: int, end: int) -> Tensor:
        """Return the logits of the tokens from `start` to before `end`."""
        bias = self._projection.bias
        return linear(states, self._projection.weight[start:end], None if bias is None else bias[start:end])

    def compute_all_logits(self, states: Tensor) -> Tensor:
        """Return all logits of half-precision states in float32; columns beyond the vocabulary are minus infinity."""
        size, bias = self._projection.out_features, self._projection.bias
        weight = self._aligned_weight
        try:
            logits = torch.mm(states, weight.T, out_dtype=torch.float32)
        except (TypeError, NotImplementedError):  # torch before version 2.8 has no `out_dtype`
            logits = linear(states, weight).float()
        if bias is not None:
            logits[:, :size] += bias
        logits[:, size:] = -torch.inf
        return logits

    @cached_property
    def _aligned_weight(self) -> Tensor:
        """The weight of the projection, padded with zero rows to a multiple of 8 rows, which is faster on GPUs."""
        return pad(self._projection.weight, (0, 0, 0, -self._projection.out_features % 8))

    @contextmanager
    def _limit_backbone_output(self, rows: Tensor) -> Iterator[None]:
        """Let the base model return only the states at the flat indices `rows` within the context, as one sequence."""

        def keep_rows(_module: nn.Module, _args: Any, output: Any) -> None:
            output.last_hidden_state = flatten_states(output.last_hidden_state)[rows][None]

        if self._backbone is None:
            yield
            return
        handle = self._backbone.register_forward_hook(keep_rows)
        try:
            yield
        finally:
            handle.remove()

    def _compute_hidden_states(self, inputs: Mapping[str, Any]) -> Tensor:
        """Return the input of the model's vocabulary projection."""

        def stop_forward_pass(_module: nn.Module, args: tuple[Tensor, ...]) -> None:
            raise _ProjectionReached(args[0])

        handle = self._projection.register_forward_pre_hook(stop_forward_pass)
        try:
            self._model(**inputs)
        except _ProjectionReached as reached:
            return reached.hidden
        finally:
            handle.remove()
        raise AssertionError("the model never called its own vocabulary projection")


def _apply(answerer: Any, _check: Any) -> Undo | None:
    if not hasattr(answerer, "head"):
        return None
    projection = answerer.model.get_output_embeddings()
    if not isinstance(projection, nn.Linear):
        return None
    head = ProjectingHead(answerer.model, projection)
    return set_attributes(answerer, head=head) if head.matches_model(answerer.build_example_inputs()) else None


SPEEDUP = SpeedUp(name="wanted_positions", apply=_apply, rounds_logits_less=True)
