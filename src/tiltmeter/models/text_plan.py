"""The texts that a server is sent for questions, and the answers that its replies complete."""

import math
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tiltmeter.questions import Answer, Ids, Question, WantedQuantity


class TokenEntry(NamedTuple):
    """A token of a text in a reply; `log_prob` is None for the first token, which has no context."""

    token: int
    log_prob: float | None
    is_top: bool | None = None


class TextPlan:
    """The texts to send for some questions, and the answers that their replies complete.

    A wanted token t at position p needs the text of the first p + 1 tokens followed by t. A text that is a prefix of
    another one is not sent: the reply to the longer one has its log-probabilities, too.
    """

    def __init__(self, questions: Sequence[Question]) -> None:
        self._questions = questions
        needed = [_build_texts(question) for question in questions]
        self.texts: list[Ids] = []
        text_of: dict[Ids, int] = {}
        # In reverse order a prefix comes right after the texts that begin with it.
        for ids in sorted({ids for texts in needed for ids in texts}, reverse=True):
            if not self.texts or self.texts[-1][: len(ids)] != ids:
                self.texts.append(ids)
            text_of[ids] = len(self.texts) - 1
        self._places = [
            [(text_of[ids], position + 1) for ids, (position, _) in zip(texts, question.wanted, strict=True)]
            for question, texts in zip(questions, needed, strict=True)
        ]
        self._waiting: dict[int, list[int]] = {}
        self._open = [{text for text, _ in places} for places in self._places]
        for number, texts in enumerate(self._open):
            for text in texts:
                self._waiting.setdefault(text, []).append(number)
        self._replies: dict[int, list[TokenEntry]] = {}

    def order(self, first: Collection[bytes]) -> list[int]:
        """The indices of the texts, those of the questions `first` (digests) before the others."""
        leading = dict.fromkeys(
            text
            for question, places in zip(self._questions, self._places, strict=True)
            if question.digest in first
            for text, _ in places
        )
        return [*leading, *(index for index in range(len(self.texts)) if index not in leading)]

    def answered(self, text: int, entries: list[TokenEntry]) -> Iterator[tuple[bytes, Answer]]:
        """The questions that are complete with the reply to a text, with their answers."""
        self._replies[text] = entries
        for number in self._waiting.pop(text, ()):
            self._open[number].discard(text)
            if not self._open[number]:
                yield self._questions[number].digest, self._numbers(number)

    def _numbers(self, number: int) -> Answer:
        entries = [self._replies[text][position] for text, position in self._places[number]]
        values = [math.nan if entry.log_prob is None else entry.log_prob for entry in entries]
        if self._questions[number].want is WantedQuantity.LOG_PROB_AND_TOP:
            values += [math.nan if entry.is_top is None else float(entry.is_top) for entry in entries]
        return np.array(values, dtype=np.float32)


def _build_texts(question: Question) -> list[Ids]:
    """For each wanted token a text in which it stands at its position, the same one for as many as possible.

    >>> _build_texts(Question((5, 6, 7, 8), ((0, 6), (1, 7), (1, 9))))
    [(5, 6, 7), (5, 6, 7), (5, 6, 9)]
    """
    own = [position for position, token in question.wanted if question.ids[position + 1 : position + 2] == (token,)]
    longest = question.ids[: max(own) + 2] if own else ()
    return [
        longest if question.ids[position + 1 : position + 2] == (token,) else (*question.ids[: position + 1], token)
        for position, token in question.wanted
    ]
