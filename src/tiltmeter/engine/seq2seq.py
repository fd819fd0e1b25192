"""Encoder-decoder models: T5, mT5 and similar."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutput

from tiltmeter.engine.answerer import VocabularyAnswerer
from tiltmeter.engine.lengths import of_like_length, packs
from tiltmeter.engine.rows import Asks, Batch, Row
from tiltmeter.engine.tensors import flat
from tiltmeter.questions import Ids

# A context in which the tokens of each row have these positions; with None, those in which they stand in the row.
PositionsAt = Callable[[Tensor | None], AbstractContextManager[None]]


def as_they_stand(_positions: Tensor | None) -> AbstractContextManager[None]:
    """Positions of a stack that cannot be given any."""
    return nullcontext()


class Seq2seqAnswerer(VocabularyAnswerer):
    """Reads the decoder's distribution over its next token.

    Speed-ups: each source of a batch is encoded once (`encodes_once`). The targets of a source stand in one row as a
    tree, like the inputs of a causal model, several sources share a row of the encoder, and several trees one of the
    decoder, if both stacks can be given positions (`encoder_at`, `decoder_at`).
    """

    kind = "seq2seq"

    def prepare(self) -> None:
        """Find the encoder."""
        self._encoder: Any = self.model.get_encoder()  # type: ignore[operator]
        self.encodes_once = False
        self.encoder_at: PositionsAt = as_they_stand
        self.decoder_at: PositionsAt = as_they_stand

    def takes_positions(self) -> bool:
        """Whether the positions of tokens can be given."""
        return self.encodes_once and self.decoder_at is not as_they_stand

    def example(self) -> dict[str, Any]:
        """The keyword arguments of the model's forward call for a small input."""
        return self._whole([Row((0, 1, 2), ((1, 2, 3),))])

    def numbers(self, batch: Batch) -> Tensor:
        """For each ask of each row, in order: its number, and the second one where `Want` names two."""
        asks = Asks.of(batch)
        numbers = torch.zeros((2, len(asks)), device=self.device)
        lengths = [len(row.ids) for row in batch]
        states: Tensor | None = None
        starts: dict[Ids, int] = {}
        if self.encodes_once:
            states, starts = self._encoded([source for row in batch for source in row.sources])
        else:
            lengths = [max(length, *map(len, row.sources)) for length, row in zip(lengths, batch, strict=True)]
        for lines in of_like_length(lengths, self.batch_tokens):
            rows = [batch[line] for line in lines]
            depths, ends = self.depths_and_ends(rows) if any(row.ends for row in rows) else (None, None)
            inputs = self._whole(rows) if states is None else self._decoding(rows, states, starts, ends)
            asked, here = asks.among(lines)
            with self.decoder_at(depths):
                found = self.read(inputs, inputs["decoder_input_ids"].shape[1], here)
            numbers[:, self.to_device(asked)] = found
        return numbers

    def _whole(self, rows: Batch) -> dict[str, Any]:
        """What the whole model is given: a source and a target in each row."""
        sources = [source for row in rows for source in row.sources]
        return {
            "input_ids": self.padded(sources),
            "attention_mask": self.mask(sources),
            # Padding of the decoder stands on the right, where what is read cannot see it.
            "decoder_input_ids": self.padded([row.ids for row in rows]),
            "use_cache": False,
        }

    def _encoded(self, sources: Sequence[Ids]) -> tuple[Tensor, dict[Ids, int]]:
        """The hidden states of the tokens of all sources as one sequence, and the index at which each source begins.

        The first state is that of padding, which is zero.
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
        with self.encoder_at(depths):
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
