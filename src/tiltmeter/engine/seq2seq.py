"""Encoder-decoder models: T5, mT5 and their kin."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

from tiltmeter.engine.answerer import VocabularyAnswerer, long_input
from tiltmeter.engine.lengths import of_like_length, packs
from tiltmeter.engine.rows import Asks, Batch, Row
from tiltmeter.engine.speedups.last_layer import flat
from tiltmeter.engine.speedups.relative_positions import RelativePositions
from tiltmeter.questions import Ids


class Seq2seqAnswerer(VocabularyAnswerer):
    """Reads the decoder's distribution over its next token.

    The sources of a batch are encoded each once. The targets of a source stand in one row as a tree, like the inputs of
    a causal model, if the decoder can be told where their tokens stand; so that all batches are full, several sources
    share a row of the encoder, and several trees one of the decoder. Both are tried out once. Sources and rows are sent
    in smaller batches, each of like length.
    """

    kind = "seq2seq"

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        super().__init__(model, device)
        self._encoder: Any = model.get_encoder()  # type: ignore[operator]
        self._encoder_positions = RelativePositions(self._encoder)
        self._positions = RelativePositions(model.get_decoder())  # type: ignore[operator]
        with torch.inference_mode():
            self.head.check(self._decoding([Row((0, 1, 2), ((1, 2, 3),))], *self._encoded([(1, 2, 3)])))
        for width in (self.width_of_packs(), 0):
            short = ((1, 2, 3), (4, 3, 5))
            # A long source fills the row that the short ones share.
            sources = (long_input(max(width, 8) - sum(map(len, short))), *short)
            self.shares_prefixes = self.keeps_apart(width, sources=sources)
            if self.shares_prefixes:
                self.pack = width
                break

    def takes_positions(self) -> bool:
        """Whether the decoder can be told where tokens stand."""
        return self._positions.can_be_told

    def numbers(self, batch: Batch) -> Tensor:
        """For each ask of each row, in order: its number, and the second one where `Want` names two."""
        states, starts = self._encoded([source for row in batch for source in row.sources])
        asks = Asks.of(batch)
        numbers = torch.zeros((2, len(asks)), device=self.device)
        for lines in of_like_length([len(row.ids) for row in batch], self.batch_tokens):
            rows = [batch[line] for line in lines]
            depths, ends = self.depths_and_ends(rows) if any(row.ends for row in rows) else (None, None)
            inputs = self._decoding(rows, states, starts, ends)
            asked, here = asks.among(lines)
            with self._positions.at(depths):
                found = self.read(inputs, inputs["decoder_input_ids"].shape[1], here)
            numbers[:, self.to_device(asked)] = found
        return numbers

    def _encoded(self, sources: Sequence[Ids]) -> tuple[Tensor, dict[Ids, int]]:
        """The hidden states of all tokens of the sources in one line, and where in it each distinct source begins.

        At its beginning stand the states of padding, which are zeros.
        """
        distinct = list(dict.fromkeys(sources))
        together = packs([len(source) for source in distinct], self.pack)
        rows = [[distinct[number] for number in numbers] for numbers in together]
        states: list[Tensor] = []
        starts: dict[Ids, int] = {}
        before = 1
        for lines in of_like_length([sum(map(len, row)) for row in rows], self.batch_tokens):
            some = [rows[line] for line in lines]
            found = self._encode(some)
            for line, row in enumerate(some):
                start = before + line * found.shape[1]
                for source in row:
                    starts[source] = start
                    start += len(source)
            states.append(flat(found))
            before += len(states[-1])
        return torch.cat([torch.zeros_like(states[0][:1]), *states]), starts

    def _encode(self, rows: Sequence[Sequence[Ids]]) -> Tensor:
        """The hidden states of rows of one or several sources."""
        joined = [tuple(chain.from_iterable(row)) for row in rows]
        depths, mask = None, self.mask(joined)
        if any(len(row) > 1 for row in rows):
            depths, numbers = self.inputs_of_tokens([[len(source) for source in row] for row in rows])
            mask = self.additive(numbers[:, :, None] == numbers[:, None])
        with self._encoder_positions.at(depths):
            states: Tensor = self._encoder(input_ids=self.padded(joined), attention_mask=mask).last_hidden_state
        return states

    def _decoding(
        self, rows: Batch, states: Tensor, starts: dict[Ids, int], ends: Tensor | None = None
    ) -> dict[str, Any]:
        """What the decoder is given: its rows, the states of their sources, and which of these each token sees."""
        lengths = [[len(source) for source in row.sources] for row in rows]
        places, numbers = self.inputs_of_tokens(lengths)
        begins = self.to_device(np.array([starts[source] for row in rows for source in row.sources]))
        encoded = states[torch.where(numbers < 0, 0, begins[numbers] + places)]
        seen = self.mask([range(sum(row)) for row in lengths])
        if any(len(row.sources) > 1 for row in rows):
            _, own = self.inputs_of_tokens([row.lengths or (len(row.ids),) for row in rows])
            # What sees nothing would be no number: padding sees the first source of its row.
            own = torch.where(own < 0, numbers[:, :1], own)
            seen = self.additive(own[:, :, None] == numbers[:, None])
        return {
            "encoder_outputs": BaseModelOutput(last_hidden_state=cast(torch.FloatTensor, encoded)),
            "attention_mask": seen,
            # Padding of the decoder stands on the right, where what is read cannot see it.
            "decoder_input_ids": self.padded([row.ids for row in rows]),
            "decoder_attention_mask": None if ends is None else self.tree_mask(ends),
            "use_cache": False,
        }
