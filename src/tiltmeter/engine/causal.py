"""Causal language models: GPT-2, Llama and their kin."""

from typing import Any

import torch
from torch import nn

from tiltmeter.engine.answerer import OneStackAnswerer
from tiltmeter.engine.rows import Batch, Row


class CausalAnswerer(OneStackAnswerer):
    """Reads the distribution over the next token.

    Padding stands on the right, where a causal model cannot see it, so plain rows need no mask. Rows of several inputs
    need one, and positions of their own; whether a model follows both is tried out once.
    """

    kind = "causal"
    # Trees are long: two or three of them fill such a row, where a narrower one would have gaps.
    width_on_processor = 96

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        super().__init__(model, device)
        with torch.inference_mode():
            self.head.check(self.inputs([Row(ids=(1, 2, 3))]))
        self.shares_prefixes = self.keeps_apart(self.width_of_packs())
        self.pack = self.width_of_packs() if self.shares_prefixes else 0

    def inputs(self, batch: Batch) -> dict[str, Any]:
        """The keyword arguments of the model's forward call."""
        inputs: dict[str, Any] = {"input_ids": self.padded([row.ids for row in batch]), "use_cache": False}
        if any(row.has_several for row in batch):
            inputs["position_ids"], ends = self.depths_and_ends(batch)
            inputs["attention_mask"] = self.tree_mask(ends)
        return inputs
