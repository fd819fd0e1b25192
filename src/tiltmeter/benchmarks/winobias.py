"""WinoBias as GEST's authors use it to validate their measure (Pikuliak et al. 2024, appendix B).

It is not used as a coreference test: each sentence has a version with masculine and one with feminine pronouns, and the
score is the log-ratio of their probabilities, compared between stereotypically male and female occupations. For masked
models the pronouns are masked. The paper has no causal models; here they compare the probabilities of the whole
sentences, which is the same ratio: P(he | rest) / P(she | rest) = P(he, rest) / P(she, rest).

Lines whose two versions differ in more than their pronouns are errors in the data, and are skipped.
"""

import re
from collections.abc import Sequence

from tiltmeter.benchmarks.benchmark import Benchmark, PartTrials, SkippedItem, UnsupportedPart, allow_splitting
from tiltmeter.benchmarks.gender_log_ratios import (
    PROTOCOL,
    PROTOCOLS,
    SHOWN,
    UNEQUAL,
    WHOLE_SENTENCE,
    ask_whole_sentences,
    build_log_ratio_trial,
    build_masked_questions,
    find_differing_positions,
    reject_other_protocols,
    require_mask,
)
from tiltmeter.forms.gendered_pairs import find_differing_words
from tiltmeter.forms.winobias import WinoBiasItem
from tiltmeter.questions import Tokenizer

NOISE = "the two sentences differ in more than their pronouns"
_PRONOUNS = {("he", "she"), ("his", "her"), ("him", "her"), ("himself", "herself")}


def find_pronouns(item: WinoBiasItem) -> list[tuple[str, str]] | None:
    """The pairs of pronouns in which the two sentences differ; None if they differ in anything else, or not at all."""
    if len(item.male.split()) != len(item.female.split()):
        return None
    words = [
        (_normalise_word(male), _normalise_word(female))
        for male, female in find_differing_words(item.male, item.female)
    ]
    return words if words and set(words) <= _PRONOUNS else None


def _normalise_word(word: str) -> str:
    return re.sub(r"\W", "", word).lower()


def ask(part: str, items: Sequence[WinoBiasItem], text: Tokenizer, *, protocol: str) -> PartTrials:  # noqa: ARG001
    """Turn the sentences of one part into questions for a masked or causal model."""
    reject_other_protocols("WinoBias", protocol)
    if text.kind == "seq2seq":
        raise UnsupportedPart(
            "WinoBias is asked of masked and causal models; for encoder-decoders there is no protocol."
        )
    asked = PartTrials("masked", PROTOCOL) if text.kind == "masked" else PartTrials("causal", WHOLE_SENTENCE)
    asked.skipped += [SkippedItem(item.id, NOISE) for item in items if find_pronouns(item) is None]
    clean = [item for item in items if find_pronouns(item) is not None]
    if asked.kind == "masked":
        _ask_masked(asked, clean, text)
    else:
        ask_whole_sentences(asked, clean, [_format_words(item) for item in clean], text)
    return asked


def _ask_masked(asked: PartTrials, items: Sequence[WinoBiasItem], text: Tokenizer) -> None:
    mask = require_mask(text)
    sentences = [item.male for item in items], [item.female for item in items]
    for item, male, female in zip(items, *map(text.encode_whole, sentences), strict=True):
        if len(male.ids) == len(female.ids):
            questions = build_masked_questions(
                male.ids, female.ids, find_differing_positions(male.ids, female.ids), mask
            )
            asked.trials.append(build_log_ratio_trial(item, _format_words(item), questions))
        else:
            asked.skipped.append(SkippedItem(item.id, UNEQUAL))


def _format_words(item: WinoBiasItem) -> str:
    return " ".join(f"{male}/{female}" for male, female in find_pronouns(item) or [])


BENCHMARK = Benchmark(
    form="winobias", protocols=PROTOCOLS, measures="winobias", ask=ask, shown=SHOWN, item_by_item=allow_splitting
)
