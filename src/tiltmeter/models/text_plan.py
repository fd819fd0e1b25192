"""A plan of the texts that are sent to a server, so that its replies contain the answers to some questions."""

import math
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tiltmeter.questions import Answer, Ids, Question, WantedQuantity


class TokenEntry(NamedTuple):
    """A token of a text in a reply; `log_prob` is None for the first token, which has no context.

    `is_top` tells whether the token is the most probable token at its position; None if the server does not tell.
    """

    token: int
    log_prob: float | None
    is_top: bool | None = None


class TextPlan:
    """The texts that are sent for some questions, and the answers that are computed from the replies.

    For a wanted token t at position p, the plan contains a text of the first p + 1 tokens of the question and t. A text
    that is a prefix of another text is not sent, because the reply to the longer text contains all log-probabilities of
    the prefix.
    """

    def __init__(self, questions: Sequence[Question]) -> None:
        self._questions = questions
        needed = [_build_texts(question) for question in questions]
        self.texts: list[Ids] = []
        text_of: dict[Ids, int] = {}
        # In reverse sorted order, a prefix comes directly after the texts that begin with it.
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

    def order_texts(self, first: Collection[bytes]) -> list[int]:
        """Return the indices of all texts; texts of the questions whose digests are in `first` come first."""
        leading = dict.fromkeys(
            text
            for question, places in zip(self._questions, self._places, strict=True)
            if question.digest in first
            for text, _ in places
        )
        return [*leading, *(index for index in range(len(self.texts)) if index not in leading)]

    def collect_answers(self, text: int, entries: list[TokenEntry]) -> Iterator[tuple[bytes, Answer]]:
        """Add a reply, and yield the digest and the answer of each question that is now completely answered.

        `text` is the index of the text, and `entries` are the tokens in its reply.
        """
        self._replies[text] = entries
        for number in self._waiting.pop(text, ()):
            self._open[number].discard(text)
            if not self._open[number]:
                yield self._questions[number].digest, self._compute_numbers(number)

    def _compute_numbers(self, number: int) -> Answer:
        entries = [self._replies[text][position] for text, position in self._places[number]]
        values = [math.nan if entry.log_prob is None else entry.log_prob for entry in entries]
        if self._questions[number].want is WantedQuantity.LOG_PROB_AND_TOP:
            values += [math.nan if entry.is_top is None else float(entry.is_top) for entry in entries]
        return np.array(values, dtype=np.float32)


def _build_texts(question: Question) -> list[Ids]:
    """Return for each wanted (position, token) pair a text with this token after the position; pairs may share a text.

    >>> _build_texts(Question((5, 6, 7, 8), ((0, 6), (1, 7), (1, 9))))
    [(5, 6, 7), (5, 6, 7), (5, 6, 9)]
    """
    own = [position for position, token in question.wanted if question.ids[position + 1 : position + 2] == (token,)]
    longest = question.ids[: max(own) + 2] if own else ()
    return [
        longest if question.ids[position + 1 : position + 2] == (token,) else (*question.ids[: position + 1], token)
        for position, token in question.wanted
    ]
