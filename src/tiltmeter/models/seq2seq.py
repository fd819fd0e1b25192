"""Encoder-decoder models: T5, mT5 and their kin."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers.modeling_outputs import BaseModelOutput

from tiltmeter.models.answerer import VocabularyAnswerer
from tiltmeter.models.relative_positions import RelativePositions
from tiltmeter.scoring.plan import Asks, Batch, Row, of_like_length

Source = tuple[int, ...]


class Seq2seqAnswerer(VocabularyAnswerer):
    """Reads the decoder's distribution over its next token.

    The sources of a batch are encoded each once. The targets of a source stand in one row as a tree, like the inputs of
    a causal model, if the decoder can be told where their tokens stand; that is tried out once. Sources and rows are
    sent in smaller batches, each of like length.
    """

    kind = "seq2seq"

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        super().__init__(model, device)
        self._positions = RelativePositions(model.get_decoder())  # type: ignore[operator]
        with torch.inference_mode():
            self.head.check(self.inputs([Row(ids=(0, 1, 2), source=(1, 2, 3))]))
        self.shares_prefixes = self.keeps_apart(source=(1, 2, 3))

    def takes_positions(self) -> bool:
        """Whether the decoder can be told where tokens stand."""
        return self._positions.can_be_told

    def inputs(self, batch: Batch) -> dict[str, Any]:
        """The keyword arguments of the model's forward call."""
        return self._decoding(batch, self._encode([row.source for row in batch]))

    def numbers(self, batch: Batch) -> Tensor:
        """For each ask of each row, in order: its number, and the second one where `Want` names two."""
        asks = Asks.of(batch)
        numbers = torch.zeros((2, len(asks)), device=self.device)
        encoded = self._encoded(row.source for row in batch)
        for lines in of_like_length([len(row.ids) for row in batch], self.batch_tokens):
            rows = [batch[line] for line in lines]
            states = pad_sequence([encoded[row.source] for row in rows], batch_first=True)
            depths, ends = self.depths_and_ends(rows) if any(row.has_several for row in rows) else (None, None)
            inputs = self._decoding(rows, states, ends)
            asked, here = asks.among(lines)
            with self._positions.at(depths):
                found = self.read(inputs, inputs["decoder_input_ids"].shape[1], here)
            numbers[:, self.to_device(asked)] = found
        return numbers

    def _encoded(self, sources: Iterable[Source]) -> dict[Source, Tensor]:
        """The hidden states of each distinct source."""
        distinct = list(dict.fromkeys(sources))
        encoded: dict[Source, Tensor] = {}
        for lines in of_like_length([len(source) for source in distinct], self.batch_tokens):
            some = [distinct[line] for line in lines]
            encoded |= {source: states[: len(source)] for source, states in zip(some, self._encode(some), strict=True)}
        return encoded

    def _encode(self, sources: Sequence[Source]) -> Tensor:
        encoder: Any = self.model.get_encoder()  # type: ignore[operator]
        states: Tensor = encoder(input_ids=self.padded(sources), attention_mask=self.mask(sources)).last_hidden_state
        return states

    def _decoding(self, rows: Batch, encoded: Tensor, ends: Tensor | None = None) -> dict[str, Any]:
        return {
            "encoder_outputs": BaseModelOutput(last_hidden_state=cast(torch.FloatTensor, encoded)),
            "attention_mask": self.mask([row.source for row in rows]),
            # Padding of the decoder stands on the right, where what is read cannot see it.
            "decoder_input_ids": self.padded([row.ids for row in rows]),
            "decoder_attention_mask": None if ends is None else self.tree_mask(ends),
            "use_cache": False,
        }
