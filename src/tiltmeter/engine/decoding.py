"""Generation of many texts at once with a causal model: each pass through the model adds a token to every text.

The tokens that prompts share at their beginning are computed once. A text that ends leaves the batch, and a waiting
prompt takes its place. The model runs with a cache that is written in place (`slot_cache`), and only the logits of the
last position are computed.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from tiltmeter.engine.attention_masks import AttentionMasks
from tiltmeter.engine.slot_cache import SlotCache
from tiltmeter.engine.token_choice import ChosenTokens, split_seed
from tiltmeter.questions import Ids, count_common_prefix

# A shared prefix of fewer tokens is not computed by itself.
_MIN_PREFIX = 8
# A pass through the model takes at least as long as a pass with this number of tokens.
_CPU_PASS_TOKENS, _PASS_TOKENS = 64, 2_048
# Maximum number of tokens of a pass that reads prompts.
_CPU_PREFILL_TOKENS, _PREFILL_TOKENS = 2_048, 16_384
# On a GPU, the chosen tokens are copied to the CPU only after this number of steps, because the copy waits for the GPU.
_STEPS_PER_COPY = 8
# Prompts join when this share of the rows is free, because a pass for few prompts is slow.
_JOINING_SHARE = 0.25
# Additional columns of the cache if prompts join, so that the columns are moved rarely.
_SPARE_COLUMNS = 32

# Returns the logits after a text, which are computed without other texts and without a cache.
ComputeLogits = Callable[[Ids], Tensor]


class ChoosesTokens(Protocol):
    """An object that chooses the next tokens of a batch, such as `token_choice.TokenChoice`."""

    @property
    def margin(self) -> float:
        """The difference of two logits below which a choice is checked with `recompute_logits`; 0 means never."""

    def choose_tokens(self, logits: Tensor, seeds: Tensor, steps: Tensor) -> ChosenTokens:
        """Return the chosen tokens; `seeds` is a tensor of rows × 2, and `steps` are the places in the texts."""


@dataclass(frozen=True, slots=True)
class TextRequest:
    """The tokens of a prompt, the maximum number of generated tokens, and the seed of the random numbers."""

    ids: Ids
    longest: int
    seed: int = 0


@dataclass(slots=True)
class _Row:
    """A text in the batch: the index of its request, its first column, and the tokens so far.

    `has_gap` tells whether there are empty columns between its tokens.
    """

    index: int
    request: TextRequest
    start: int
    has_gap: bool
    tokens: list[int] = field(default_factory=list)
    is_finished: bool = False

    def add_token(self, token: int, ends: Sequence[int]) -> None:
        """Add a token, unless the text has ended."""
        if not self.is_finished:
            self.tokens.append(token)
            self.is_finished = token in ends or len(self.tokens) == self.request.longest


@dataclass(kw_only=True)
class Decoder:
    """A causal model that generates texts in batches; `ends` are the tokens that end a text.

    `padding` is a token id for empty places of a batch. `recompute_logits` decides between tokens whose scores are so
    close that rounding could change the choice (see `token_choice`).
    """

    module: nn.Module
    device: torch.device
    ends: Sequence[int]
    padding: int
    masks: AttentionMasks
    recompute_logits: ComputeLogits

    # The size in bytes of the keys and values of one token; known after the first batch.
    column_bytes: int = 0

    def __post_init__(self) -> None:
        self._options: dict[str, Any] = {"use_cache": True, "return_dict": True}
        if "logits_to_keep" in inspect.signature(self.module.forward).parameters:
            self._options["logits_to_keep"] = 1
        self._dtype = next(
            (parameter.dtype for parameter in self.module.parameters() if parameter.is_floating_point()), torch.float32
        )

    @property
    def is_half_precision(self) -> bool:
        """Whether the weights have 16 bits."""
        return self._dtype in (torch.float16, torch.bfloat16)

    def generate_texts(
        self, requests: Sequence[TextRequest], choice: ChoosesTokens, *, rows: int
    ) -> Iterator[dict[int, list[int]]]:
        """Yield the generated tokens of finished texts by the indices of their requests; `rows` is the batch size."""
        yield from _Batch(self, requests, choice, min(rows, len(requests))).generate()

    def call_model(self, ids: Tensor, positions: Tensor, mask: Any, cache: SlotCache) -> Tensor:
        """Return the logits of the last position of each row."""
        output: Any = self.module(
            input_ids=ids, position_ids=positions, attention_mask=mask, past_key_values=cache, **self._options
        )
        last: Tensor = output.logits[:, -1].to(self.device)
        return last

    def build_mask(self, queries: Tensor, keys: Tensor) -> Any:
        """Return the attention mask of new tokens at the positions `queries`; empty places have the position -1.

        `keys` are the positions of all tokens; the last ones are the new tokens.
        """
        seen = (keys[:, None] >= 0) & (keys[:, None] <= queries[:, :, None])
        # Padding sees itself, because attention to nothing is not a number.
        own = torch.arange(keys.shape[1] - queries.shape[1], keys.shape[1], device=keys.device)
        seen |= (own[:, None] == torch.arange(keys.shape[1], device=keys.device))[None]
        return self.masks.build_mask(seen, queries, self._dtype, keys)


class _Batch:
    """The texts that are generated together, and the prompts that wait."""

    def __init__(self, decoder: Decoder, requests: Sequence[TextRequest], choice: ChoosesTokens, rows: int) -> None:
        self._decoder, self._requests, self._choice = decoder, requests, choice
        # Prompts with the same beginning are neighbours in this order.
        self._waiting = sorted(range(len(requests)), key=lambda index: requests[index].ids, reverse=True)
        self._width = max(len(request.ids) for request in requests)
        columns = self._width + max(request.longest for request in requests)
        self._cache = SlotCache(rows, columns + (_SPARE_COLUMNS if len(requests) > rows else 0))
        self._layout = self._cache.layout
        self._layout.end = self._width
        self._rows: list[_Row] = []
        self._prefix: Ids = ()
        device = decoder.device
        self._positions = torch.full((rows, self._layout.columns), -1, dtype=torch.int32, device=device)
        self._last, self._next = (torch.zeros(rows, dtype=torch.long, device=device) for _ in range(2))
        self._seeds = torch.zeros(rows, 2, dtype=torch.int32, device=device)
        self._steps = torch.zeros(rows, dtype=torch.int32, device=device)
        self._is_on_cpu = device.type == "cpu"

    @property
    def _copies_each_step(self) -> bool:
        return self._is_on_cpu or self._choice.margin > 0

    @torch.inference_mode()
    def generate(self) -> Iterator[dict[int, list[int]]]:
        while self._waiting or self._rows:
            free = self._layout.rows - len(self._rows)
            if self._waiting and (not self._rows or free >= max(1, _JOINING_SHARE * self._layout.rows)):
                self._read_prompts(free)
            else:
                self._take_steps()
            if finished := self._remove_finished_rows():
                yield finished
        self._decoder.column_bytes = self._cache.compute_column_bytes()

    def _read_prompts(self, free: int) -> None:
        """Compute the keys and values of waiting prompts and their first tokens; they join the batch."""
        if not self._rows:
            self._layout.end = self._width
        elif self._layout.end < self._width:
            raise AssertionError("columns were moved too far")
        chosen, prefix, width = self._take_waiting_prompts(free)
        if prefix != self._prefix:
            self._read_prefix(prefix)
        layout, first = self._layout, len(self._rows)
        layout.first_row, layout.prefix, layout.start = first, len(prefix), layout.end - width
        layout.begin = layout.start - len(prefix)
        suffixes = [self._requests[index].ids[len(prefix) :] for index in chosen]
        padded = [[self._decoder.padding] * (width - len(ids)) + list(ids) for ids in suffixes]
        own = [[-1] * (width - len(ids)) + [*range(len(prefix), len(prefix) + len(ids))] for ids in suffixes]
        shared = [[*range(len(prefix))]] * len(chosen)
        ids, queries, before = (self._to_device(values) for values in (padded, own, shared))
        keys = torch.cat([before, queries], 1)
        rows = slice(first, first + len(chosen))
        self._positions[rows] = -1
        self._positions[rows, layout.begin : layout.end] = keys.int()
        has_gap = [len(ids) < width for ids in suffixes]
        needs_mask = prefix or any(has_gap) or self._decoder.masks.form != "full"
        mask = self._decoder.build_mask(queries, keys) if needs_mask else None
        for index, gap, length in zip(chosen, has_gap, map(len, suffixes), strict=True):
            start = layout.begin if prefix else layout.end - length
            self._rows.append(_Row(index, self._requests[index], start, bool(prefix) and gap))
        self._next[rows] = queries[:, -1] + 1
        self._seeds[rows] = self._to_device([split_seed(self._requests[index].seed) for index in chosen]).int()
        self._steps[rows] = 0
        logits = self._decoder.call_model(ids, queries.clamp_min(0), mask, self._cache)
        layout.prefix = 0
        self._record_tokens([self._choose_tokens(logits, rows)], rows)

    def _take_waiting_prompts(self, free: int) -> tuple[list[int], Ids, int]:
        """Return the indices of the next prompts, their common prefix, and the maximum length of the other tokens."""
        limit = _CPU_PREFILL_TOKENS if self._is_on_cpu else _PREFILL_TOKENS
        least = _CPU_PASS_TOKENS if self._is_on_cpu else _PASS_TOKENS
        chosen: list[int] = []
        prefix: Ids = ()
        longest = tokens = 0
        while self._waiting and len(chosen) < free:
            ids = self._requests[self._waiting[-1]].ids
            together = ids[: min(len(ids) - 1, count_common_prefix(prefix, ids))] if chosen else ids[:-1]
            length = max(longest, len(ids))
            joined = _count_tokens(len(chosen) + 1, len(together), length)
            # A prompt that shares much less with the others starts the next pass.
            if chosen and (joined > limit or joined > tokens + len(ids) + least):
                break
            prefix, longest, tokens = together, length, joined
            chosen.append(self._waiting.pop())
        shared = len(prefix)
        used = shared if shared >= _MIN_PREFIX and len(chosen) > 1 else 0
        return chosen, prefix[:used], longest - used

    def _read_prefix(self, prefix: Ids) -> None:
        self._prefix = prefix
        if not prefix:
            return
        decoder = self._decoder
        ids, positions = self._to_device([list(prefix)]), self._to_device([[*range(len(prefix))]])
        mask = None if decoder.masks.form == "full" else decoder.build_mask(positions, positions)
        self._layout.records_prefix = True
        decoder.call_model(ids, positions, mask, self._cache)
        self._layout.records_prefix = False

    def _take_steps(self) -> None:
        """Add tokens to all texts until the tokens are copied to the CPU."""
        count = min(row.request.longest - len(row.tokens) for row in self._rows)
        steps = 1 if self._copies_each_step else min(_STEPS_PER_COPY, count)
        rows = slice(0, len(self._rows))
        self._record_tokens([self._take_step(rows) for _ in range(steps)], rows)

    def _take_step(self, rows: slice) -> ChosenTokens:
        layout, decoder = self._layout, self._decoder
        if layout.end == layout.columns:
            self._move_columns()
        layout.first_row, layout.start, layout.end = 0, layout.end, layout.end + 1
        layout.begin = min(row.start for row in self._rows)
        positions = self._next[rows]
        self._positions[rows, layout.start] = positions.int()
        needs_mask = decoder.masks.form != "full" or any(row.has_gap or row.start > layout.begin for row in self._rows)
        mask = None
        if needs_mask:
            mask = decoder.build_mask(positions[:, None], self._positions[rows, layout.begin : layout.end])
        logits = decoder.call_model(self._last[rows, None], positions[:, None], mask, self._cache)
        self._next[rows] += 1
        return self._choose_tokens(logits, rows)

    def _choose_tokens(self, logits: Tensor, rows: slice) -> ChosenTokens:
        chosen = self._choice.choose_tokens(logits, self._seeds[rows], self._steps[rows])
        self._last[rows] = chosen.tokens
        self._steps[rows] += 1
        return chosen

    def _record_tokens(self, steps: Sequence[ChosenTokens], rows: slice) -> None:
        """Copy the tokens of some steps to the CPU, and choose again where rounding could change the choice."""
        copied = [torch.stack([getattr(step, name) for step in steps]).tolist() for name in ChosenTokens._fields]
        for tokens, is_close, is_number in zip(*copied, strict=True):
            if not all(is_number):
                raise ArithmeticError("the model returns probabilities that are not numbers")
            for offset, (token, close) in enumerate(zip(tokens, is_close, strict=True)):
                row = self._rows[rows.start + offset]
                if close and not row.is_finished:
                    token = self._choose_again(row)
                    self._last[rows.start + offset] = token
                row.add_token(token, self._decoder.ends)

    def _choose_again(self, row: _Row) -> int:
        logits = self._decoder.recompute_logits((*row.request.ids, *row.tokens)).to(self._decoder.device)
        seeds = self._to_device([split_seed(row.request.seed)]).int()
        steps = torch.full((1,), len(row.tokens), dtype=torch.int32, device=seeds.device)
        return int(self._choice.choose_tokens(logits[None], seeds, steps).tokens)

    def _remove_finished_rows(self) -> dict[int, list[int]]:
        """Remove the texts that ended, and return their tokens; other texts take their rows."""
        finished = {place: row.tokens for place, row in enumerate(self._rows) if row.is_finished}
        if not finished:
            return {}
        found = {self._rows[place].index: tokens for place, tokens in finished.items()}
        left = len(self._rows) - len(finished)
        targets = [place for place in finished if place < left]
        sources = [place for place in range(left, len(self._rows)) if place not in finished]
        if sources:
            # The columns of all rows are copied, not only those that the last pass read.
            self._layout.begin = min(row.start for row in self._rows)
            self._cache.move_rows(sources, targets)
            to, of = self._to_device(targets), self._to_device(sources)
            for values in (self._positions, self._last, self._next, self._seeds, self._steps):
                values[to] = values[of]
        for source, target in zip(sources, targets, strict=True):
            self._rows[target] = self._rows[source]
        del self._rows[left:]
        return found

    def _move_columns(self) -> None:
        """Move all columns to the left, because the last column is in use; waiting prompts still fit."""
        layout = self._layout
        distance = min(*(row.start for row in self._rows), layout.end - self._width)
        assert distance > 0
        self._cache.move_columns(distance)
        self._positions[:, :-distance] = self._positions[:, distance:].clone()
        self._positions[:, -distance:] = -1
        layout.end -= distance
        for row in self._rows:
            row.start -= distance

    def _to_device(self, values: Sequence[Any]) -> Tensor:
        return torch.tensor(values, dtype=torch.long, device=self._decoder.device)


def _count_tokens(count: int, shared: int, longest: int) -> int:
    """Return the number of tokens that a pass computes for some prompts that share tokens at their beginning."""
    return count * longest if shared < _MIN_PREFIX or count == 1 else shared + count * (longest - shared)
