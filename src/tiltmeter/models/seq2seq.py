"""Encoder-decoder models: T5, mT5 and their kin."""

from typing import Any

import torch
from torch import nn
from transformers.modeling_outputs import BaseModelOutput

from tiltmeter.models.answerer import VocabularyAnswerer
from tiltmeter.scoring.plan import Batch, Row


class Seq2seqAnswerer(VocabularyAnswerer):
    """Reads the decoder's distribution over its next token; a source that several rows share is encoded once."""

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        super().__init__(model, device)
        with torch.inference_mode():
            self.head.check(self.inputs([Row(ids=(0, 1, 2), source=(1, 2, 3))]))

    def inputs(self, batch: Batch) -> dict[str, Any]:
        """The keyword arguments of the model's forward call."""
        sources = list(dict.fromkeys(row.source for row in batch))
        mask = self.mask(sources)
        encoded = self.model.get_encoder()(  # type: ignore[operator]
            input_ids=self.padded(sources), attention_mask=mask
        ).last_hidden_state
        if len(sources) < len(batch):
            place = {source: index for index, source in enumerate(sources)}
            lines = self.to_device(torch.tensor([place[row.source] for row in batch]))
            encoded = encoded[lines]
            mask = None if mask is None else mask[lines]
        return {
            "encoder_outputs": BaseModelOutput(last_hidden_state=encoded),
            "attention_mask": mask,
            # Padding of the decoder stands on the right, where what is read cannot see it.
            "decoder_input_ids": self.padded([row.ids for row in batch]),
            "use_cache": False,
        }
