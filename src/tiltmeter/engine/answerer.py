"""What all kinds of model share in answering: a batch of rows in, numbers for each ask out."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tiltmeter.engine.attention import mean_attention
from tiltmeter.engine.head import OnlyAt, VocabularyHead
from tiltmeter.engine.memory import batch_tokens
from tiltmeter.engine.rows import Asks, Batch, Row
from tiltmeter.engine.speedups import speed_up
from tiltmeter.questions import Kind, Want

# The width of packed rows on a GPU: wide enough that hardly any room is left in them.
_WIDTH_OF_PACKS = 128
# While a GPU works on one batch, the next are prepared; a CPU would only compete with itself.
_BATCHES_AHEAD = 2


class Answerer(ABC):
    """A loaded model that answers batches.

    As it is made it is plain: one input in a row, whole forward passes. Speed-ups, except those named in `without`,
    then change the attributes below; `speedups` names those that are in use.
    """

    kind: Kind
    # Whether inputs with a common prefix may share a row.
    shares_prefixes = False
    # How many tokens a row of several inputs is to have; 0 where each input has a row of its own.
    pack = 0
    # The width of packed rows on a CPU: attention is over the whole row, and costs it more than a GPU.
    width_on_processor = 64

    def __init__(self, model: nn.Module, device: torch.device, without: Collection[str] = ()) -> None:
        self.model = model
        self.device = device
        self.dtype = next(p.dtype for p in model.parameters() if p.is_floating_point())
        self.batches_ahead = 0 if device.type == "cpu" else _BATCHES_AHEAD
        # Any id serves as padding: it is masked, or stands after everything that is read.
        self.pad = 0
        # A context in which the last layer may be left out at all but some positions.
        self.only_at: OnlyAt = lambda _rows: nullcontext()
        self.batch_tokens = batch_tokens(model, self.kind, device)
        self.prepare()
        self.speedups = speed_up(self, without)

    def prepare(self) -> None:
        """What a kind of model needs before it can answer."""
        return

    @abstractmethod
    def numbers(self, batch: Batch) -> Tensor:
        """For each ask of each row, in order: its number, and the second one where `Want` names two."""

    @torch.inference_mode()
    def start(self, batch: Batch) -> Callable[[], NDArray[np.float32]]:
        """Begin to answer a batch; what is returned waits for the numbers."""
        numbers = self.numbers(batch)
        if self.device.type == "cpu":
            return numbers.numpy
        host = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=self.device.type == "cuda")
        host.copy_(numbers, non_blocking=True)
        if self.device.type != "cuda":
            return host.numpy
        copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
        copied.record()

        def wait() -> NDArray[np.float32]:
            copied.synchronize()
            array: NDArray[np.float32] = host.numpy().copy()  # pinned memory is dear, and answers are kept
            return array

        return wait

    def answer(self, batch: Batch) -> NDArray[np.float32]:
        """The numbers of a batch."""
        return self.start(batch)()

    def width_of_packs(self) -> int:
        """How many tokens a row of several inputs has: what suits the device, but no more than the model reads."""
        width = self.width_on_processor if self.device.type == "cpu" else _WIDTH_OF_PACKS
        return min(width, getattr(self.model.config, "max_position_embeddings", None) or width)

    def takes_positions(self) -> bool:
        """Whether the positions of tokens can be given."""
        return "position_ids" in inspect.signature(self.model.forward).parameters

    def padded(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Token ids as one rectangle, padded on the right."""
        lengths = np.array([len(row) for row in rows])
        flat = np.fromiter(chain.from_iterable(rows), dtype=np.int64)
        return self._rectangle(flat, lengths, self.pad)

    def mask(self, rows: Sequence[Sequence[int]]) -> Tensor | None:
        """1 for tokens, 0 for padding; None where there is no padding, which lets attention take its fast path."""
        lengths = np.array([len(row) for row in rows])
        if lengths.min() == lengths.max():
            return None
        return self.to_device((np.arange(lengths.max()) < lengths[:, None]).astype(np.int64))

    def depths_and_ends(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Where each token stands in its own input, and where what follows it ends; see `Row`."""
        depths = [row.depths or range(len(row.ids)) for row in batch]
        ends = [row.ends or (len(row.ids),) * len(row.ids) for row in batch]
        return self.padded(depths), self.padded(ends)

    def inputs_of_tokens(self, lengths: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Of rows of several inputs with these lengths, for each token: where in its input it stands, and in which.

        Inputs are numbered through all rows; padding belongs to none, which has the number -1.
        """
        each = np.fromiter(chain.from_iterable(lengths), dtype=np.int64)
        of_rows = np.array([sum(row) for row in lengths])
        places = np.arange(each.sum()) - np.repeat(each.cumsum() - each, each)
        numbers = np.repeat(np.arange(len(each)), each)
        return self._rectangle(places, of_rows, 0), self._rectangle(numbers, of_rows, -1)

    def _rectangle(self, flat: NDArray[np.int64], lengths: NDArray[np.int64], padding: int) -> Tensor:
        """What belongs to all rows, one after the other, as a row each."""
        table = np.full((len(lengths), lengths.max()), padding, dtype=np.int64)
        table[np.arange(table.shape[1]) < lengths[:, None]] = flat
        return self.to_device(table)

    def additive(self, seen: Tensor) -> Tensor:
        """Which tokens each one sees, as a mask to be added: what all kinds of attention in transformers understand."""
        mask = torch.zeros(seen.shape, dtype=self.dtype, device=self.device)
        return mask.masked_fill_(~seen, torch.finfo(self.dtype).min)[:, None]

    def tree_mask(self, ends: Tensor) -> Tensor:
        """A token is seen by itself, even if it is padding, and by those that follow it in its tree."""
        places = torch.arange(ends.shape[1], device=self.device)
        follows = (places[:, None] >= places) & (places[:, None] < ends[:, None])
        return self.additive(follows | (places[:, None] == places))

    def to_device(self, array: NDArray[np.int64]) -> Tensor:
        """An array on the model's device, copied while the device goes on working."""
        if self.device.type != "cuda":
            return torch.from_numpy(array).to(self.device)
        pinned = torch.empty(array.shape, dtype=torch.int64, pin_memory=True)
        # Not by torch, which would wake all its threads for it: on a busy host that takes longer than to copy.
        pinned.numpy()[...] = array
        return pinned.to(self.device, non_blocking=True)


class VocabularyAnswerer(Answerer):
    """Answers from the distribution over the vocabulary: masked, causal and encoder-decoder models."""

    def __init__(self, model: nn.Module, device: torch.device, without: Collection[str] = ()) -> None:
        self.head = VocabularyHead(model)
        super().__init__(model, device, without)
        if self.head.projects_everywhere:
            self.batch_tokens = batch_tokens(model, self.kind, device, logits_everywhere=True)

    @abstractmethod
    def example(self) -> dict[str, Any]:
        """The keyword arguments of the model's forward call for a small input."""

    def read(self, inputs: dict[str, Any], width: int, asks: Asks) -> Tensor:
        """The numbers that are asked of inputs which are so wide."""
        positions = asks.lines * width + asks.positions
        rows, which = np.unique(positions, return_inverse=True)
        states = self.head.read(inputs, self.to_device(rows), self.only_at)
        numbers = torch.zeros((2, len(asks)), device=self.device)
        logits = asks.wants == Want.LOGIT
        for chosen, normalised in ((~logits, True), (logits, False)):
            if not chosen.any():
                continue
            places = (self.to_device(which[chosen]), self.to_device(asks.tokens[chosen]))
            if normalised:
                found = torch.stack(self.head.log_probs(states, *places))
            else:
                found = self.head.logits(states, *places)[None]
            if chosen.all():
                numbers[: len(found)] = found
            else:
                numbers[: len(found), self.to_device(np.flatnonzero(chosen))] = found
        attended = np.flatnonzero(asks.wants == Want.LOG_PROB_AND_ATTENTION)
        if len(attended):
            attention = mean_attention(self.model, inputs).ravel()
            numbers[1, self.to_device(attended)] = attention[self.to_device(positions[attended])]
        return numbers


class OneStackAnswerer(VocabularyAnswerer):
    """A model that is all encoder or all decoder: what is asked about goes in, and is read where it comes out."""

    @abstractmethod
    def inputs(self, batch: Batch) -> dict[str, Any]:
        """The keyword arguments of the model's forward call."""

    def example(self) -> dict[str, Any]:
        """The keyword arguments of the model's forward call for a small input."""
        return self.inputs([Row(ids=(1, 2, 3))])

    def numbers(self, batch: Batch) -> Tensor:
        """For each ask of each row, in order: its number, and the second one where `Want` names two."""
        return self.read(self.inputs(batch), max(len(row.ids) for row in batch), Asks.of(batch))
