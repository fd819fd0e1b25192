"""Base classes of answerers: loaded models that compute the log-probabilities that a batch of rows requests."""

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

# Width in tokens of packed rows (rows of several inputs) on a GPU. Wider rows need less padding, but more time for
# attention. With this width, padding is at most 3% of the tokens (docs/evidence/performance.md).
_PACK_WIDTH_ON_GPU = 128
# Number of batches that are prepared while a GPU computes. On a CPU, preparing batches would slow down the computation.
_BATCHES_AHEAD = 2


class Answerer(ABC):
    """A loaded model that answers batches.

    The constructor finds the batch layouts in which each input gets the same answers as alone in a batch. Then it
    applies the speed-ups, except the ones in `without`. `speedups` are the names of the speed-ups in use. `disabled`
    maps each batch layout or speed-up that was tried but is not used to the reason.
    """

    kind: Kind
    # Width in tokens of packed rows (rows of several inputs) on a CPU. It is lower than on a GPU, because attention
    # takes a larger part of the time on a CPU. With this width and larger batches, T5 took 7 to 12% less time than with
    # unpacked rows (docs/evidence/performance.md).
    pack_width_on_cpu = 64

    def __init__(self, model: nn.Module, device: torch.device, without: Collection[str] = ()) -> None:
        self.model = model
        self.device = device
        self.dtype = next(p.dtype for p in model.parameters() if p.is_floating_point())
        self.batches_ahead = 0 if device.type == "cpu" else _BATCHES_AHEAD
        # Any token id can be used as padding, because padding is masked or comes after all positions that are read.
        self.pad = 0
        # Returns a context in which the last layer is computed only at the given positions.
        self.restrict_to_positions: RestrictPositions = lambda _rows: nullcontext()
        self.batch_tokens = estimate_batch_tokens(model, self.kind, device)
        # Maximum length of an input in tokens; None means no limit.
        self.positions = find_max_positions(model)
        self.masks = AttentionMasks.from_config(model.config, causal=self.kind in ("causal", "seq2seq"))
        self.layout = BatchLayout(batches=False)
        self.disabled: Mapping[str, str] = {}
        self.speedups: tuple[str, ...] = ()
        self.initialise_attributes()
        self.check_and_speed_up(without)

    def initialise_attributes(self) -> None:
        """Initialise the attributes of a subclass; the constructor calls this method before it applies speed-ups."""
        return

    @torch.inference_mode()
    def check_and_speed_up(self, without: Collection[str]) -> None:
        """Set the fastest batch layout and apply the speed-ups that do not change the model's answers."""
        effects = BatchEffects(self)
        self.layout, self.disabled = effects.find_layout()
        self.speedups = apply_speedups(self, effects, without)

    @abstractmethod
    def compute_numbers(self, batch: Batch) -> Tensor:
        """Return two rows of numbers: the first and the second number that each of the `NumberRequests` asks for.

        The first number is, for example, the log-probability of a token. See `WantedQuantity`.
        """

    @torch.inference_mode()
    def start_batch(self, batch: Batch) -> Callable[[], NDArray[np.float32]]:
        """Start the computation of a batch; return a function that waits for the numbers and returns them."""
        numbers = self.compute_numbers(batch)
        if self.device.type == "cpu":
            return numbers.numpy
        host = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=self.device.type == "cuda")
        host.copy_(numbers, non_blocking=True)
        if self.device.type != "cuda":
            return host.numpy
        copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
        copied.record()

        def wait_for_numbers() -> NDArray[np.float32]:
            copied.synchronize()
            array: NDArray[np.float32] = host.numpy().copy()  # the copy frees the pinned memory, which is scarce
            return array

        return wait_for_numbers

    def answer_batch(self, batch: Batch) -> NDArray[np.float32]:
        """Return the requested numbers of a batch as an array with two rows, as in the method `compute_numbers`."""
        return self.start_batch(batch)()

    def compute_pack_width(self) -> int:
        """Return the width in tokens of packed rows (rows of several inputs) on this device.

        The width is not larger than the maximum input length of the model.
        """
        width = self.pack_width_on_cpu if self.device.type == "cpu" else _PACK_WIDTH_ON_GPU
        return min(width, self.positions or width)

    def accepts_positions(self) -> bool:
        """Return whether the model accepts the argument `position_ids`."""
        return "position_ids" in inspect.signature(self.model.forward).parameters

    def pad_rows(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Return rows of token ids as one tensor, padded on the right."""
        lengths = np.array([len(row) for row in rows])
        flat = np.fromiter(chain.from_iterable(rows), dtype=np.int64)
        return self._pad_to_rectangle(flat, lengths, self.pad)

    def build_padding_mask(self, rows: Sequence[Sequence[int]]) -> Tensor | None:
        """Return an attention mask for padded rows, with 1 for tokens and 0 for padding.

        Returns None if there is no padding, because attention without a mask can use faster kernels.
        """
        lengths = np.array([len(row) for row in rows])
        if lengths.min() == lengths.max():
            return None
        return self.to_device((np.arange(lengths.max()) < lengths[:, None]).astype(np.int64))

    def compute_depths_and_ends(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return each token's position in its own input and the end of its subtree (see `Row`), as two tensors."""
        depths = [row.depths or range(len(row.ids)) for row in batch]
        ends = [row.ends or (len(row.ids),) * len(row.ids) for row in batch]
        return self.pad_rows(depths), self.pad_rows(ends)

    def locate_packed_tokens(self, lengths: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Return two tensors for packed rows: each token's position in its input, and the index of this input.

        `lengths` are the lengths of the inputs in each row. Inputs are numbered across all rows; the index for padding
        is -1.
        """
        of_inputs = np.fromiter(chain.from_iterable(lengths), dtype=np.int64)
        of_rows = np.array([sum(row) for row in lengths])
        positions = np.arange(of_inputs.sum()) - np.repeat(of_inputs.cumsum() - of_inputs, of_inputs)
        numbers = np.repeat(np.arange(len(of_inputs)), of_inputs)
        return self._pad_to_rectangle(positions, of_rows, 0), self._pad_to_rectangle(numbers, of_rows, -1)

    def _pad_to_rectangle(self, flat: NDArray[np.int64], lengths: NDArray[np.int64], padding: int) -> Tensor:
        """Split a flat array into rows of these lengths, and pad the rows to one tensor."""
        table = np.full((len(lengths), lengths.max()), padding, dtype=np.int64)
        table[np.arange(table.shape[1]) < lengths[:, None]] = flat
        return self.to_device(table)

    def to_device(self, array: NDArray[np.int64]) -> Tensor:
        """Copy an array to the model's device; on a GPU, do not wait for the end of the copy."""
        if self.device.type != "cuda":
            return torch.from_numpy(array).to(self.device)
        pinned = torch.empty(array.shape, dtype=torch.int64, pin_memory=True)
        # The copy uses numpy, which copies with one thread: on a busy host, waking all threads of torch for copies took
        # up to 80 ms of 150 ms in total (docs/evidence/performance.md).
        pinned.numpy()[...] = array
        return pinned.to(self.device, non_blocking=True)


class VocabularyAnswerer(Answerer):
    """Base class for models that predict a distribution over the vocabulary: masked, causal, encoder-decoder."""

    def __init__(self, model: nn.Module, device: torch.device, without: Collection[str] = ()) -> None:
        self.head = VocabularyHead(model)
        super().__init__(model, device, without)
        if self.head.projects_everywhere:
            self.batch_tokens = estimate_batch_tokens(model, self.kind, device, logits_everywhere=True)

    @abstractmethod
    def build_example_inputs(self) -> dict[str, Any]:
        """Return the keyword arguments of the model's `forward` for a small input."""

    def compute_numbers_of_inputs(self, inputs: dict[str, Any], width: int, requests: NumberRequests) -> Tensor:
        """Return the requested numbers from one forward pass; `width` is the padded length of the rows of token ids."""
        positions = requests.lines * width + requests.positions
        rows, which = np.unique(positions, return_inverse=True)
        states = self.head.compute_states(inputs, self.to_device(rows), self.restrict_to_positions)
        numbers = torch.zeros((2, len(requests)), device=self.device)
        logits = requests.wants == WantedQuantity.LOGIT
        for chosen, normalised in ((~logits, True), (logits, False)):
            if not chosen.any():
                continue
            states_and_tokens = (self.to_device(which[chosen]), self.to_device(requests.tokens[chosen]))
            if normalised:
                values = torch.stack(self.head.compute_log_probs(states, *states_and_tokens))
            else:
                values = self.head.compute_token_logits(states, *states_and_tokens)[None]
            if chosen.all():
                numbers[: len(values)] = values
            else:
                numbers[: len(values), self.to_device(np.flatnonzero(chosen))] = values
        attended = np.flatnonzero(requests.wants == WantedQuantity.LOG_PROB_AND_ATTENTION)
        if len(attended):
            attention = compute_mean_attention(self.model, inputs).ravel()
            numbers[1, self.to_device(attended)] = attention[self.to_device(positions[attended])]
        return numbers


class OneStackAnswerer(VocabularyAnswerer):
    """Base class for encoder-only and decoder-only models, whose outputs are read at positions of the input."""

    @abstractmethod
    def build_model_inputs(self, batch: Batch) -> dict[str, Any]:
        """Return the keyword arguments of the model's `forward` for a batch."""

    def build_example_inputs(self) -> dict[str, Any]:
        """Return the keyword arguments of the model's `forward` for a small input."""
        return self.build_model_inputs([Row(ids=(1, 2, 3))])

    def compute_numbers(self, batch: Batch) -> Tensor:
        """Return two rows of numbers: the first and the second number that each of the `NumberRequests` asks for.

        The first number is, for example, the log-probability of a token. See `WantedQuantity`.
        """
        return self.compute_numbers_of_inputs(
            self.build_model_inputs(batch), max(len(row.ids) for row in batch), NumberRequests.from_batch(batch)
        )
