"""WinoBias, in the form in which GEST's authors use it to see whether their measure predicts another one.

Not as a test of coreference: of each sentence there is one with masculine and one with feminine pronouns, and what
counts is how much more probable the former are, for occupations that are stereotypically men's and women's (Pikuliak
et al. 2024, appendix B). Masked models have the pronouns masked. The paper asked no causal model; here such a model
compares the probabilities of the two whole sentences, which is the same ratio, for
P(he | rest) / P(she | rest) = P(he, rest) / P(she, rest).

Lines whose two halves differ in anything but their pronouns are noise in the data, and skipped.
"""

import re
from collections.abc import Sequence

from tiltmeter.benchmarks.alignment import text_positions
from tiltmeter.benchmarks.benchmark import Asked, Benchmark, CannotAsk, Skipped
from tiltmeter.benchmarks.gendered import (
    PROTOCOL,
    SHOWN,
    UNEQUAL,
    check_protocol,
    differing_positions,
    log_ratio_trial,
    masked_questions,
    required_mask,
)
from tiltmeter.forms.gendered_pairs import differing_words
from tiltmeter.forms.winobias import WinoBiasItem
from tiltmeter.questions import Encoded, Question, Text

WHOLE_SENTENCE = "whole-sentence"
NOISE = "the two sentences differ in more than their pronouns"
UNREADABLE = "the first token differs, and this model has no token that could stand before it"
_PRONOUNS = {("he", "she"), ("his", "her"), ("him", "her"), ("himself", "herself")}


def pronouns(item: WinoBiasItem) -> list[tuple[str, str]] | None:
    """The pronouns in which the two sentences differ; None if they differ in anything else, or not at all."""
    if len(item.male.split()) != len(item.female.split()):
        return None
    words = [(_bare(one), _bare(other)) for one, other in differing_words(item.male, item.female)]
    return words if words and set(words) <= _PRONOUNS else None


def _bare(word: str) -> str:
    return re.sub(r"\W", "", word).lower()


def ask(part: str, items: Sequence[WinoBiasItem], text: Text, *, protocol: str) -> Asked:  # noqa: ARG001
    """Turn the sentences of one part into questions for a masked or causal model."""
    check_protocol("WinoBias", protocol)
    if text.kind == "seq2seq":
        raise CannotAsk("WinoBias is asked of masked and causal models; for encoder-decoders there is no protocol.")
    asked = Asked("masked", PROTOCOL) if text.kind == "masked" else Asked("causal", WHOLE_SENTENCE)
    asked.skipped += [Skipped(item.id, NOISE) for item in items if pronouns(item) is None]
    clean = [item for item in items if pronouns(item) is not None]
    if asked.kind == "masked":
        _ask_masked(asked, clean, text)
    else:
        _ask_causal(asked, clean, text)
    return asked


def _ask_masked(asked: Asked, items: Sequence[WinoBiasItem], text: Text) -> None:
    mask = required_mask(text)
    wordings = [text.encode_whole([sentence(item) for item in items]) for sentence in (_male, _female)]
    for item, male, female in zip(items, *wordings, strict=True):
        if len(male.ids) == len(female.ids):
            questions = masked_questions(male.ids, female.ids, differing_positions(male.ids, female.ids), mask)
            asked.trials.append(log_ratio_trial(item, _words(item), questions))
        else:
            asked.skipped.append(Skipped(item.id, UNEQUAL))


def _ask_causal(asked: Asked, items: Sequence[WinoBiasItem], text: Text) -> None:
    sentences = [[sentence(item) for item in items] for sentence in (_male, _female)]
    encoded = [text.encode_whole(some) for some in sentences] + [text.encode(some) for some in sentences]
    for item, male, female, own_male, own_female in zip(items, *encoded, strict=True):
        questions = (_likelihood(male, own_male, text), _likelihood(female, own_female, text))
        if questions[0].ids[0] == questions[1].ids[0]:
            asked.trials.append(log_ratio_trial(item, _words(item), questions, whole=True))
        else:
            asked.skipped.append(Skipped(item.id, UNREADABLE))


def _likelihood(whole: Encoded, own: Encoded, text: Text) -> Question:
    """All tokens of the sentence; the first one too, if there is anything to read before it."""
    places = text_positions(whole, own)
    # Without a token in front the first token cannot be read, nor need it be if it is the same in both sentences.
    lead = whole.ids[: places.start] or (() if text.start is None else (text.start,))
    ids = (*lead, *own.ids)
    return Question(ids, tuple((place - 1, ids[place]) for place in range(max(1, len(lead)), len(ids))))


def _male(item: WinoBiasItem) -> str:
    return item.male


def _female(item: WinoBiasItem) -> str:
    return item.female


def _words(item: WinoBiasItem) -> str:
    return " ".join(f"{one}/{other}" for one, other in pronouns(item) or [])


BENCHMARK = Benchmark(form="winobias", protocols=(PROTOCOL,), measures="winobias", ask=ask, shown=SHOWN)
