"""The next-sentence head of BERT and its kin."""

import numpy as np
import torch
from numpy.typing import NDArray

from tiltmeter.models.answerer import Answerer
from tiltmeter.scoring.plan import Batch


class NextSentenceAnswerer(Answerer):
    """Reads the two-way decision whether the second sentence follows the first; token 0 means that it does."""

    @torch.inference_mode()
    def answer(self, batch: Batch) -> NDArray[np.float32]:
        """For each ask of each row, in order: its number, and 1 where its token is the most probable one."""
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
        return torch.stack([values, (values >= log_probs.amax(dim=-1)[lines]).float()]).cpu().numpy()
