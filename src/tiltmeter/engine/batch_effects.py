"""Check whether a model's numbers (log-probabilities) for an input depend on padding or other inputs of the batch.

For most models, the numbers for an input alone and in a batch differ only by rounding. But if a model mixes positions
without using the attention mask, its numbers depend on padding. If a model has experts of limited capacity, or position
encodings that depend on the longest input of a batch, its numbers depend on the other inputs. Such a model gets batches
without padding, or one input at a time, even if speed-ups are disabled.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tiltmeter.engine.batch_layout import BatchLayout
from tiltmeter.engine.batch_plan import LARGEST_TREE, plan_batches
from tiltmeter.engine.batch_rows import split_by_question
from tiltmeter.engine.input_limits import list_config_entries
from tiltmeter.engine.synthetic_inputs import SyntheticInputs
from tiltmeter.errors import ModelError
from tiltmeter.questions import Answer, Question

if TYPE_CHECKING:
    from tiltmeter.engine.answerer import Answerer

# Maximum difference between two log-probabilities that counts as rounding. The values for half precision are slightly
# above the largest differences from float32 that were measured on a GPU (0.012 and 0.095,
# docs/evidence/performance.md).
_TOLERANCE = {torch.float16: 2e-2, torch.bfloat16: 1e-1}
_TOLERANCE_OTHERWISE = 1e-4
# In deep models, the rounding is larger. It is measured as the difference between an input alone and in a batch without
# padding. Differences up to three times this rounding are tolerated, but not above `_MAX_TOLERANCE`, because the effect
# of a wrong mask or position is larger than this maximum.
_TIMES_ROUNDING = 3
_MAX_TOLERANCE = {torch.float16: 0.5, torch.bfloat16: 0.5}
_MAX_TOLERANCE_OTHERWISE = 1e-3
# Maximum length in tokens of the inputs in the checks; longer inputs are computed alone. On a CPU, a batch with this
# number of tokens is about as fast per token as a larger batch.
_LONGEST_ON_CPU = LARGEST_TREE
_LONGEST_ON_GPU = 1024
# Each token of a short input is repeated up to about this number of times, because models that downsample their inputs
# need a minimum length.
_MAX_REPETITIONS = 10
# Number of short inputs in one batch. Their log-probabilities are compared with those of the same inputs alone.
_NEIGHBOURS = 16
# Words in config entries of a mixture of experts. The checks of such a model need batches of full size.
_EXPERTS = re.compile("expert|capacity|router|moe")

# Maps "padding" or "batches" to the reason why padding or batches are not used for a model.
Reasons = dict[str, str]


class BatchEffects:
    """Compares a model's log-probabilities for inputs alone with those for the same inputs in batches.

    Speed-ups are not used in the comparison.

    `longest` is the length in tokens of the longest input in the checks.
    """

    def __init__(self, answerer: "Answerer") -> None:
        self._answerer = answerer
        self.has_experts = has_experts(answerer.model.config)
        self._tolerance = _TOLERANCE.get(answerer.dtype, _TOLERANCE_OTHERWISE)
        self._max_tolerance = _MAX_TOLERANCE.get(answerer.dtype, _MAX_TOLERANCE_OTHERWISE)
        self._has_measured_rounding = False
        longest = _LONGEST_ON_CPU if answerer.device.type == "cpu" else _LONGEST_ON_GPU
        self.longest = min(longest, answerer.positions or longest)
        # Short inputs are asked first, because a short input permanently changes the type of attention in some models.
        self.inputs, self._short, self._alone = self._ask_short_inputs()

    def _ask_short_inputs(self) -> tuple[SyntheticInputs, list[Question], dict[bytes, Answer]]:
        """Return the inputs of the checks, the questions about short inputs, and the answers to these questions.

        The answers are computed for each input alone. If the model raises an error, longer inputs are tried.
        """
        for stretch in count(1, 5):
            inputs = SyntheticInputs(self._answerer.model, self._answerer.kind, stretch)
            short = inputs.build_questions(inputs.build_short_inputs())
            try:
                return inputs, short, self._compute_numbers(short, BatchLayout(batches=False))
            except Exception:  # models raise various classes of errors for an input that is too short
                if stretch > _MAX_REPETITIONS:
                    raise
        raise AssertionError("unreachable")

    def find_layout(self) -> tuple[BatchLayout, Reasons]:
        """Return the fastest layout that does not change answers, and the reason why it has no padding or no batches.

        The second value is empty if the layout has padding and batches.
        """
        long = self.inputs.build_questions([self.inputs.build_mixed_input(self.longest)], self._build_long_sources(0))
        self._alone |= self._compute_numbers(long, BatchLayout(batches=False))
        self._reject_random_numbers()
        if self._answerer.kind == "seq2seq":
            self._reject_later_tokens()
        fastest = BatchLayout(
            longest=self.longest, truncates=self.is_within_tolerance(self._measure_truncation_effect())
        )
        padding = max(self._measure_effect_of_much_padding(long), self._measure_effect_of_some_padding())
        experts = self._measure_effect_of_full_batches() if self.has_experts else 0.0
        if self.is_within_tolerance(max(padding, experts)):
            return fastest, {}
        neighbours = max(self._measure_neighbour_effect(), experts)
        if self.is_within_tolerance(neighbours):
            reason = f"padding changes log-probabilities, by up to {padding:.2g}"
            return replace(fastest, pads=False), {"padding": reason}
        reason = f"other inputs in a batch change log-probabilities, by up to {max(neighbours, padding):.2g}"
        return replace(fastest, pads=False, batches=False), {"batches": reason}

    def _reject_random_numbers(self) -> None:
        again = self._compute_numbers(self._short, BatchLayout(batches=False))
        # Answers that are not finite are rejected later, with the name of the item.
        if self._max_tolerance < find_largest_difference(self._alone, again) < float("inf"):
            raise ModelError(
                f"{type(self._answerer.model).__name__} gives different answers for the same input, so its scores "
                "would be random; if its config has a seed, such as hash_seed, set it in config.json."
            )

    def _measure_truncation_effect(self) -> float:
        """Return the largest change of an answer if a causal input ends at the last position that is read.

        Attention ignores the tokens after this position, but some position encodings depend on the length of the input.
        """
        if self._answerer.kind != "causal":
            return 0.0
        ids = self.inputs.build_mixed_input(self.longest)
        lengths = [self.longest // parts for parts in (2, 6, 16)]
        questions = [Question(ids, tuple((at, 1) for at in range(length))) for length in lengths if length]
        self._alone |= self._compute_numbers(questions, BatchLayout(batches=False, truncates=False))
        return self._measure_difference(questions, BatchLayout(batches=False))

    def _reject_later_tokens(self) -> None:
        """Raise a ModelError if the decoder of an encoder-decoder attends to later tokens."""
        whole = self._short[3]
        beginning = Question(whole.ids[:2], whole.wanted[:2], whole.source)
        (numbers,) = self._compute_numbers([beginning], BatchLayout(batches=False)).values()
        if np.abs(numbers - self._alone[whole.digest][:2]).max() > self._max_tolerance:
            raise ModelError(
                f"The decoder of {type(self._answerer.model).__name__} attends to later tokens, so it would see the "
                "token that it has to predict; check is_decoder in its config.json."
            )

    def is_within_tolerance(self, difference: float, tolerance: float = 0.0) -> bool:
        """Return whether a difference between answers is not larger than rounding or than `tolerance`."""
        is_uncertain = max(self._tolerance, tolerance) < difference <= self._max_tolerance
        if is_uncertain and not self._has_measured_rounding:
            self._has_measured_rounding = True
            rounding = _TIMES_ROUNDING * self._measure_neighbour_effect()
            self._tolerance = max(self._tolerance, min(rounding, self._max_tolerance))
        return difference <= max(self._tolerance, tolerance)

    def _measure_neighbour_effect(self) -> float:
        """Return the largest difference between answers for inputs alone and in batches without padding."""
        short = [self.inputs.build_mixed_input(len(self._short[1].ids), start) for start in range(_NEIGHBOURS)]
        long = [self.inputs.build_mixed_input(self.longest, start) for start in (0, 90)]
        questions = self.inputs.build_questions(short, self.inputs.build_short_sources()[:1])
        questions += self.inputs.build_questions(long, self._build_long_sources(0) or [()])
        self._alone |= self._compute_numbers(
            [question for question in questions if question.digest not in self._alone], BatchLayout(batches=False)
        )
        return self._measure_difference(questions, BatchLayout(pads=False))

    def _measure_effect_of_much_padding(self, long: Sequence[Question]) -> float:
        """Return the largest difference between answers for inputs alone and in a batch with a much longer input."""
        lengths = [max(1, self.longest // 6), max(1, self.longest // 16)]
        others = self.inputs.build_questions([self.inputs.build_mixed_input(length, 80) for length in lengths])
        self._alone |= self._compute_numbers(others, BatchLayout(batches=False))
        return self._measure_difference([*long, *others], BatchLayout(longest=self.longest))

    def _measure_effect_of_some_padding(self) -> float:
        """Return the largest difference between answers for short inputs alone and in one padded batch.

        For a next-sentence head, more inputs are compared, because each input has only one output.
        """
        questions = self._short
        if self._answerer.kind == "next-sentence":
            inputs = [self.inputs.build_mixed_input(4 + index, 13 * index) for index in range(_NEIGHBOURS)]
            questions = self.inputs.build_questions(inputs)
            self._alone |= self._compute_numbers(questions, BatchLayout(batches=False))
        return self._measure_difference(questions, BatchLayout())

    def _measure_effect_of_full_batches(self) -> float:
        """Return the largest difference between answers for an input alone and in a batch of maximum size.

        Each input repeats one token, so that a mixture of experts sends all tokens of a batch to a single expert, whose
        capacity may be too small for them.
        """
        length = min(self.longest, LARGEST_TREE)
        rows = max(2, self._answerer.batch_tokens // length)
        inputs = [self.inputs.build_repeated_input(length, start) for start in range(rows)]
        questions = self.inputs.build_end_questions(inputs)
        self._alone |= self._compute_numbers([questions[0], questions[-1]], BatchLayout(batches=False))
        return self._measure_difference(questions, BatchLayout(pads=False))

    def _build_long_sources(self, start: int) -> list[tuple[int, ...]]:
        """Return a list with one long source for an encoder-decoder; an empty list for other models."""
        return [self.inputs.build_mixed_input(self.longest, start + 50)] if self._answerer.kind == "seq2seq" else []

    def _measure_difference(self, questions: Sequence[Question], layout: BatchLayout) -> float:
        """Return the largest difference between answers for inputs alone and in batches of this layout."""
        try:
            return find_largest_difference(self._alone, self._compute_numbers(questions, layout))
        except Exception:  # models raise various classes of errors for a shape that they do not support
            return float("inf")

    def _compute_numbers(self, questions: Sequence[Question], layout: BatchLayout) -> dict[bytes, Answer]:
        answerer = self._answerer
        before = answerer.layout, answerer.batch_tokens
        # The batches must be large enough for inputs of very different lengths in one batch.
        tokens = max(2 * answerer.batch_tokens, 64 * self.longest)
        answerer.layout, answerer.batch_tokens = layout, tokens
        try:
            answers: dict[bytes, Answer] = {}
            for batch in plan_batches(questions, answerer.kind, tokens, layout):
                answers |= split_by_question(batch, answerer.answer_batch(batch))
            return answers
        finally:
            answerer.layout, answerer.batch_tokens = before


def find_largest_difference(alone: Mapping[bytes, Answer], others: Mapping[bytes, Answer]) -> float:
    """Return the largest difference between two answers to the same question; infinity if an answer is not finite."""
    differences = [np.abs(alone[digest] - numbers).max() for digest, numbers in others.items() if digest in alone]
    largest = float(np.max(differences))
    return largest if np.isfinite(largest) else float("inf")


def has_experts(config: Any) -> bool:
    """Return whether a config belongs to a mixture of experts."""
    return any(_EXPERTS.search(name) for name, _ in list_config_entries(config.to_dict()))
