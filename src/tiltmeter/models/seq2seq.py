"""Encoder-decoder models: T5, mT5 and their kin."""

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

from tiltmeter.models.answerer import VocabularyAnswerer
from tiltmeter.scoring.plan import Batch, Row, of_like_length


class Seq2seqAnswerer(VocabularyAnswerer):
    """Reads the decoder's distribution over its next token.

    The sources of a batch are encoded together, each once, however many rows share it; the rows are then decoded in
    smaller batches of like length.
    """

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        super().__init__(model, device)
        with torch.inference_mode():
            self.head.check(self.inputs([Row(ids=(0, 1, 2), source=(1, 2, 3))]))

    def inputs(self, batch: Batch) -> dict[str, Any]:
        """The keyword arguments of the model's forward call."""
        return self._decoder_inputs(batch, *self._encode(batch))

    def numbers(self, batch: Batch) -> Tensor:
        """For each ask of each row, in order: its number, and the second one where `Want` names two."""
        encoded = self._encode(batch)
        first_ask = np.cumsum([0, *(len(row.asks) for row in batch)])
        numbers = torch.zeros((2, int(first_ask[-1])), device=self.device)
        for lines in of_like_length([len(row.ids) for row in batch], self.batch_tokens):
            rows = [batch[line] for line in lines]
            places = np.concatenate([np.arange(first_ask[line], first_ask[line + 1]) for line in lines])
            numbers[:, self.to_device(places)] = self.read(rows, self._decoder_inputs(rows, *encoded))
        return numbers

    def _encode(self, batch: Batch) -> tuple[dict[tuple[int, ...], int], Tensor, Tensor | None]:
        """Where each source stands among the encoded ones, their states, and their mask."""
        sources = list(dict.fromkeys(row.source for row in batch))
        longest = max(map(len, sources))
        encoder: Any = self.model.get_encoder()  # type: ignore[operator]
        states: Tensor | None = None
        for lines in of_like_length([len(source) for source in sources], self.batch_tokens):
            some = [sources[line] for line in lines]
            found = encoder(input_ids=self.padded(some), attention_mask=self.mask(some)).last_hidden_state
            if states is None:
                states = found.new_zeros((len(sources), longest, found.shape[-1]))
            states[self.to_device(np.array(lines)), : found.shape[1]] = found
        assert states is not None
        return {source: index for index, source in enumerate(sources)}, states, self.mask(sources)

    def _decoder_inputs(
        self, batch: Batch, place: dict[tuple[int, ...], int], states: Tensor, mask: Tensor | None
    ) -> dict[str, Any]:
        lines = [place[row.source] for row in batch]
        if lines != list(range(len(states))):
            chosen = self.to_device(np.array(lines))
            states = states[chosen]
            mask = None if mask is None else mask[chosen]
        return {
            "encoder_outputs": BaseModelOutput(last_hidden_state=cast(torch.FloatTensor, states)),
            "attention_mask": mask,
            # Padding of the decoder stands on the right, where what is read cannot see it.
            "decoder_input_ids": self.padded([row.ids for row in batch]),
            "use_cache": False,
        }
