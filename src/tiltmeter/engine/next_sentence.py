"""The next-sentence head of BERT and its kin."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from tiltmeter.engine.answerer import Answerer
from tiltmeter.engine.encoder_inputs import encoder_inputs, first_position
from tiltmeter.engine.rows import Asks, Batch, Row
from tiltmeter.engine.speedups.last_layer import LastLayer, flat, same


class NextSentenceAnswerer(Answerer):
    """Reads the two-way decision whether the second sentence follows the first; token 0 means that it does.

    The head looks at the first token of an input, by way of a pooler, and at nothing else of the last layer. Where the
    pooler can be told which tokens these are, several inputs may share a row.
    """

    kind = "next-sentence"

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        super().__init__(model, device)
        self._first_position = first_position(model)
        self._last_layer = LastLayer(model)
        self._pooler = getattr(model.base_model, "pooler", None)
        self._reads_first_only = self._can_read_first_only()
        if self._reads_first_only and self.keeps_apart(self.width_of_packs(), wanted=(0, 0)):
            self.pack = self.width_of_packs()

    def numbers(self, batch: Batch) -> Tensor:
        """For each ask of each row, in order: its log-probability, and 1 where it is the more probable decision."""
        asks = Asks.of(batch)
        inputs = encoder_inputs(self, batch, self._first_position)
        if self._reads_first_only:
            width = inputs["input_ids"].shape[1]
            firsts, which = np.unique(asks.lines * width + asks.positions, return_inverse=True)
            with self._only_at(self.to_device(firsts)):
                logits = self.model(**inputs).logits
        else:
            which = asks.lines
            logits = self.model(**inputs).logits
        log_probs = torch.log_softmax(logits.float(), dim=-1)
        lines = self.to_device(which)
        values = log_probs[lines, self.to_device(asks.tokens)]
        return torch.stack([values, (values >= log_probs.amax(dim=-1)[lines]).float()])

    @contextmanager
    def _only_at(self, firsts: Tensor) -> Iterator[None]:
        """The decision at each of these flat positions, instead of at the beginning of each row."""
        assert self._pooler is not None
        handle = self._pooler.register_forward_pre_hook(
            lambda _module, args: (flat(args[0])[firsts][:, None], *args[1:])
        )
        try:
            with self._last_layer.only_at(firsts, backbone=False):
                yield
        finally:
            handle.remove()

    @torch.inference_mode()
    def _can_read_first_only(self) -> bool:
        if self._pooler is None:
            return False
        inputs = encoder_inputs(self, [Row(ids=(11, 12, 13, 14)), Row(ids=(14, 13, 12))], self._first_position)
        whole = self.model(**inputs).logits
        try:
            with self._only_at(torch.tensor([0, 4], device=self.device)):
                narrowed = self.model(**inputs).logits
        except (RuntimeError, ValueError, TypeError, IndexError):
            return False  # a layer of another make runs whole
        return same(whole, narrowed)
