"""The trial of speed-ups: whether a loaded model gives the same numbers with one as it gave before."""

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from tiltmeter.engine.plan import plan
from tiltmeter.engine.rows import by_question
from tiltmeter.questions import Answer, Ids, Question, Want

if TYPE_CHECKING:
    from tiltmeter.engine.answerer import Answerer

# Inputs of a trial beside a long one. Some begin alike, so that they share a prefix, and all fit into one packed row.
_SHORT_INPUTS: tuple[Ids, ...] = ((11, 12, 13, 14), (11, 12, 13, 15, 16), (11, 12, 17), (15, 13))
_SHORT_SOURCES: tuple[Ids, ...] = ((1, 2, 3), (4, 3, 5))
# How far two log-probabilities may be apart and still count as equal: rounding that depends on the order of operations.
_TOLERANCE = {torch.float16: 2e-2, torch.bfloat16: 1e-1}
_TOLERANCE_OTHERWISE = 1e-3


class Trial:
    """A few made inputs and the model's numbers for them, to be compared with its numbers after a change.

    A long input is among them: a model with local attention must not see farther in a packed row. Some questions
    read every position, for packed rows; others read few, for what is computed at read positions only. At first the
    reference is the model as it is; `accept` makes the numbers of the last passed trial the reference.
    """

    def __init__(self, answerer: "Answerer") -> None:
        self._answerer = answerer
        self._tolerance = _TOLERANCE.get(answerer.dtype, _TOLERANCE_OTHERWISE)
        self._everywhere, self._few = _questions(answerer)
        self._logits = _logit_questions(answerer, self._few)
        # Every input in a batch of its own, so that there is not even padding.
        self._reference = self._numbers(self._everywhere, 1) | self._numbers(self._few + self._logits, 1)
        self._latest = self._reference
        logits = [np.abs(self._reference[question.digest]).max() for question in self._logits]
        self._largest_logit = float(max(logits, default=0.0))

    def passes(self, *, few: bool = False, rounds_logits_less: bool = False) -> bool:
        """Whether the numbers are the same now; with `few`, those of the questions that read few positions."""
        tolerance = self._tolerance
        if rounds_logits_less:
            tolerance = max(tolerance, torch.finfo(self._answerer.dtype).eps * self._largest_logit)
        width = 2 * self._answerer.width_of_packs()
        questions = [] if few else self._everywhere
        # In half precision large logits are coarse; only their differences, which are log-probabilities, are not.
        others = self._few + (self._logits if self._tolerance == _TOLERANCE_OTHERWISE else [])
        try:
            self._latest = self._numbers(questions, width) | self._numbers(others, width)
        except Exception:  # whatever a model says to a mask, a hook or a shape that it was not made for
            return False
        return all(_near(self._reference[digest], now, tolerance) for digest, now in self._latest.items())

    def accept(self) -> None:
        """Compare with the numbers of the last trial from now on."""
        self._reference = self._reference | self._latest

    def _numbers(self, questions: list[Question], batch_tokens: int) -> dict[bytes, Answer]:
        answerer = self._answerer
        batches = plan(
            questions, answerer.kind, batch_tokens, share_prefixes=answerer.shares_prefixes, pack=answerer.pack
        )
        found: dict[bytes, Answer] = {}
        for batch in batches:
            found |= by_question(batch, answerer.answer(batch))
        return found


def _near(one: NDArray[np.float32], other: NDArray[np.float32], tolerance: float) -> bool:
    return bool((np.abs(one - other) < tolerance).all())  # False where one is not a number


def _long(length: int) -> Ids:
    """So many tokens, no two neighbours alike."""
    return tuple(11 + place % 9 for place in range(length))


def _questions(answerer: "Answerer") -> tuple[list[Question], list[Question]]:
    """Questions that read every position, and questions about the same inputs that read few."""
    width = answerer.width_of_packs()
    inputs = (_long(width - sum(map(len, _SHORT_INPUTS))), *_SHORT_INPUTS)
    if answerer.kind == "next-sentence":
        return [], [Question(ids, ((0, 0),)) for ids in inputs]
    sources: tuple[Ids, ...] = ((),)
    if answerer.kind == "seq2seq":
        sources = (_long(max(width, 8) - sum(map(len, _SHORT_SOURCES))), *_SHORT_SOURCES)
    pairs = list(zip(inputs, cycle(sources), strict=False))
    everywhere = [Question(ids, tuple((place, 1) for place in range(len(ids))), source) for ids, source in pairs]
    return everywhere, [Question(ids, ((len(ids) - 1, 2),), source) for ids, source in pairs]


def _logit_questions(answerer: "Answerer", few: list[Question]) -> list[Question]:
    if answerer.kind == "next-sentence":
        return []
    return [Question(question.ids, question.wanted, question.source, want=Want.LOGIT) for question in few]
