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


def compute_decision_numbers(logits: Tensor, rows: Tensor, tokens: Tensor) -> Tensor:
    """Return two rows: the log-probability of each token, and 1 if the token is the more probable decision, else 0.

    `tokens` are decisions: 0 means that the sentence follows. `rows` contains for each token the index of its row in
    `logits`.
    """
    log_probs = torch.log_softmax(logits.float(), dim=1)
    values = log_probs[rows, tokens]
    return torch.stack([values, (values >= log_probs.amax(dim=1)[rows]).float()])


class NextSentenceAnswerer(Answerer):
    """Reads the decision whether the second sentence follows the first; token 0 means that the sentence follows.

    The pooler of the head uses only the first token of a row. In packed rows, the pooler gets the first token of each
    input instead.
    """

    kind = "next-sentence"

    def initialise_attributes(self) -> None:
        """Find and store the pooler of the model, and the position id of the first token of an input."""
        self._first_position = find_first_position(self.model)
        self._pooler = getattr(self.model.base_model, "pooler", None)

    def accepts_positions(self) -> bool:
        """Return whether the model accepts the argument `position_ids` and has a pooler."""
        return self._pooler is not None and super().accepts_positions()

    def compute_numbers(self, batch: Batch) -> Tensor:
        """Return two rows: the log-probability of each requested decision, and 1 if it is the more probable one."""
        requests = NumberRequests.from_batch(batch)
        inputs = build_encoder_inputs(self, batch, self._first_position)
        width = inputs["input_ids"].shape[1]
        firsts, which = np.unique(requests.lines * width + requests.positions, return_inverse=True)
        rows = self.to_device(firsts)
        if any(row.has_several_inputs for row in batch):
            with self.restrict_to_positions(rows), self._set_pooled_positions(rows):
                logits = self.model(**inputs).logits
        else:
            which = requests.lines
            with self.restrict_to_positions(rows):
                logits = self.model(**inputs).logits
        return compute_decision_numbers(logits, self.to_device(which), self.to_device(requests.tokens))

    @contextmanager
    def _set_pooled_positions(self, rows: Tensor) -> Iterator[None]:
        """Let the pooler read the flat positions `rows` within the context, not the first position of each row."""
        assert self._pooler is not None
        handle = self._pooler.register_forward_pre_hook(lambda _module, args: (flatten_states(args[0])[rows][:, None],))
        try:
            yield
        finally:
            handle.remove()
