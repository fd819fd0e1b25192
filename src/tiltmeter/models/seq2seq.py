"""Encoder-decoder models: T5, mT5 and their kin."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from tiltmeter.models.answerer import SAME, VocabularyAnswerer
from tiltmeter.models.past import Past
from tiltmeter.questions import Question, common_prefix
from tiltmeter.scoring.plan import Asks, Batch, Row, of_like_length, plan


class Seq2seqAnswerer(VocabularyAnswerer):
    """Reads the decoder's distribution over its next token.

    The sources of a batch are encoded each once, however many rows share it, and so is what all rows begin with
    decoded once for each source. The rows go on from there, in smaller batches of like length, with the keys and
    values of the beginning and of the source; whether a model can do that is tried out once.
    """

    kind = "seq2seq"

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        super().__init__(model, device)
        with torch.inference_mode():
            self.head.check(self.inputs([Row(ids=(0, 1, 2), source=(1, 2, 3))]))
        self.shares_prefixes = self._goes_on_from_prefixes()

    def inputs(self, batch: Batch) -> dict[str, Any]:
        """The keyword arguments of the model's forward call."""
        sources = [row.source for row in batch]
        return self._decoding([row.ids for row in batch], self._encode(sources), self.mask(sources))

    def numbers(self, batch: Batch) -> Tensor:
        """For each ask of each row, in order: its number, and the second one where `Want` names two."""
        asks = Asks.of(batch)
        numbers = torch.zeros((2, len(asks)), device=self.device)
        sources = list(dict.fromkeys(row.source for row in batch))
        # What the first and the last row in order have in common, all have.
        shared = common_prefix(min(row.ids for row in batch), max(row.ids for row in batch))
        # Where no source has a second row, nothing is gained by going in steps.
        if shared and self.shares_prefixes and len(sources) < len(batch):
            self._answer_in_steps(numbers, batch, asks, sources, shared)
        else:
            self._answer_whole_rows(numbers, batch, asks, sources)
        return numbers

    def _answer_whole_rows(self, numbers: Tensor, batch: Batch, asks: Asks, sources: Sequence[tuple[int, ...]]) -> None:
        encoded: dict[tuple[int, ...], Tensor] = {}
        for lines in of_like_length([len(source) for source in sources], self.batch_tokens):
            some = [sources[line] for line in lines]
            encoded |= {source: states[: len(source)] for source, states in zip(some, self._encode(some), strict=True)}
        for lines in of_like_length([len(row.ids) for row in batch], self.batch_tokens):
            rows = [batch[line] for line in lines]
            states = pad_sequence([encoded[row.source] for row in rows], batch_first=True)
            inputs = self._decoding([row.ids for row in rows], states, self.mask([row.source for row in rows]))
            self._answer_step(numbers, inputs, asks, _new_numbers(lines, len(batch))[asks.lines])

    def _answer_in_steps(
        self, numbers: Tensor, batch: Batch, asks: Asks, sources: Sequence[tuple[int, ...]], shared: int
    ) -> None:
        """First the `shared` tokens that all rows begin with, once for each source, then what is left of each row."""
        past = Past(self.to_device)
        number = {source: place for place, source in enumerate(sources)}
        source_of = np.array([number[row.source] for row in batch])
        early = asks.positions < shared
        for lines in of_like_length([len(source) for source in sources], self.batch_tokens):
            some = [sources[line] for line in lines]
            cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
            inputs = self._decoding([batch[0].ids[:shared]] * len(some), self._encode(some), self.mask(some), cache)
            new_lines = _new_numbers(lines, len(sources))[source_of[asks.lines]]
            self._answer_step(numbers, inputs, asks, np.where(early, new_lines, -1))
            past.keep(some, cache)
        later = [line for line, row in enumerate(batch) if len(row.ids) > shared]
        for places in of_like_length([len(batch[line].ids) - shared for line in later], self.batch_tokens):
            lines = [later[place] for place in places]
            some = [batch[line].source for line in lines]
            cache = past.of(some)
            # The source is in the cache already; of its states only the shape counts.
            width = cache.cross_attention_cache.get_seq_length()
            states = torch.zeros(1, device=self.device).expand(len(some), width, 1)
            inputs = self._decoding([batch[line].ids[shared:] for line in lines], states, self.mask(some, width), cache)
            new_lines = _new_numbers(lines, len(batch))[asks.lines]
            self._answer_step(numbers, inputs, asks, np.where(early, -1, new_lines), shared)

    def _answer_step(
        self, numbers: Tensor, inputs: dict[str, Any], asks: Asks, new_lines: NDArray[np.int64], shift: int = 0
    ) -> None:
        """Answer those asks that have a line among these inputs, whose positions begin `shift` tokens later."""
        chosen = np.flatnonzero(new_lines >= 0)
        here = Asks(new_lines[chosen], asks.positions[chosen] - shift, asks.tokens[chosen], asks.wants[chosen])
        numbers[:, self.to_device(chosen)] = self.read(inputs, inputs["decoder_input_ids"].shape[1], here)

    def _encode(self, sources: Sequence[tuple[int, ...]]) -> Tensor:
        encoder: Any = self.model.get_encoder()  # type: ignore[operator]
        states: Tensor = encoder(input_ids=self.padded(sources), attention_mask=self.mask(sources)).last_hidden_state
        return states

    def _decoding(
        self,
        ids: Sequence[tuple[int, ...]],
        encoded: Tensor,
        mask: Tensor | None,
        cache: EncoderDecoderCache | None = None,
    ) -> dict[str, Any]:
        return {
            "encoder_outputs": BaseModelOutput(last_hidden_state=cast(torch.FloatTensor, encoded)),
            "attention_mask": mask,
            # Padding of the decoder stands on the right, where what is read cannot see it.
            "decoder_input_ids": self.padded(ids),
            "past_key_values": cache,
            "use_cache": cache is not None,
        }

    @torch.inference_mode()
    def _goes_on_from_prefixes(self) -> bool:
        """Whether a few rows get the same numbers in steps as whole."""
        targets = [(0, 2, 3, 4), (0, 2, 5, 6, 7), (0, 2)]
        questions = [
            Question(ids, tuple((place, place + 1) for place in range(len(ids))), source=source)
            for source in ((1, 2, 3), (4, 5, 6, 7, 8))
            for ids in targets
        ]
        (batch,) = plan(questions, self.kind, 1000)
        asks = Asks.of(batch)
        sources = list(dict.fromkeys(row.source for row in batch))
        whole, in_steps = torch.zeros((2, 2, len(asks)), device=self.device)
        self._answer_whole_rows(whole, batch, asks, sources)
        try:
            self._answer_in_steps(in_steps, batch, asks, sources, 2)
        except (RuntimeError, ValueError, TypeError, IndexError, AttributeError):
            return False  # a model without such a cache simply gets its rows whole
        return bool((whole[0] - in_steps[0]).abs().max() < SAME[self.dtype])


def _new_numbers(chosen: Sequence[int], total: int) -> NDArray[np.int64]:
    """For each of so many lines its place among the chosen ones, or -1."""
    numbers = np.full(total, -1, dtype=np.int64)
    numbers[list(chosen)] = np.arange(len(chosen))
    return numbers
