"""A check whether a loaded model gives the same numbers with a speed-up as without the speed-up.

The inputs cover every type of row that a batch plan can contain: packed rows (rows of several inputs) as wide as on
this device, with one long input, with many short inputs, or with inputs of one repeated token; and prefix trees as
large and as deep as `LARGEST_TREE` allows.
"""

from typing import TYPE_CHECKING, Literal

import numpy as np
import torch

from tiltmeter.engine.batch_effects import BatchEffects, find_largest_difference
from tiltmeter.engine.batch_layout import BatchLayout
from tiltmeter.engine.batch_plan import LARGEST_TREE, plan_batches
from tiltmeter.engine.batch_rows import split_by_question
from tiltmeter.engine.synthetic_inputs import SyntheticInputs
from tiltmeter.questions import Answer, Ids, Question, WantedQuantity

if TYPE_CHECKING:
    from tiltmeter.engine.answerer import Answerer

# The row layouts that a speed-up can introduce. The check has separate inputs for each layout.
Rows = Literal["packed", "trees"]


class EquivalenceCheck:
    """Compares a model's numbers for synthetic inputs before and after a change of the model.

    Some questions read every position of an input. Other questions read few positions, for speed-ups that compute only
    the positions that are read. The reference are the numbers of the unchanged model, until `accept_last_numbers`
    replaces them with the numbers of the last check.

    A change of the row layout is also checked with long inputs, which take more time than all other inputs together.
    """

    def __init__(self, answerer: "Answerer", effects: BatchEffects) -> None:
        self._answerer = answerer
        self._inputs = effects.inputs
        self._effects = effects
        self._compares_logits = answerer.dtype not in (torch.float16, torch.bfloat16)
        short = self._inputs.build_short_inputs()
        self._everywhere = self._inputs.build_questions(short)
        self._few = self._inputs.build_end_questions(short) + self._inputs.build_spread_questions()
        self._has_experts = effects.has_experts
        if self._has_experts:
            # This input detects a speed-up that computes only some positions: experts of limited capacity skip late
            # tokens of a complete input, but not if only these tokens are computed.
            self._few += self._inputs.build_end_questions([self._inputs.build_repeated_input(effects.longest, 5)])
        self._rows: dict[Rows, list[Question]] = {}
        logits = _build_logit_questions(answerer, self._few)
        self._reference = self._compute_numbers([*self._everywhere, *self._few, *logits], BatchLayout(batches=False))
        self._latest: dict[bytes, Answer] = {}
        self._largest_logit = max(map(self._compute_logit_size, self._few, logits), default=0.0)
        # The largest difference from the reference in the last check.
        self.difference = 0.0
        # In half precision, logits are not compared, because large logits are rounded coarsely. Log-probabilities are
        # compared in every precision: they are differences of logits, and smaller than logits.
        if self._compares_logits:
            self._few += logits

    def prepare_rows(self, rows: Rows) -> None:
        """Compute the reference numbers for the long inputs; call this before a speed-up changes the row layout."""
        width, positions = self._answerer.compute_pack_width(), self._answerer.positions
        if rows == "packed":
            inputs = build_packed_inputs(self._inputs, width)
        else:
            inputs = [
                *build_packed_inputs(self._inputs, width)[:1],
                *build_tree_inputs(self._inputs, positions or LARGEST_TREE),
            ]
            inputs += build_branching_inputs(self._inputs) if self._has_experts else []
        source = self._inputs.build_mixed_input(width - sum(map(len, self._inputs.build_short_sources())), 60)
        questions = self._inputs.build_questions(inputs, [source if self._answerer.kind == "seq2seq" else ()])
        new = [question for question in questions if question.digest not in self._reference]
        self._reference = self._reference | self._compute_numbers(new, BatchLayout(batches=False))
        self._rows[rows] = questions

    def gives_same_numbers(
        self, *, few: bool = False, rows: Rows | None = None, rounds_logits_less: bool = False
    ) -> bool:
        """Return whether the model still gives the reference numbers, up to rounding.

        With `few`, only the questions that read few positions are compared. With `rows`, the long inputs of
        `prepare_rows` are compared too. With `rounds_logits_less`, differences up to the rounding of the largest logit
        are allowed.
        """
        tolerance = torch.finfo(self._answerer.dtype).eps * self._largest_logit if rounds_logits_less else 0.0
        everywhere = [] if few else [*(self._rows[rows] if rows else []), *self._everywhere]
        try:
            layout = self._answerer.layout
            self._latest = self._compute_numbers(everywhere, layout) | self._compute_numbers(self._few, layout)
            self.difference = find_largest_difference(self._reference, self._latest)
        except Exception:  # models raise various classes of errors for masks, hooks or shapes that they do not support
            self.difference = float("inf")
        return self._effects.is_within_tolerance(self.difference, tolerance)

    def accept_last_numbers(self) -> None:
        """Use the numbers of the last check as the new reference."""
        self._reference = self._reference | self._latest

    def _compute_logit_size(self, log_prob: Question, logit: Question) -> float:
        """Return the maximum absolute value of reference logits and log-normalisers (logit minus log-probability)."""
        logits = self._reference[logit.digest]
        return float(max(np.abs(logits).max(), np.abs(logits - self._reference[log_prob.digest]).max()))

    def _compute_numbers(self, questions: list[Question], layout: BatchLayout) -> dict[bytes, Answer]:
        answerer = self._answerer
        tokens = 2 * max(answerer.compute_pack_width(), LARGEST_TREE)
        answers: dict[bytes, Answer] = {}
        before, answerer.layout = answerer.layout, layout
        try:
            for batch in plan_batches(questions, answerer.kind, tokens, layout):
                answers |= split_by_question(batch, answerer.answer_batch(batch))
        finally:
            answerer.layout = before
        return answers


def build_packed_inputs(inputs: SyntheticInputs, width: int) -> list[Ids]:
    """Return inputs that fill packed rows of this width.

    The first input fills a row together with the short inputs. The second input is as long as possible in
    a shared row, and the third is a single token that shares this row. The other inputs repeat one token, which a
    mixture of experts sends to a single expert.
    """
    thirds = width // 3, width // 3, width - 2 * (width // 3)
    return [
        inputs.build_mixed_input(width - sum(map(len, inputs.build_short_inputs())), 30),
        inputs.build_mixed_input(width - 1, 31),
        inputs.build_mixed_input(1, 32),
        *[inputs.build_repeated_input(length, start) for start, length in enumerate(thirds)],
    ]


def build_tree_inputs(inputs: SyntheticInputs, positions: int) -> list[Ids]:
    """Return inputs that form the deepest and the widest prefix tree for a model with at most `positions` positions.

    The first input is as long as a tree can be. The other inputs share a prefix and fill a tree with two branches. In
    the row of this tree, the tokens of the second branch are far from the prefix, although their position ids are close
    to those of the prefix.
    """
    deepest = min(LARGEST_TREE, positions)
    third = min(LARGEST_TREE // 3, positions // 2)
    return [
        inputs.build_mixed_input(deepest, 34),
        *[inputs.build_mixed_input(third, 33) + inputs.build_mixed_input(third, start) for start in (35, 36)],
    ]


def build_branching_inputs(inputs: SyntheticInputs) -> list[Ids]:
    """Return short inputs that fill a prefix tree, for a mixture of experts; each branch repeats one token."""
    shared, branch = inputs.build_mixed_input(3, 37), 3
    branches = (LARGEST_TREE - len(shared)) // branch
    return [shared + inputs.build_repeated_input(branch, start) for start in range(branches)]


def _build_logit_questions(answerer: "Answerer", few: list[Question]) -> list[Question]:
    if answerer.kind == "next-sentence":
        return []
    return [Question(question.ids, question.wanted, question.source, want=WantedQuantity.LOGIT) for question in few]
