"""Log-ratios of a masculine to a feminine wording, shared by GEST, its gendered translations and WinoBias.

A score is ln P(masculine) - ln P(feminine); if the wordings differ in several tokens, it is the mean over them.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from tiltmeter.benchmarks.benchmark import DisplayedScores, PartTrials, Score, SkippedItem, Trial, UnsupportedPart
from tiltmeter.benchmarks.token_alignment import find_text_positions
from tiltmeter.errors import UsageError
from tiltmeter.forms import Item
from tiltmeter.questions import Answer, EncodedText, Question, Tokenizer, WantedQuantity

PROTOCOL = "published"
PROTOCOLS = {PROTOCOL: "the masculine and the feminine word or sentence compared by their log-probabilities"}
ROLE = "log_ratio"
SHOWN = DisplayedScores((ROLE,), "signed")
UNEQUAL = "the two wordings have different numbers of tokens"
SAME = "the two wordings have the same tokens"
UNREADABLE = "the first token differs, and this model has no token that could stand before it"
# The protocol in which a causal model compares the probabilities of two whole sentences.
WHOLE_SENTENCE = "whole-sentence"


class GenderedWordings(Item, Protocol):
    """An item with a masculine and a feminine sentence."""

    @property
    def male(self) -> str: ...  # noqa: D102
    @property
    def female(self) -> str: ...  # noqa: D102


def find_differing_positions(male: Sequence[int], female: Sequence[int]) -> list[int]:
    """The positions at which two sequences of the same length differ.

    >>> find_differing_positions([5, 1, 7], [5, 2, 7])
    [1]
    """
    return [position for position, (a, b) in enumerate(zip(male, female, strict=True)) if a != b]


def build_masked_questions(
    male: tuple[int, ...], female: tuple[int, ...], positions: Sequence[int], mask: int
) -> tuple[Question, ...]:
    """One question with all differing positions masked, for the tokens of both wordings at them.

    Both wordings are read from the same distributions, so the normalisers cancel and logits suffice.
    """
    ids = tuple(mask if position in positions else token for position, token in enumerate(male))
    wanted = [(position, wording[position]) for wording in (male, female) for position in positions]
    return (Question(ids, tuple(wanted), want=WantedQuantity.LOGIT),)


def build_continuation_questions(
    prefix: tuple[int, ...], male: tuple[int, ...], female: tuple[int, ...], source: tuple[int, ...] = ()
) -> tuple[Question, ...]:
    """Questions for the tokens of each wording after `prefix`; `source` is the input of the encoder, if any."""
    last = len(prefix) - 1
    if len(male) == len(female) == 1:
        return (Question(prefix, ((last, male[0]), (last, female[0])), source, want=WantedQuantity.LOGIT),)
    return tuple(
        Question(
            (*prefix, *wording[:-1]),
            tuple((last + step, token) for step, token in enumerate(wording)),
            source,
        )
        for wording in (male, female)
    )


def build_log_ratio_trial(
    item: Item, words: str, questions: tuple[Question, ...], *, whole: bool = False, first: int = 1
) -> Trial:
    """A trial whose answers are first those of the masculine, then those of the feminine wording.

    By default the two have equally many tokens and their means are compared; with `whole` their lengths may differ, and
    their sums are compared: the first `first` questions are those of the masculine wording.
    """

    def score(answers: Sequence[Answer]) -> list[Score]:
        if whole:
            male, female = (_sum_log_probabilities(part) for part in (answers[:first], answers[first:]))
        else:
            male, female = np.concatenate(answers).astype(np.float64).reshape(2, -1).mean(axis=1).tolist()
        return [Score(words, ROLE, male - female)]

    return Trial(item, questions, score)


def _sum_log_probabilities(answers: Sequence[Answer]) -> float:
    return float(np.concatenate(answers).astype(np.float64).sum())


def ask_whole_sentences(
    asked: PartTrials, items: Sequence[GenderedWordings], words: Sequence[str], text: Tokenizer
) -> None:
    """Add a trial for each item that compares the probabilities of its two sentences; `words` are what differs."""
    sentences = [item.male for item in items], [item.female for item in items]
    encoded = (*map(text.encode_whole, sentences), *map(text.encode, sentences))
    for item, name, male, female, own_male, own_female in zip(items, words, *encoded, strict=True):
        questions = (
            _build_likelihood_question(male, own_male, text),
            _build_likelihood_question(female, own_female, text),
        )
        if questions[0].ids[0] == questions[1].ids[0]:
            asked.trials.append(build_log_ratio_trial(item, name, questions, whole=True))
        else:
            asked.skipped.append(SkippedItem(item.id, UNREADABLE))


def _build_likelihood_question(whole: EncodedText, own: EncodedText, text: Tokenizer) -> Question:
    """The question for all tokens of the sentence, except the first if no token can precede it."""
    positions = find_text_positions(whole, own)
    # Without a preceding token the first token has no probability; it is not needed if both sentences share it.
    lead = whole.ids[: positions.start] or (() if text.start is None else (text.start,))
    ids = (*lead, *own.ids)
    return Question(ids, tuple((index - 1, ids[index]) for index in range(max(1, len(lead)), len(ids))))


def require_mask(text: Tokenizer) -> int:
    """The mask token id; CannotAsk if the tokenizer has none."""
    if text.mask is None:
        raise UnsupportedPart("The tokenizer has no mask token, so no word can be left out of a sentence.")
    return text.mask


def reject_other_protocols(benchmark: str, protocol: str) -> None:
    """Raise a UsageError for any protocol but the published one."""
    if protocol != PROTOCOL:
        raise UsageError(f"{protocol!r} is not a protocol of {benchmark}; it has only {PROTOCOL}.")
