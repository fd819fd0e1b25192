"""Encoder-decoder models: T5, mT5 and their kin."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from tiltmeter.models.answerer import VocabularyAnswerer
from tiltmeter.models.past import Past
from tiltmeter.questions import Question, common_prefix
from tiltmeter.scoring.plan import Ask, Batch, Row, of_like_length, plan


@dataclass(slots=True)
class _Step:
    """Part of a row that is decoded at once, and where the numbers of its asks belong."""

    row: Row
    places: list[int] = field(default_factory=list)

    def ask(self, ask: Ask, place: int, shift: int) -> None:
        """Take over an ask of the whole row, whose positions begin `shift` tokens earlier."""
        self.row.asks.append(Ask(ask.position - shift, ask.token, ask.want, ask.question, ask.pair))
        self.places.append(place)


class Seq2seqAnswerer(VocabularyAnswerer):
    """Reads the decoder's distribution over its next token.

    The sources of a batch are encoded each once, however many rows share it, and so is what all rows begin with
    decoded once for each source. The rows go on from there, in smaller batches of like length, with the keys and
    values of the beginning and of the source; whether a model can do that is tried out once.
    """

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
        numbers = torch.zeros((2, sum(len(row.asks) for row in batch)), device=self.device)
        sources = list(dict.fromkeys(row.source for row in batch))
        # What the first and the last row in order have in common, all have.
        shared = common_prefix(min(row.ids for row in batch), max(row.ids for row in batch))
        # Where no source has a second row, nothing is gained by going in steps.
        if shared and self.shares_prefixes and len(sources) < len(batch):
            self._answer_in_steps(numbers, batch, sources, shared)
        else:
            self._answer_whole_rows(numbers, batch, sources)
        return numbers

    def _answer_whole_rows(self, numbers: Tensor, batch: Batch, sources: Sequence[tuple[int, ...]]) -> None:
        states: list[Tensor] = [torch.empty(0)] * len(sources)
        for lines in of_like_length([len(source) for source in sources], self.batch_tokens):
            for line, found in zip(lines, self._encode([sources[line] for line in lines]), strict=True):
                states[line] = found[: len(sources[line])]
        place = dict(zip(sources, states, strict=True))
        first_ask = np.cumsum([0, *(len(row.asks) for row in batch)])
        for lines in of_like_length([len(row.ids) for row in batch], self.batch_tokens):
            rows = [batch[line] for line in lines]
            encoded = nn.utils.rnn.pad_sequence([place[row.source] for row in rows], batch_first=True)
            inputs = self._decoding([row.ids for row in rows], encoded, self.mask([row.source for row in rows]))
            asks = np.concatenate([np.arange(first_ask[line], first_ask[line + 1]) for line in lines])
            numbers[:, self.to_device(asks)] = self.read(rows, inputs)

    def _answer_in_steps(self, numbers: Tensor, batch: Batch, sources: Sequence[tuple[int, ...]], shared: int) -> None:
        """First the `shared` tokens that all rows begin with, once for each source, then what is left of each row."""
        begun, rest = _steps(batch, shared)
        past = Past(sources)
        for lines in of_like_length([len(source) for source in sources], self.batch_tokens):
            some = [sources[line] for line in lines]
            cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
            inputs = self._decoding([begun[s].row.ids for s in some], self._encode(some), self.mask(some), cache)
            self._answer_steps(numbers, [begun[source] for source in some], inputs)
            past.keep(self.to_device(np.array(lines)), cache)
        for lines in of_like_length([len(step.row.ids) for step in rest], self.batch_tokens):
            steps = [rest[line] for line in lines]
            some = [step.row.source for step in steps]
            cache = past.of(self.to_device(np.array([past.place[source] for source in some])), max(map(len, some)))
            # The source is in the cache already; of its states only the shape counts.
            encoded = torch.zeros(1, device=self.device).expand(len(some), max(map(len, some)), 1)
            ids = [step.row.ids for step in steps]
            self._answer_steps(numbers, steps, self._decoding(ids, encoded, self.mask(some), cache))

    def _answer_steps(self, numbers: Tensor, steps: Sequence[_Step], inputs: dict[str, Any]) -> None:
        places = np.array([place for step in steps for place in step.places], dtype=np.int64)
        numbers[:, self.to_device(places)] = self.read([step.row for step in steps], inputs)

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
        (batch,) = plan(questions, "seq2seq", 1000)
        sources = list(dict.fromkeys(row.source for row in batch))
        whole, in_steps = torch.zeros((2, 2, sum(len(row.asks) for row in batch)), device=self.device)
        self._answer_whole_rows(whole, batch, sources)
        try:
            self._answer_in_steps(in_steps, batch, sources, 2)
        except (RuntimeError, ValueError, TypeError, IndexError, AttributeError):
            return False  # a model without such a cache simply gets its rows whole
        return bool((whole[0] - in_steps[0]).abs().max() < 1e-3)


def _steps(batch: Batch, shared: int) -> tuple[dict[tuple[int, ...], _Step], list[_Step]]:
    """The beginning of each source's rows, and what is left of each row after it."""
    begun: dict[tuple[int, ...], _Step] = {}
    rest: list[_Step] = []
    place = 0
    for row in batch:
        if row.source not in begun:
            begun[row.source] = _Step(Row(row.ids[:shared], row.source))
        later = _Step(Row(row.ids[shared:], row.source))
        for ask in row.asks:
            if ask.position < shared:
                begun[row.source].ask(ask, place, 0)
            else:
                later.ask(ask, place, shared)
            place += 1
        if later.row.ids:
            rest.append(later)
    return begun, rest
