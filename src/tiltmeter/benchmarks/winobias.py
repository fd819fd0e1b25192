"""WinoBias as GEST's authors use it to validate their measure (Pikuliak et al. 2024, appendix B).

WinoBias is not used as a coreference test here. Each sentence has a version with masculine and a version with feminine
pronouns. The score is the log-ratio of their probabilities. The measure compares the scores of stereotypically male and
stereotypically female occupations. For masked models, the pronouns are masked. The paper has no causal models; here,
the probabilities of the whole sentences are compared, which gives the same ratio: P(he | rest) / P(she | rest) =
P(he, rest) / P(she, rest).

Lines whose two versions differ in more than their pronouns are errors in the data and are skipped.
"""

import re
from collections.abc import Sequence

from tiltmeter.benchmarks.benchmark import Benchmark, PartTrials, SkippedItem, UnsupportedPart, allow_splitting
from tiltmeter.benchmarks.gender_log_ratios import (
    PROTOCOL,
    PROTOCOLS,
    WHOLE_SENTENCE,
    ask_masked_wordings,
    ask_whole_sentences,
    reject_other_protocols,
)
from tiltmeter.forms.gendered_pairs import find_differing_words
from tiltmeter.forms.winobias import WinoBiasItem
from tiltmeter.questions import Tokenizer

NOISE = "the two sentences differ in more than their pronouns"
_PRONOUNS = {("he", "she"), ("his", "her"), ("him", "her"), ("himself", "herself")}


def find_pronouns(item: WinoBiasItem) -> list[tuple[str, str]] | None:
    """Return the pairs of pronouns in which the two sentences differ; None if other words differ or no word differs."""
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
    """Return the questions about the sentences of one part, for a masked or causal model."""
    reject_other_protocols("WinoBias", protocol)
    if text.kind == "seq2seq":
        raise UnsupportedPart("No protocol scores WinoBias with encoder-decoders; use a masked or causal model.")
    result = PartTrials("masked", PROTOCOL) if text.kind == "masked" else PartTrials("causal", WHOLE_SENTENCE)
    pronouns = [(item, find_pronouns(item)) for item in items]
    result.skipped += [SkippedItem(item.id, NOISE) for item, pairs in pronouns if pairs is None]
    clean = [item for item, pairs in pronouns if pairs is not None]
    words = [" ".join(f"{male}/{female}" for male, female in pairs) for _, pairs in pronouns if pairs is not None]
    if result.kind == "masked":
        wordings = [item.male for item in clean], [item.female for item in clean]
        ask_masked_wordings(result, clean, words, wordings, text)
    else:
        ask_whole_sentences(result, clean, words, text)
    return result


BENCHMARK = Benchmark(form="winobias", protocols=PROTOCOLS, measures="winobias", ask=ask, item_by_item=allow_splitting)
