"""Log-ratios of a masculine to a feminine wording, shared by GEST, its gendered translations and WinoBias.

A score is ln P(masculine) - ln P(feminine); if the wordings differ in several tokens, it is the mean over them.
"""

from collections.abc import Sequence

import numpy as np

from tiltmeter.benchmarks.benchmark import CannotAsk, Score, ShownScores, Trial
from tiltmeter.errors import UsageError
from tiltmeter.forms import Item
from tiltmeter.questions import Answer, Question, Text, Want

PROTOCOL = "published"
ROLE = "log_ratio"
SHOWN = ShownScores((ROLE,), "signed")
UNEQUAL = "the two wordings have different numbers of tokens"
SAME = "the two wordings have the same tokens"


def differing_positions(male: Sequence[int], female: Sequence[int]) -> list[int]:
    """The positions at which two sequences of the same length differ.

    >>> differing_positions([5, 1, 7], [5, 2, 7])
    [1]
    """
    return [position for position, (a, b) in enumerate(zip(male, female, strict=True)) if a != b]


def masked_questions(
    male: tuple[int, ...], female: tuple[int, ...], positions: Sequence[int], mask: int
) -> tuple[Question, ...]:
    """One question with all differing positions masked, for the tokens of both wordings at them.

    Both wordings are read from the same distributions, so the normalisers cancel and logits suffice.
    """
    ids = tuple(mask if position in positions else token for position, token in enumerate(male))
    wanted = [(position, wording[position]) for wording in (male, female) for position in positions]
    return (Question(ids, tuple(wanted), want=Want.LOGIT),)


def continuation_questions(
    prefix: tuple[int, ...], male: tuple[int, ...], female: tuple[int, ...], source: tuple[int, ...] = ()
) -> tuple[Question, ...]:
    """Questions for the tokens of each wording after `prefix`; `source` is the input of the encoder, if any."""
    last = len(prefix) - 1
    if len(male) == len(female) == 1:
        return (Question(prefix, ((last, male[0]), (last, female[0])), source, want=Want.LOGIT),)
    return tuple(
        Question(
            (*prefix, *wording[:-1]),
            tuple((last + step, token) for step, token in enumerate(wording)),
            source,
        )
        for wording in (male, female)
    )


def log_ratio_trial(item: Item, words: str, questions: tuple[Question, ...], *, whole: bool = False) -> Trial:
    """A trial whose answers are first those of the masculine, then those of the feminine wording.

    By default the two have equally many tokens and their means are compared; with `whole` there is one question for
    each wording, their lengths may differ, and their sums are compared.
    """

    def score(answers: Sequence[Answer]) -> list[Score]:
        if whole:
            male, female = (float(answer.astype(np.float64).sum()) for answer in answers)
        else:
            male, female = np.concatenate(answers).astype(np.float64).reshape(2, -1).mean(axis=1).tolist()
        return [Score(words, ROLE, male - female)]

    return Trial(item, questions, score)


def required_mask(text: Text) -> int:
    """The mask token id; CannotAsk if the tokenizer has none."""
    if text.mask is None:
        raise CannotAsk("The tokenizer has no mask token, so no word can be left out of a sentence.")
    return text.mask


def check_protocol(benchmark: str, protocol: str) -> None:
    """Raise a UsageError for any protocol but the published one."""
    if protocol != PROTOCOL:
        raise UsageError(f"{protocol!r} is not a protocol of {benchmark}; it has only {PROTOCOL}.")
