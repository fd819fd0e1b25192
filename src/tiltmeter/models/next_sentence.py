"""The next-sentence head of BERT and its kin."""

import torch
from torch import Tensor

from tiltmeter.models.answerer import Answerer
from tiltmeter.scoring.plan import Batch


class NextSentenceAnswerer(Answerer):
    """Reads the two-way decision whether the second sentence follows the first; token 0 means that it does."""

    def numbers(self, batch: Batch) -> Tensor:
        """For each ask of each row, in order: its log-probability, and 1 where it is the more probable decision."""
        ids = [row.ids for row in batch]
        logits = self.model(
            input_ids=self.padded(ids),
            attention_mask=self.mask(ids),
            token_type_ids=self.padded([row.segments for row in batch]) if batch[0].segments else None,
        ).logits
        log_probs = torch.log_softmax(logits.float(), dim=-1)
        lines = self.to_device(torch.tensor([line for line, row in enumerate(batch) for _ in row.asks]))
        tokens = self.to_device(torch.tensor([ask.token for row in batch for ask in row.asks]))
        values = log_probs[lines, tokens]
        return torch.stack([values, (values >= log_probs.amax(dim=-1)[lines]).float()])
