"""The equivalence check of speed-ups: does a loaded model give the same numbers with one as without it?"""

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

# Short inputs for the check. Some have a common prefix; together with the long input they fit into one packed row.
_SHORT_INPUTS: tuple[Ids, ...] = ((11, 12, 13, 14), (11, 12, 13, 15, 16), (11, 12, 17), (15, 13))
_SHORT_SOURCES: tuple[Ids, ...] = ((1, 2, 3), (4, 3, 5))
# Largest difference between log-probabilities that counts as equal: more than rounding in another order of operations,
# less than a wrong mask, position or formula. The values of half precision are just above the largest differences from
# float32 that were measured on a GPU (0.012 and 0.095, docs/performance.md).
_TOLERANCE = {torch.float16: 2e-2, torch.bfloat16: 1e-1}
_TOLERANCE_OTHERWISE = 1e-3


class EquivalenceCheck:
    """A few synthetic inputs and the model's numbers for them, compared with its numbers after a change.

    Some questions read every position of an input; others read few, for changes that compute only the positions read.
    The reference is at first the unchanged model; `accept` replaces it by the numbers of the last check that passed.

    Changes of how inputs are laid out in rows are also checked on a long input that fills a packed row, which reveals
    models with local attention. It costs more than all other inputs together, so other changes are checked without it.
    """

    def __init__(self, answerer: "Answerer") -> None:
        self._answerer = answerer
        self._tolerance = _TOLERANCE.get(answerer.dtype, _TOLERANCE_OTHERWISE)
        self._long, self._everywhere, self._few = _questions(answerer)
        logits = _logit_questions(answerer, self._few)
        # With one token per batch every input is a batch of its own, without padding.
        self._reference = self._numbers([*self._everywhere, *self._few, *logits], 1)
        self._latest: dict[bytes, Answer] = {}
        self._largest_logit = max(map(self._logit_size, self._few, logits), default=0.0)
        # Half precision rounds large logits coarsely, but not their differences, which log-probabilities are.
        if self._tolerance == _TOLERANCE_OTHERWISE:
            self._few += logits

    def prepare_rows(self) -> None:
        """Compute the reference of the long input, before a change of how rows are laid out."""
        if any(question.digest not in self._reference for question in self._long):
            self._reference = self._reference | self._numbers(self._long, 1)

    def passes(self, *, few: bool = False, rows: bool = False, rounds_logits_less: bool = False) -> bool:
        """Whether the model still gives the numbers of the reference.

        With `few`, only the questions that read few positions are compared; with `rows`, the long input too.
        """
        tolerance = self._tolerance
        if rounds_logits_less:
            tolerance = max(tolerance, torch.finfo(self._answerer.dtype).eps * self._largest_logit)
        width = 2 * self._answerer.width_of_packs()
        everywhere = [] if few else [*(self._long if rows else []), *self._everywhere]
        try:
            self._latest = self._numbers(everywhere, width) | self._numbers(self._few, width)
        except Exception:  # any error a model may raise for a mask, hook or shape that it does not support
            return False
        return all(_near(self._reference[digest], answer, tolerance) for digest, answer in self._latest.items())

    def accept(self) -> None:
        """Use the numbers of the last check as the reference from now on."""
        self._reference = self._reference | self._latest

    def _logit_size(self, log_prob: Question, logit: Question) -> float:
        """The larger of a token's logit and its log-normaliser (the logit minus the log-probability), in size."""
        logits = self._reference[logit.digest]
        return float(max(np.abs(logits).max(), np.abs(logits - self._reference[log_prob.digest]).max()))

    def _numbers(self, questions: list[Question], batch_tokens: int) -> dict[bytes, Answer]:
        answerer = self._answerer
        batches = plan(
            questions, answerer.kind, batch_tokens, share_prefixes=answerer.shares_prefixes, pack=answerer.pack
        )
        answers: dict[bytes, Answer] = {}
        for batch in batches:
            answers |= by_question(batch, answerer.answer(batch))
        return answers


def _near(expected: NDArray[np.float32], actual: NDArray[np.float32], tolerance: float) -> bool:
    return bool((np.abs(expected - actual) < tolerance).all())  # False for NaN


def _long_input(length: int) -> Ids:
    """Token ids of which no two neighbours are equal."""
    return tuple(11 + index % 9 for index in range(length))


def _questions(answerer: "Answerer") -> tuple[list[Question], list[Question], list[Question]]:
    """A question about a long input; questions that read every position of short inputs; questions that read one."""
    width = answerer.width_of_packs()
    long = _long_input(width - sum(map(len, _SHORT_INPUTS)))
    if answerer.kind == "next-sentence":
        short = [Question(ids, ((0, 0),)) for ids in _SHORT_INPUTS]
        return [Question(long, ((0, 0),))], short, list(short)
    source: Ids = ()
    sources: tuple[Ids, ...] = ((),)
    if answerer.kind == "seq2seq":
        source, sources = _long_input(width - sum(map(len, _SHORT_SOURCES))), _SHORT_SOURCES
    pairs = list(zip(_SHORT_INPUTS, cycle(sources), strict=False))
    return (
        [_every_position(long, source)],
        [_every_position(ids, source) for ids, source in pairs],
        [Question(ids, ((len(ids) - 1, 2),), source) for ids, source in pairs],
    )


def _every_position(ids: Ids, source: Ids) -> Question:
    return Question(ids, tuple((position, 1) for position in range(len(ids))), source)


def _logit_questions(answerer: "Answerer", few: list[Question]) -> list[Question]:
    if answerer.kind == "next-sentence":
        return []
    return [Question(question.ids, question.wanted, question.source, want=Want.LOGIT) for question in few]
