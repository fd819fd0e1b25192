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
from tiltmeter.engine.attention_masks import build_tree_mask, to_additive_mask
from tiltmeter.engine.batch_rows import Batch, NumberRequests, Row
from tiltmeter.engine.row_groups import pack_lengths
from tiltmeter.engine.tensors import flatten_states
from tiltmeter.questions import Ids

# A function that takes the positions of the tokens of each row and returns a context in which the model uses these
# positions. None means that each token's position is its index in the row.
SetPositions = Callable[[Tensor | None], AbstractContextManager[None]]


def ignore_positions(_positions: Tensor | None) -> AbstractContextManager[None]:
    """Return a context that changes nothing, for an encoder or decoder whose positions cannot be set."""
    return nullcontext()


class Seq2seqAnswerer(VocabularyAnswerer):
    """Reads the decoder's distribution over the next token.

    With speed-ups, each source of a batch is encoded once (`encodes_once`). If the token positions of encoder and
    decoder can be set (`encoder_at`, `decoder_at`), the targets of a source form a prefix tree, like the inputs of a
    causal model. Then several sources share a row of the encoder, and several trees share a row of the decoder.
    """

    kind = "seq2seq"

    def initialise_attributes(self) -> None:
        """Find the encoder of the model, and set the attributes that speed-ups change."""
        self._encoder: Any = self.model.get_encoder()  # type: ignore[operator]
        self.encodes_once = False
        self.encoder_at: SetPositions = ignore_positions
        self.decoder_at: SetPositions = ignore_positions

    def accepts_positions(self) -> bool:
        """Return whether speed-ups can set the positions of tokens in the decoder."""
        return self.encodes_once and self.decoder_at is not ignore_positions

    def build_example_inputs(self) -> dict[str, Any]:
        """Return the keyword arguments of the model's `forward` for a small input."""
        return self._build_whole_inputs([Row((0, 1, 2), ((1, 2, 3),))])

    def compute_numbers(self, batch: Batch) -> Tensor:
        """Return two rows of numbers: the first and the second number that each of the `NumberRequests` asks for.

        The first number is, for example, the log-probability of a token. See `WantedQuantity`.
        """
        requests = NumberRequests.from_batch(batch)
        numbers = torch.zeros((2, len(requests)), device=self.device)
        lengths = [len(row.ids) for row in batch]
        states: Tensor | None = None
        starts: dict[Ids, int] = {}
        if self.encodes_once:
            states, starts = self._encode_sources([source for row in batch for source in row.sources])
        else:
            lengths = [max(length, *map(len, row.sources)) for length, row in zip(lengths, batch, strict=True)]
        sources = [max(map(len, row.sources)) for row in batch]
        for indices in self.layout.divide_into_batches(lengths, self.batch_tokens, sources):
            rows = [batch[index] for index in indices]
            depths, ends = self.compute_depths_and_ends(rows) if any(row.ends for row in rows) else (None, None)
            inputs = (
                self._build_whole_inputs(rows)
                if states is None
                else self._build_decoder_inputs(rows, states, starts, ends)
            )
            chosen, of_rows = requests.select_rows(indices)
            with self.decoder_at(depths):
                values = self.compute_numbers_of_inputs(inputs, inputs["decoder_input_ids"].shape[1], of_rows)
            numbers[:, self.to_device(chosen)] = values
        return numbers

    def _build_whole_inputs(self, rows: Batch) -> dict[str, Any]:
        """Return the keyword arguments of the model's `forward` for rows with one source and one target each."""
        sources = [source for row in rows for source in row.sources]
        return {
            "input_ids": self.pad_rows(sources),
            "attention_mask": self.build_padding_mask(sources),
            # Padding is on the right, where the decoder does not attend to it.
            "decoder_input_ids": self.pad_rows([row.ids for row in rows]),
            "use_cache": False,
        }

    def _encode_sources(self, sources: Sequence[Ids]) -> tuple[Tensor, dict[Ids, int]]:
        """Return the encoder states of all sources as one sequence, and a dictionary from sources to their start index.

        The first state is a vector of zeros, which is used for padding.
        """
        distinct = list(dict.fromkeys(sources))
        together = pack_lengths([len(source) for source in distinct], self.layout.pack)
        rows = [[distinct[index] for index in indices] for indices in together]
        states: list[Tensor] = []
        starts: dict[Ids, int] = {}
        before = 1
        for indices in self.layout.divide_into_batches([sum(map(len, row)) for row in rows], self.batch_tokens):
            batch = [rows[index] for index in indices]
            encoded = self._encode_rows(batch)
            for index, row in enumerate(batch):
                start = before + index * encoded.shape[1]
                for source in row:
                    starts[source] = start
                    start += len(source)
            states.append(flatten_states(encoded))
            before += len(states[-1])
        return torch.cat([torch.zeros_like(states[0][:1]), *states]), starts

    def _encode_rows(self, rows: Sequence[Sequence[Ids]]) -> Tensor:
        """Return the encoder's hidden states for a batch; each row consists of one or several sources."""
        joined = [tuple(chain.from_iterable(row)) for row in rows]
        depths, mask = None, self.build_padding_mask(joined)
        if any(len(row) > 1 for row in rows):
            depths, numbers = self.locate_packed_tokens([[len(source) for source in row] for row in rows])
            mask = to_additive_mask(numbers[:, :, None] == numbers[:, None], self.dtype)
        with self.encoder_at(depths):
            states: Tensor = self._encoder(input_ids=self.pad_rows(joined), attention_mask=mask).last_hidden_state
        return states

    def _build_decoder_inputs(
        self, rows: Batch, states: Tensor, starts: dict[Ids, int], ends: Tensor | None = None
    ) -> dict[str, Any]:
        """Return the keyword arguments of the model's `forward` with encoder outputs, so that only the decoder runs."""
        lengths = [[len(source) for source in row.sources] for row in rows]
        positions, numbers = self.locate_packed_tokens(lengths)
        begins = self.to_device(np.array([starts[source] for row in rows for source in row.sources]))
        encoded = states[torch.where(numbers < 0, 0, begins[numbers] + positions)]
        if any(len(row.sources) > 1 for row in rows):
            _, own = self.locate_packed_tokens([row.lengths or (len(row.ids),) for row in rows])
            # Padding attends to the first source of its row, because attention to nothing would give NaN.
            own = torch.where(own < 0, numbers[:, :1], own)
            mask: Tensor | None = to_additive_mask(own[:, :, None] == numbers[:, None], self.dtype)
        else:
            mask = self.build_padding_mask([row.sources[0] for row in rows])
        return {
            "encoder_outputs": BaseModelOutput(last_hidden_state=cast(torch.FloatTensor, encoded)),
            "attention_mask": mask,
            # Padding is on the right, where the decoder does not attend to it.
            "decoder_input_ids": self.pad_rows([row.ids for row in rows]),
            "decoder_attention_mask": None if ends is None else to_additive_mask(build_tree_mask(ends), self.dtype),
            "use_cache": False,
        }
