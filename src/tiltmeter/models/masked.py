"""Masked language models: BERT, RoBERTa and their kin."""

from typing import Any

import torch
from torch import nn

from tiltmeter.models.answerer import VocabularyAnswerer
from tiltmeter.models.positions import first_position
from tiltmeter.scoring.plan import Batch, Row


class MaskedAnswerer(VocabularyAnswerer):
    """Reads the distribution at a mask, or at any other place.

    Rows of several inputs need a mask that keeps these apart, and positions of their own; whether a model follows both
    is tried out once.
    """

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        super().__init__(model, device)
        self._first_position = first_position(model)
        with torch.inference_mode():
            self.head.check(self.inputs([Row(ids=(1, 2, 3))]))
        self.pack = (
            self.width_of_packs() if self.keeps_apart([(11, 12, 13, 14), (15, 16, 17), (18, 13)], "masked") else 0
        )

    def inputs(self, batch: Batch) -> dict[str, Any]:
        """The keyword arguments of the model's forward call."""
        ids = [row.ids for row in batch]
        inputs: dict[str, Any] = {"input_ids": self.padded(ids)}
        if any(row.has_several for row in batch):
            depths, ends = self.depths_and_ends(batch)
            inputs["position_ids"] = depths + self._first_position
            inputs["attention_mask"] = self.additive(ends[:, :, None] == ends[:, None])
        else:
            inputs["attention_mask"] = self.mask(ids)
        if any(row.segments for row in batch):
            inputs["token_type_ids"] = self.padded([row.segments for row in batch])
        return inputs
