"""The next-sentence head of BERT and similar models."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from tiltmeter.engine.answerer import Answerer
from tiltmeter.engine.batch_rows import Batch, NumberRequests
from tiltmeter.engine.encoder_inputs import build_encoder_inputs
from tiltmeter.engine.input_limits import find_first_position
from tiltmeter.engine.tensors import flatten_states


class NextSentenceAnswerer(Answerer):
    """Reads the binary decision whether the second sentence follows the first; token 0 means that it does.

    The head uses only the first token of a row, through the pooler. In packed rows the pooler is given the first token
    of each input.
    """

    kind = "next-sentence"

    def prepare(self) -> None:
        """Look up the pooler and the position id of the first token."""
        self._first_position = find_first_position(self.model)
        self._pooler = getattr(self.model.base_model, "pooler", None)

    def accepts_positions(self) -> bool:
        """Return whether the model accepts positions, and has a pooler to be given the first token of each input."""
        return self._pooler is not None and super().accepts_positions()

    def numbers(self, batch: Batch) -> Tensor:
        """For each request, in order: its log-probability, and 1 if it is the more probable decision."""
        asks = NumberRequests.of(batch)
        inputs = build_encoder_inputs(self, batch, self._first_position)
        width = inputs["input_ids"].shape[1]
        firsts, which = np.unique(asks.lines * width + asks.positions, return_inverse=True)
        rows = self.to_device(firsts)
        if any(row.has_several for row in batch):
            with self.restrict_to_positions(rows), self._set_pooled_positions(rows):
                logits = self.model(**inputs).logits
        else:
            which = asks.lines
            with self.restrict_to_positions(rows):
                logits = self.model(**inputs).logits
        log_probs = torch.log_softmax(logits.float(), dim=1)
        lines = self.to_device(which)
        values = log_probs[lines, self.to_device(asks.tokens)]
        return torch.stack([values, (values >= log_probs.amax(dim=1)[lines]).float()])

    @contextmanager
    def _set_pooled_positions(self, rows: Tensor) -> Iterator[None]:
        """Within the context, the pooler reads these flat positions instead of the first position of each row."""
        assert self._pooler is not None
        handle = self._pooler.register_forward_pre_hook(lambda _module, args: (flatten_states(args[0])[rows][:, None],))
        try:
            yield
        finally:
            handle.remove()
