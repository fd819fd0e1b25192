"""What all kinds of model share in answering: a batch of rows in, a number for each ask out."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tiltmeter.models.attention import mean_attention
from tiltmeter.models.head import VocabularyHead, Wanted
from tiltmeter.models.memory import batch_tokens
from tiltmeter.questions import Want
from tiltmeter.scoring.plan import Ask, Batch


class Answerer(ABC):
    """A loaded model that answers batches."""

    # Whether inputs with a common prefix may share a row.
    shares_prefixes = False

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        self.model = model
        self.device = device
        self.batch_tokens = batch_tokens(model, device)
        # Any id serves as padding: what is padded is masked, or comes after everything that is read.
        self.pad = 0

    @abstractmethod
    def answer(self, batch: Batch) -> NDArray[np.float32]:
        """For each ask of each row, in order: its number, and the second one where `Want` names two."""

    def padded(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Token ids as one rectangle, padded on the right."""
        width = max(len(row) for row in rows)
        table = np.full((len(rows), width), self.pad, dtype=np.int64)
        for line, row in zip(table, rows, strict=True):
            line[: len(row)] = row
        return self.to_device(torch.from_numpy(table))

    def mask(self, rows: Sequence[Sequence[int]]) -> Tensor | None:
        """1 for tokens, 0 for padding; None where there is no padding, which lets attention take its fast path."""
        lengths = [len(row) for row in rows]
        if min(lengths) == max(lengths):
            return None
        return self.to_device((torch.arange(max(lengths))[None, :] < torch.tensor(lengths)[:, None]).long())

    def to_device(self, tensor: Tensor) -> Tensor:
        """A tensor on the model's device, copied while the device goes on working."""
        if self.device.type == "cuda":
            return tensor.pin_memory().to(self.device, non_blocking=True)
        return tensor.to(self.device)


class VocabularyAnswerer(Answerer):
    """Answers from the distribution over the vocabulary: masked, causal and encoder-decoder models."""

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        super().__init__(model, device)
        self.head = VocabularyHead(model)

    @abstractmethod
    def inputs(self, batch: Batch) -> dict[str, Any]:
        """The keyword arguments of the model's forward call."""

    @torch.inference_mode()
    def answer(self, batch: Batch) -> NDArray[np.float32]:
        """For each ask of each row, in order: its number, and the second one where `Want` names two."""
        width = max(len(row.ids) for row in batch)
        asks = [(ask, line * width + ask.position) for line, row in enumerate(batch) for ask in row.asks]
        inputs = self.inputs(batch)
        numbers = np.zeros((2, len(asks)), dtype=np.float32)
        for normalise in (True, False):
            chosen = [i for i, (ask, _) in enumerate(asks) if (ask.want is not Want.LOGIT) == normalise]
            if chosen:
                values, largest = self.head(inputs, self._wanted([asks[i] for i in chosen], normalise))
                numbers[0, chosen] = values.cpu().numpy()
                if largest is not None:
                    numbers[1, chosen] = (values >= largest).cpu().numpy()
        attended = [i for i, (ask, _) in enumerate(asks) if ask.want is Want.LOG_PROB_AND_ATTENTION]
        if attended:
            numbers[1, attended] = mean_attention(self.model, inputs).ravel()[[asks[i][1] for i in attended]]
        return numbers

    def _wanted(self, asks: Sequence[tuple[Ask, int]], normalise: bool) -> Wanted:
        rows, which = np.unique(np.array([row for _, row in asks]), return_inverse=True)
        tokens = np.array([ask.token for ask, _ in asks])
        return Wanted(
            rows=self.to_device(torch.from_numpy(rows)),
            which=self.to_device(torch.from_numpy(which)),
            tokens=self.to_device(torch.from_numpy(tokens)),
            normalise=normalise,
        )
