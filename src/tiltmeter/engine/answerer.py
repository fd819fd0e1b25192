"""Base classes of the answerers: they turn a batch of rows into the requested numbers."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tiltmeter.engine.attention import compute_mean_attention
from tiltmeter.engine.attention_masks import AttentionMasks
from tiltmeter.engine.batch_effects import BatchEffects
from tiltmeter.engine.batch_layout import BatchLayout
from tiltmeter.engine.batch_rows import Batch, NumberRequests, Row
from tiltmeter.engine.batch_size import estimate_batch_tokens
from tiltmeter.engine.input_limits import find_max_positions
from tiltmeter.engine.speedups import apply_speedups
from tiltmeter.engine.vocabulary_head import RestrictPositions, VocabularyHead
from tiltmeter.questions import Kind, WantedQuantity

# The width of packed rows on a GPU. Wider rows are filled better but cost more attention; with this width, padding is
# at most 3% (docs/evidence/performance.md).
_PACK_WIDTH_ON_GPU = 128
# While a GPU computes one batch, the next ones are prepared; on a CPU this would only compete with the computation.
_BATCHES_AHEAD = 2


class Answerer(ABC):
    """A loaded model that answers batches.

    At first it is plain: one input per row, complete forward passes. The constructor finds the batches in which each
    input gets the numbers that it gets alone, and then applies the speed-ups, except those named in `without`.
    `speedups` names those in use; `disabled` gives the reason for each that was tried and is not used.
    """

    kind: Kind
    # The width of packed rows on a CPU. Narrower than on a GPU, because attention is over the whole row and is a larger
    # part of the time there. Together with larger batches, T5 took 7 to 12% less time than with unpacked rows
    # (docs/evidence/performance.md).
    pack_width_on_cpu = 64

    def __init__(self, model: nn.Module, device: torch.device, without: Collection[str] = ()) -> None:
        self.model = model
        self.device = device
        self.dtype = next(p.dtype for p in model.parameters() if p.is_floating_point())
        self.batches_ahead = 0 if device.type == "cpu" else _BATCHES_AHEAD
        # Any id serves as padding: it is masked, or comes after every position that is read.
        self.pad = 0
        # A context in which the last layer need be computed at the given positions only.
        self.restrict_to_positions: RestrictPositions = lambda _rows: nullcontext()
        self.batch_tokens = estimate_batch_tokens(model, self.kind, device)
        # The longest input, in tokens; None if there is no limit.
        self.positions = find_max_positions(model)
        self.masks = AttentionMasks.from_config(model.config, causal=self.kind in ("causal", "seq2seq"))
        self.layout = BatchLayout(batches=False)
        self.disabled: Mapping[str, str] = {}
        self.speedups: tuple[str, ...] = ()
        self.prepare()
        self.check_and_speed_up(without)

    def prepare(self) -> None:
        """Look up what a kind of model needs to answer; called before speed-ups are applied."""
        return

    @torch.inference_mode()
    def check_and_speed_up(self, without: Collection[str]) -> None:
        """Find the batches that do not change numbers, then apply the speed-ups that do not."""
        effects = BatchEffects(self)
        self.layout, self.disabled = effects.find_layout()
        self.speedups = apply_speedups(self, effects, without)

    @abstractmethod
    def numbers(self, batch: Batch) -> Tensor:
        """The requested numbers of a batch, in the order of `NumberRequests`: first numbers, then second ones."""

    @torch.inference_mode()
    def start(self, batch: Batch) -> Callable[[], NDArray[np.float32]]:
        """Start the computation of a batch; the returned function waits for the numbers."""
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
            array: NDArray[np.float32] = host.numpy().copy()  # answers are kept, and pinned memory is scarce
            return array

        return wait

    def answer(self, batch: Batch) -> NDArray[np.float32]:
        """The numbers of a batch."""
        return self.start(batch)()

    def compute_pack_width(self) -> int:
        """The width of packed rows: what suits the device, but no more positions than the model has."""
        width = self.pack_width_on_cpu if self.device.type == "cpu" else _PACK_WIDTH_ON_GPU
        return min(width, self.positions or width)

    def accepts_positions(self) -> bool:
        """Whether the model accepts the positions of tokens as an argument."""
        return "position_ids" in inspect.signature(self.model.forward).parameters

    def pad_rows(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Token ids as one tensor, padded on the right."""
        lengths = np.array([len(row) for row in rows])
        flat = np.fromiter(chain.from_iterable(rows), dtype=np.int64)
        return self._pad_to_rectangle(flat, lengths, self.pad)

    def mask(self, rows: Sequence[Sequence[int]]) -> Tensor | None:
        """1 for tokens, 0 for padding; None if there is no padding, which allows faster attention kernels."""
        lengths = np.array([len(row) for row in rows])
        if lengths.min() == lengths.max():
            return None
        return self.to_device((np.arange(lengths.max()) < lengths[:, None]).astype(np.int64))

    def compute_depths_and_ends(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The position of each token in its own input, and the end of its subtree; see `Row`."""
        depths = [row.depths or range(len(row.ids)) for row in batch]
        ends = [row.ends or (len(row.ids),) * len(row.ids) for row in batch]
        return self.pad_rows(depths), self.pad_rows(ends)

    def locate_packed_tokens(self, lengths: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """For each token of packed rows with these input lengths: its position in its input, and the input's number.

        Inputs are numbered through all rows; the number of padding is -1.
        """
        of_inputs = np.fromiter(chain.from_iterable(lengths), dtype=np.int64)
        of_rows = np.array([sum(row) for row in lengths])
        positions = np.arange(of_inputs.sum()) - np.repeat(of_inputs.cumsum() - of_inputs, of_inputs)
        numbers = np.repeat(np.arange(len(of_inputs)), of_inputs)
        return self._pad_to_rectangle(positions, of_rows, 0), self._pad_to_rectangle(numbers, of_rows, -1)

    def _pad_to_rectangle(self, flat: NDArray[np.int64], lengths: NDArray[np.int64], padding: int) -> Tensor:
        """Split a flat array into rows of these lengths, padded to one tensor."""
        table = np.full((len(lengths), lengths.max()), padding, dtype=np.int64)
        table[np.arange(table.shape[1]) < lengths[:, None]] = flat
        return self.to_device(table)

    def to_device(self, array: NDArray[np.int64]) -> Tensor:
        """Copy an array to the model's device, asynchronously on a GPU."""
        if self.device.type != "cuda":
            return torch.from_numpy(array).to(self.device)
        pinned = torch.empty(array.shape, dtype=torch.int64, pin_memory=True)
        # Copied by numpy: torch would use all its threads, and on a busy host waking them took up to 80 of 150 ms
        # (docs/evidence/performance.md).
        pinned.numpy()[...] = array
        return pinned.to(self.device, non_blocking=True)


class VocabularyAnswerer(Answerer):
    """Answers from distributions over the vocabulary: masked, causal and encoder-decoder models."""

    def __init__(self, model: nn.Module, device: torch.device, without: Collection[str] = ()) -> None:
        self.head = VocabularyHead(model)
        super().__init__(model, device, without)
        if self.head.projects_everywhere:
            self.batch_tokens = estimate_batch_tokens(model, self.kind, device, logits_everywhere=True)

    @abstractmethod
    def build_example_inputs(self) -> dict[str, Any]:
        """The keyword arguments of the model's forward call for a small input."""

    def read(self, inputs: dict[str, Any], width: int, asks: NumberRequests) -> Tensor:
        """The requested numbers from one forward pass; `width` is the (decoder's) padded row length."""
        positions = asks.lines * width + asks.positions
        rows, which = np.unique(positions, return_inverse=True)
        states = self.head.read(inputs, self.to_device(rows), self.restrict_to_positions)
        numbers = torch.zeros((2, len(asks)), device=self.device)
        logits = asks.wants == WantedQuantity.LOGIT
        for chosen, normalised in ((~logits, True), (logits, False)):
            if not chosen.any():
                continue
            states_and_tokens = (self.to_device(which[chosen]), self.to_device(asks.tokens[chosen]))
            if normalised:
                values = torch.stack(self.head.log_probs(states, *states_and_tokens))
            else:
                values = self.head.logits(states, *states_and_tokens)[None]
            if chosen.all():
                numbers[: len(values)] = values
            else:
                numbers[: len(values), self.to_device(np.flatnonzero(chosen))] = values
        attended = np.flatnonzero(asks.wants == WantedQuantity.LOG_PROB_AND_ATTENTION)
        if len(attended):
            attention = compute_mean_attention(self.model, inputs).ravel()
            numbers[1, self.to_device(attended)] = attention[self.to_device(positions[attended])]
        return numbers


class OneStackAnswerer(VocabularyAnswerer):
    """Encoder-only and decoder-only models: outputs are read at positions of the input itself."""

    @abstractmethod
    def inputs(self, batch: Batch) -> dict[str, Any]:
        """The keyword arguments of the model's forward call."""

    def build_example_inputs(self) -> dict[str, Any]:
        """The keyword arguments of the model's forward call for a small input."""
        return self.inputs([Row(ids=(1, 2, 3))])

    def numbers(self, batch: Batch) -> Tensor:
        """The requested numbers of a batch, in the order of `NumberRequests`: first numbers, then second ones."""
        return self.read(self.inputs(batch), max(len(row.ids) for row in batch), NumberRequests.of(batch))
