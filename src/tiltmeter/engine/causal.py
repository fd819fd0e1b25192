"""Causal language models: GPT-2, Llama and similar."""

from typing import Any

from tiltmeter.engine.answerer import OneStackAnswerer
from tiltmeter.engine.rows import Batch


class CausalAnswerer(OneStackAnswerer):
    """Reads the distribution over the next token.

    Padding stands on the right, where a causal model cannot see it, so rows of one input need no mask. Rows of several
    inputs need one, and position ids.
    """

    kind = "causal"
    # Trees of shared prefixes are long: two or three of them fill such a row, where a narrower one would have gaps.
    width_on_processor = 96

    def inputs(self, batch: Batch) -> dict[str, Any]:
        """The keyword arguments of the model's forward call."""
        inputs: dict[str, Any] = {"input_ids": self.padded([row.ids for row in batch]), "use_cache": False}
        if any(row.has_several for row in batch):
            inputs["position_ids"], ends = self.depths_and_ends(batch)
            inputs["attention_mask"] = self.tree_mask(ends)
        return inputs
