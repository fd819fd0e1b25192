"""Masked language models: BERT, RoBERTa and their kin."""

from typing import Any

import torch
from torch import nn

from tiltmeter.models.answerer import VocabularyAnswerer
from tiltmeter.scoring.plan import Batch, Row


class MaskedAnswerer(VocabularyAnswerer):
    """Reads the distribution at a mask, or at any other place."""

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        super().__init__(model, device)
        with torch.inference_mode():
            self.head.check(self.inputs([Row(ids=(1, 2, 3))]))

    def inputs(self, batch: Batch) -> dict[str, Any]:
        """The keyword arguments of the model's forward call."""
        ids = [row.ids for row in batch]
        inputs = {"input_ids": self.padded(ids), "attention_mask": self.mask(ids)}
        if any(row.segments for row in batch):
            inputs["token_type_ids"] = self.padded([row.segments for row in batch])
        return inputs
