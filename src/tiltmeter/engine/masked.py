"""Masked language models: BERT, RoBERTa and similar."""

from typing import Any

from tiltmeter.engine.answerer import OneStackAnswerer
from tiltmeter.engine.batch_rows import Batch
from tiltmeter.engine.encoder_inputs import build_encoder_inputs
from tiltmeter.engine.input_limits import find_first_position


class MaskedAnswerer(OneStackAnswerer):
    """Reads a masked model's distribution at mask tokens or other positions."""

    kind = "masked"

    def initialise_attributes(self) -> None:
        """Find and store the position id of the first token of an input."""
        self._first_position = find_first_position(self.model)

    def build_model_inputs(self, batch: Batch) -> dict[str, Any]:
        """Return the keyword arguments of the model's `forward` for a batch."""
        return build_encoder_inputs(self, batch, self._first_position)
