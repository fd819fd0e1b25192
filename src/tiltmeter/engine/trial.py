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

# The short inputs of a trial. Some begin alike, so that they share a prefix; all fit into one row with the long one.
_SHORT_INPUTS: tuple[Ids, ...] = ((11, 12, 13, 14), (11, 12, 13, 15, 16), (11, 12, 17), (15, 13))
_SHORT_SOURCES: tuple[Ids, ...] = ((1, 2, 3), (4, 3, 5))
# How far two log-probabilities may be apart and still count as equal: rounding that depends on the order of operations.
_TOLERANCE = {torch.float16: 2e-2, torch.bfloat16: 1e-1}
_TOLERANCE_OTHERWISE = 1e-3


class ModelTrial:
    """A few made inputs and the model's numbers for them, to be compared with its numbers after a change.

    Some questions read every position of an input; others read few, for what is computed at read positions only. At
    first the reference is the model as it is; `accept` makes the numbers of the last passed trial the reference.

    For a change of how inputs are laid out in rows there is a long input too, which fills a packed row: a model with
    local attention must not see farther there. It costs more than all others together, so it is left out elsewhere.
    """

    def __init__(self, answerer: "Answerer") -> None:
        self._answerer = answerer
        self._tolerance = _TOLERANCE.get(answerer.dtype, _TOLERANCE_OTHERWISE)
        self._long, self._everywhere, self._few = _questions(answerer)
        logits = _logit_questions(answerer, self._few)
        # Every input in a batch of its own, so that there is not even padding.
        self._reference = self._numbers([*self._everywhere, *self._few, *logits], 1)
        self._latest: dict[bytes, Answer] = {}
        self._largest_logit = max(map(self._logit_size, self._few, logits), default=0.0)
        # In half precision large logits are coarse; only their differences, which are log-probabilities, are not.
        if self._tolerance == _TOLERANCE_OTHERWISE:
            self._few += logits

    def prepare_rows(self) -> None:
        """Remember the numbers of the long input as they are now, before a change of rows."""
        if any(question.digest not in self._reference for question in self._long):
            self._reference = self._reference | self._numbers(self._long, 1)

    def passes(self, *, few: bool = False, rows: bool = False, rounds_logits_less: bool = False) -> bool:
        """Whether the numbers are the same now.

        With `few`, those of the questions that read few positions; with `rows`, those of the long input too.
        """
        tolerance = self._tolerance
        if rounds_logits_less:
            tolerance = max(tolerance, torch.finfo(self._answerer.dtype).eps * self._largest_logit)
        width = 2 * self._answerer.width_of_packs()
        everywhere = [] if few else [*(self._long if rows else []), *self._everywhere]
        try:
            self._latest = self._numbers(everywhere, width) | self._numbers(self._few, width)
        except Exception:  # whatever a model says to a mask, a hook or a shape that it was not made for
            return False
        return all(_near(self._reference[digest], now, tolerance) for digest, now in self._latest.items())

    def accept(self) -> None:
        """Compare with the numbers of the last trial from now on."""
        self._reference = self._reference | self._latest

    def _logit_size(self, log_prob: Question, logit: Question) -> float:
        """The size of a token's logit or of the largest one beside it, which is the logit less the log-probability."""
        found = self._reference[logit.digest]
        return float(max(np.abs(found).max(), np.abs(found - self._reference[log_prob.digest]).max()))

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


def _questions(answerer: "Answerer") -> tuple[list[Question], list[Question], list[Question]]:
    """A question about a long input, questions that read every position of short ones, and questions that read few."""
    width = answerer.width_of_packs()
    long = _long(width - sum(map(len, _SHORT_INPUTS)))
    if answerer.kind == "next-sentence":
        short = [Question(ids, ((0, 0),)) for ids in _SHORT_INPUTS]
        return [Question(long, ((0, 0),))], short, list(short)
    source: Ids = ()
    sources: tuple[Ids, ...] = ((),)
    if answerer.kind == "seq2seq":
        source, sources = _long(width - sum(map(len, _SHORT_SOURCES))), _SHORT_SOURCES
    pairs = list(zip(_SHORT_INPUTS, cycle(sources), strict=False))
    return (
        [_everywhere(long, source)],
        [_everywhere(ids, source) for ids, source in pairs],
        [Question(ids, ((len(ids) - 1, 2),), source) for ids, source in pairs],
    )


def _everywhere(ids: Ids, source: Ids) -> Question:
    return Question(ids, tuple((place, 1) for place in range(len(ids))), source)


def _logit_questions(answerer: "Answerer", few: list[Question]) -> list[Question]:
    if answerer.kind == "next-sentence":
        return []
    return [Question(question.ids, question.wanted, question.source, want=Want.LOGIT) for question in few]
