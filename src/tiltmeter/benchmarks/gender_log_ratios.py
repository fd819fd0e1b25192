"""Log-ratios of a masculine to a feminine wording, for GEST, the gendered translations of GEST, and WinoBias.

A score is ln P(masculine) - ln P(feminine). If the wordings differ in several tokens, the score is the mean over these
tokens.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from tiltmeter.benchmarks.benchmark import PartTrials, Score, SkippedItem, Trial, UnsupportedPart
from tiltmeter.benchmarks.token_alignment import find_text_positions
from tiltmeter.errors import UsageError
from tiltmeter.forms import Item
from tiltmeter.questions import Answer, EncodedText, Question, Tokenizer, WantedQuantity

PROTOCOL = "published"
PROTOCOLS = {PROTOCOL: "compares the log-probabilities of the masculine and the feminine word or sentence"}
ROLE = "log_ratio"
UNEQUAL = "the two wordings have different numbers of tokens"
SAME = "the two wordings have the same tokens"
UNREADABLE = "the first token differs, and the tokenizer has no start token to put before it"
# The protocol for causal models; it compares the probabilities of two whole sentences.
WHOLE_SENTENCE = "whole-sentence"


class GenderedWordings(Item, Protocol):
    """An item with a masculine and a feminine sentence."""

    @property
    def male(self) -> str: ...  # noqa: D102
    @property
    def female(self) -> str: ...  # noqa: D102


def find_differing_positions(male: Sequence[int], female: Sequence[int]) -> list[int]:
    """Return the positions at which two sequences of the same length differ.

    >>> find_differing_positions([5, 1, 7], [5, 2, 7])
    [1]
    """
    return [position for position, (a, b) in enumerate(zip(male, female, strict=True)) if a != b]


def build_masked_questions(
    male: tuple[int, ...], female: tuple[int, ...], positions: Sequence[int], mask: int
) -> tuple[Question, ...]:
    """Return one question in which all differing positions are masked; it asks for the tokens of both wordings.

    The question asks for logits: both tokens of a position are from one distribution, so its normaliser cancels.
    """
    ids = tuple(mask if position in positions else token for position, token in enumerate(male))
    wanted = [(position, wording[position]) for wording in (male, female) for position in positions]
    return (Question(ids, tuple(wanted), want=WantedQuantity.LOGIT),)


def build_continuation_questions(
    prefix: tuple[int, ...], male: tuple[int, ...], female: tuple[int, ...], source: tuple[int, ...] = ()
) -> tuple[Question, ...]:
    """Return questions for the tokens of each wording after `prefix`; `source` is the input of the encoder, if any."""
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
    """Return a trial (questions and their scorer) that compares a masculine with a feminine wording.

    By default, both wordings must have the same number of tokens, and their mean log-probabilities are compared. With
    `whole`, the sums of log-probabilities are compared, and the wordings may differ in length: then the first `first`
    questions belong to the masculine wording, and the others to the feminine wording.
    """

    def score(answers: Sequence[Answer]) -> list[Score]:
        if whole:
            parts = (answers[:first], answers[first:])
            male, female = (float(np.concatenate(part).astype(np.float64).sum()) for part in parts)
        else:
            male, female = np.concatenate(answers).astype(np.float64).reshape(2, -1).mean(axis=1).tolist()
        return [Score(words, ROLE, male - female)]

    return Trial(item, questions, score)


def ask_masked_wordings(
    result: PartTrials, items: Sequence[Item], words: Sequence[str], wordings: Sequence[list[str]], text: Tokenizer
) -> None:
    """Add a trial for each item: the differing tokens are masked, and masculine and feminine tokens are compared.

    `wordings` are two lists: the masculine texts and the feminine texts of the items.
    """
    mask = require_mask(text)
    for item, name, male, female in zip(items, words, *map(text.encode_with_special_tokens, wordings), strict=True):
        if len(male.ids) != len(female.ids):
            result.skipped.append(SkippedItem(item.id, UNEQUAL))
        elif positions := find_differing_positions(male.ids, female.ids):
            questions = build_masked_questions(male.ids, female.ids, positions, mask)
            result.trials.append(build_log_ratio_trial(item, name, questions))
        else:
            result.skipped.append(SkippedItem(item.id, SAME))


def ask_whole_sentences(
    result: PartTrials, items: Sequence[GenderedWordings], words: Sequence[str], text: Tokenizer
) -> None:
    """Add a trial for each item that compares the probabilities of the two sentences.

    `words` are the differing words of each item.
    """
    sentences = [item.male for item in items], [item.female for item in items]
    encoded = (*map(text.encode_with_special_tokens, sentences), *map(text.encode, sentences))
    for item, name, male, female, own_male, own_female in zip(items, words, *encoded, strict=True):
        questions = (
            _build_likelihood_question(male, own_male, text),
            _build_likelihood_question(female, own_female, text),
        )
        if questions[0].ids[0] == questions[1].ids[0]:
            result.trials.append(build_log_ratio_trial(item, name, questions, whole=True))
        else:
            result.skipped.append(SkippedItem(item.id, UNREADABLE))


def _build_likelihood_question(whole: EncodedText, own: EncodedText, text: Tokenizer) -> Question:
    """Return the question for all tokens of a sentence; without a start token, the first token is not scored."""
    positions = find_text_positions(whole, own)
    # Without a preceding token, the first token has no probability. This does not matter if both sentences begin with
    # the same token.
    lead = whole.ids[: positions.start] or (() if text.start is None else (text.start,))
    ids = (*lead, *own.ids)
    return Question(ids, tuple((index - 1, ids[index]) for index in range(max(1, len(lead)), len(ids))))


def require_mask(text: Tokenizer) -> int:
    """Return the id of the mask token; raise UnsupportedPart if the tokenizer has none."""
    if text.mask is None:
        raise UnsupportedPart("The tokenizer has no mask token, so no word of a sentence can be masked.")
    return text.mask


def reject_other_protocols(benchmark: str, protocol: str) -> None:
    """Raise a UsageError for any protocol except the published one."""
    if protocol != PROTOCOL:
        raise UsageError(f"{protocol!r} is not a protocol of {benchmark}; the only protocol is {PROTOCOL}.")
