"""Causal language models: GPT-2, Llama and similar."""

from typing import Any

from tiltmeter.engine.answerer import OneStackAnswerer
from tiltmeter.engine.attention_masks import build_tree_mask
from tiltmeter.engine.batch_rows import Batch


class CausalAnswerer(OneStackAnswerer):
    """Reads a causal model's distribution over the next token.

    Padding is on the right, where a causal model does not attend to it, so rows with one input need no mask. Rows with
    several inputs need a mask and position ids.
    """

    kind = "causal"
    # Two or three prefix trees fill a packed row of this width; narrower rows have gaps. With this width and batches of
    # 2,048 tokens, GPT-2 took 2 to 7% less time than with rows of 64 tokens and batches of 1,024 tokens
    # (docs/evidence/performance.md).
    pack_width_on_cpu = 96

    def build_model_inputs(self, batch: Batch) -> dict[str, Any]:
        """Return the keyword arguments of the model's `forward` for a batch."""
        inputs: dict[str, Any] = {"input_ids": self.pad_rows([row.ids for row in batch]), "use_cache": False}
        if any(row.has_several_inputs for row in batch):
            depths, ends = self.compute_depths_and_ends(batch)
            inputs["position_ids"] = depths
            inputs["attention_mask"] = self.masks.build_mask(build_tree_mask(ends), depths, self.dtype)
        return inputs
