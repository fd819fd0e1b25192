"""Masked language models: BERT, RoBERTa and their kin."""

from typing import Any

import torch
from torch import nn

from tiltmeter.engine.answerer import OneStackAnswerer
from tiltmeter.engine.encoder_inputs import encoder_inputs, first_position
from tiltmeter.engine.rows import Batch, Row


class MaskedAnswerer(OneStackAnswerer):
    """Reads the distribution at a mask, or at any other place."""

    kind = "masked"

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        super().__init__(model, device)
        self._first_position = first_position(model)
        with torch.inference_mode():
            self.head.check(self.inputs([Row(ids=(1, 2, 3))]))
        if self.keeps_apart(self.width_of_packs()):
            self.pack = self.width_of_packs()

    def inputs(self, batch: Batch) -> dict[str, Any]:
        """The keyword arguments of the model's forward call."""
        return encoder_inputs(self, batch, self._first_position)
