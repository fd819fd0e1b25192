"""The next-sentence head of BERT and its kin."""

import torch
from torch import Tensor, nn

from tiltmeter.models.answerer import Answerer
from tiltmeter.models.last_layer import LastLayer
from tiltmeter.scoring.plan import Asks, Batch, Row


class NextSentenceAnswerer(Answerer):
    """Reads the two-way decision whether the second sentence follows the first; token 0 means that it does."""

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        super().__init__(model, device)
        self._last_layer = LastLayer(model)
        self._reads_first_only = self._can_read_first_only()

    def numbers(self, batch: Batch) -> Tensor:
        """For each ask of each row, in order: its log-probability, and 1 where it is the more probable decision."""
        log_probs = torch.log_softmax(self._logits(batch, first_only=self._reads_first_only).float(), dim=-1)
        asks = Asks.of(batch)
        lines = self.to_device(asks.lines)
        values = log_probs[lines, self.to_device(asks.tokens)]
        return torch.stack([values, (values >= log_probs.amax(dim=-1)[lines]).float()])

    def _logits(self, batch: Batch, *, first_only: bool) -> Tensor:
        ids = [row.ids for row in batch]
        input_ids = self.padded(ids)
        inputs = {
            "input_ids": input_ids,
            "attention_mask": self.mask(ids),
            "token_type_ids": self.padded([row.segments for row in batch]) if batch[0].segments else None,
        }
        if not first_only:
            return self.model(**inputs).logits  # type: ignore[no-any-return]
        # The head looks at the first token of each row, and at nothing else of the last layer.
        firsts = torch.arange(len(batch), device=self.device) * input_ids.shape[1]
        with self._last_layer.only_at(firsts, backbone=False):
            return self.model(**inputs).logits  # type: ignore[no-any-return]

    @torch.inference_mode()
    def _can_read_first_only(self) -> bool:
        rows = [Row(ids=(1, 2, 3, 4)), Row(ids=(4, 3, 2))]
        whole = self._logits(rows, first_only=False).float()
        try:
            narrowed = self._logits(rows, first_only=True).float()
        except (RuntimeError, ValueError, TypeError, IndexError):
            return False  # a layer of another make runs whole
        return bool((whole - narrowed).abs().max() <= 64 * torch.finfo(self.dtype).eps * whole.abs().max())
