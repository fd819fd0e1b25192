"""The next-sentence head of BERT and similar models."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from tiltmeter.engine.answerer import Answerer
from tiltmeter.engine.encoder_inputs import encoder_inputs, first_position
from tiltmeter.engine.rows import Asks, Batch
from tiltmeter.engine.tensors import flat


class NextSentenceAnswerer(Answerer):
    """Reads the two-way decision whether the second sentence follows the first; token 0 means that it does.

    The head reads the first token of a row, through the pooler, and nothing else of the last layer. In rows of several
    inputs the pooler is given the first token of each.
    """

    kind = "next-sentence"

    def prepare(self) -> None:
        """Find the pooler and the number of the first position."""
        self._first_position = first_position(self.model)
        self._pooler = getattr(self.model.base_model, "pooler", None)

    def takes_positions(self) -> bool:
        """Whether the positions of tokens, and the first token of each input, can be given."""
        return self._pooler is not None and super().takes_positions()

    def numbers(self, batch: Batch) -> Tensor:
        """For each ask of each row, in order: its log-probability, and 1 where it is the more probable decision."""
        asks = Asks.of(batch)
        inputs = encoder_inputs(self, batch, self._first_position)
        width = inputs["input_ids"].shape[1]
        firsts, which = np.unique(asks.lines * width + asks.positions, return_inverse=True)
        rows = self.to_device(firsts)
        if any(row.has_several for row in batch):
            with self.only_at(rows), self._pooling(rows):
                logits = self.model(**inputs).logits
        else:
            which = asks.lines
            with self.only_at(rows):
                logits = self.model(**inputs).logits
        log_probs = torch.log_softmax(logits.float(), dim=1)
        lines = self.to_device(which)
        values = log_probs[lines, self.to_device(asks.tokens)]
        return torch.stack([values, (values >= log_probs.amax(dim=1)[lines]).float()])

    @contextmanager
    def _pooling(self, rows: Tensor) -> Iterator[None]:
        """Within the context, the decision is made for each of these flat positions, not for the first of each row."""
        assert self._pooler is not None
        handle = self._pooler.register_forward_pre_hook(lambda _module, args: (flat(args[0])[rows][:, None], *args[1:]))
        try:
            yield
        finally:
            handle.remove()
