"""Causal language models: GPT-2, Llama and their kin."""

import inspect
from typing import Any

import torch
from torch import Tensor, nn

from tiltmeter.models.answerer import VocabularyAnswerer
from tiltmeter.questions import Question
from tiltmeter.scoring.plan import Batch, Row, by_question, plan


class CausalAnswerer(VocabularyAnswerer):
    """Reads the distribution over the next token.

    Padding stands on the right, where a causal model cannot see it, so plain rows need no mask. Trees need one, and
    positions of their own; whether a model follows both is tried out once.
    """

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        super().__init__(model, device)
        with torch.inference_mode():
            self.head.check(self.inputs([Row(ids=(1, 2, 3))]))
        self.shares_prefixes = self._follows_trees()

    def inputs(self, batch: Batch) -> dict[str, Any]:
        """The keyword arguments of the model's forward call."""
        inputs: dict[str, Any] = {"input_ids": self.padded([row.ids for row in batch]), "use_cache": False}
        if any(row.is_tree for row in batch):
            positions, mask = _tree_positions_and_mask(batch, inputs["input_ids"].shape[1])
            inputs["position_ids"] = self.to_device(positions)
            # Adding the mask is what both the eager and the fused attention of transformers understand.
            additive = torch.zeros(mask.shape, dtype=self.dtype)
            additive.masked_fill_(~mask, torch.finfo(additive.dtype).min)
            inputs["attention_mask"] = self.to_device(additive)[:, None]
        return inputs

    def _follows_trees(self) -> bool:
        """Whether a small tree gets the same numbers as its inputs one by one."""
        if "position_ids" not in inspect.signature(self.model.forward).parameters:
            return False
        inputs = [(1, 2, 3, 4, 5), (1, 2, 3, 6, 7, 8), (1, 2, 9)]
        questions = [Question(ids, tuple((p, ids[p + 1]) for p in range(len(ids) - 1))) for ids in inputs]
        try:
            (tree,) = plan(questions, "causal", 1000)
            together = by_question(tree, self.answer(tree))
            for batch in plan(questions, "causal", 1, share_prefixes=False):
                for question, alone in by_question(batch, self.answer(batch)).items():
                    if not (abs(together[question] - alone) < 1e-3).all():
                        return False
        except (RuntimeError, ValueError, TypeError, IndexError):
            return False  # a model that refuses such a mask simply gets its inputs one by one
        return True


def _tree_positions_and_mask(batch: Batch, width: int) -> tuple[Tensor, Tensor]:
    """The depth of every token in its tree, and which tokens each one sees: those on its own path.

    Padding is put at depth 0, since a row of several inputs may be longer than the longest position there is.
    """
    positions = torch.zeros(len(batch), width, dtype=torch.long)
    mask = torch.ones(width, width, dtype=torch.bool).tril().repeat(len(batch), 1, 1)
    for line, row in enumerate(batch):
        for branch in row.branches:
            own = slice(branch.start, branch.end)
            positions[line, own] = torch.arange(branch.end - branch.start) + len(branch.path)
            mask[line, own, : branch.start] = False
            mask[line, own, list(branch.path)] = True
    return positions, mask
