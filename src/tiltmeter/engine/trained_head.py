"""Inference with a trained next-sentence head."""

from collections.abc import Collection

import numpy as np
import torch
from torch import Tensor, nn

from tiltmeter.engine.answerer import Answerer
from tiltmeter.engine.batch_rows import Batch, NumberRequests
from tiltmeter.engine.next_sentence import compute_decision_numbers
from tiltmeter.engine.next_sentence_modules import FOLLOWS
from tiltmeter.engine.speedups import ALL

# The speed-ups that can be used with a trained head: they change only modules inside the model, not its output.
_APPLICABLE = {"activations", "norms"}


class TrainedHeadAnswerer(Answerer):
    """Reads the decision of a `MeanHead` or `LabelHead`; token 0 means that the second sentence follows the first."""

    kind = "next-sentence"

    def __init__(self, model: nn.Module, device: torch.device, without: Collection[str] = ()) -> None:
        super().__init__(model, device, frozenset(without) | (ALL - _APPLICABLE))

    def compute_numbers(self, batch: Batch) -> Tensor:
        """Return two rows: the log-probability of each requested decision, and 1 if it is the more probable one."""
        requests = NumberRequests.from_batch(batch)
        ids = [row.ids for row in batch]
        segments = [row.segments for row in batch]
        logits = self.model(
            input_ids=self.pad_rows(ids),
            lengths=self.to_device(np.array([len(row) for row in ids])),
            token_type_ids=self.pad_rows(segments) if any(segments) else None,
        )["logits"]
        # The order of the logits is reversed: in questions, as in BERT's head, token 0 means that the sentence follows.
        logits = logits[:, [FOLLOWS, 1 - FOLLOWS]]
        return compute_decision_numbers(logits, self.to_device(requests.lines), self.to_device(requests.tokens))
