"""How much more probable a model finds the masculine than the feminine wording of the same sentence.

What GEST, its gendered translations and WinoBias have in common. A score is the natural logarithm of
P(masculine) / P(feminine); where the two differ in several tokens, it is the mean over them.
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
    """The places at which two sequences of the same length differ.

    >>> differing_positions([5, 1, 7], [5, 2, 7])
    [1]
    """
    return [place for place, (one, other) in enumerate(zip(male, female, strict=True)) if one != other]


def masked_questions(
    male: tuple[int, ...], female: tuple[int, ...], places: Sequence[int], mask: int
) -> tuple[Question, ...]:
    """Mask the places at which the wordings differ: what is left is one input, whose logits tell them apart.

    Both wordings are read off the same distributions, so the normalisers cancel.
    """
    ids = tuple(mask if place in places else token for place, token in enumerate(male))
    wanted = [(place, wording[place]) for wording in (male, female) for place in places]
    return (Question(ids, tuple(wanted), want=Want.LOGIT),)


def continuation_questions(
    ids: tuple[int, ...], male: tuple[int, ...], female: tuple[int, ...], source: tuple[int, ...] = ()
) -> tuple[Question, ...]:
    """The tokens of either wording after `ids`, of which an encoder-decoder has read `source`."""
    if len(male) == len(female) == 1:
        place = len(ids) - 1
        return (Question(ids, ((place, male[0]), (place, female[0])), source, want=Want.LOGIT),)
    return tuple(
        Question(
            (*ids, *wording[:-1]),
            tuple((len(ids) - 1 + step, token) for step, token in enumerate(wording)),
            source,
        )
        for wording in (male, female)
    )


def log_ratio_trial(item: Item, words: str, questions: tuple[Question, ...], *, whole: bool = False) -> Trial:
    """The trial whose answers are first those of the masculine, then as many of the feminine wording.

    With `whole` their sums are compared, and there may be more of one than of the other: a question for each.
    """

    def score(answers: Sequence[Answer]) -> list[Score]:
        if whole:
            male, female = (float(answer.astype(np.float64).sum()) for answer in answers)
        else:
            male, female = np.concatenate(answers).astype(np.float64).reshape(2, -1).mean(axis=1).tolist()
        return [Score(words, ROLE, male - female)]

    return Trial(item, questions, score)


def required_mask(text: Text) -> int:
    """The mask of a masked model."""
    if text.mask is None:
        raise CannotAsk("The tokenizer has no mask token, so no word can be left out of a sentence.")
    return text.mask


def check_protocol(benchmark: str, protocol: str) -> None:
    """GEST and what goes with it are asked in one way only."""
    if protocol != PROTOCOL:
        raise UsageError(f"{protocol!r} is not a protocol of {benchmark}; it has only {PROTOCOL}.")
