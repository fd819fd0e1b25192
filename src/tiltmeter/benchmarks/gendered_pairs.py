"""GEST in languages that mark the gender of the first person: each sentence has a masculine and a feminine version.

No template is needed. For masked models, the differing word is masked, and the probabilities of its two forms are
compared (Pikuliak et al. 2024, section 4.3). The paper has no causal models; here, the probabilities of the whole
sentences are compared (`whole-sentence`).

Pairs are filtered as in the paper: exactly one word must differ, its two forms must have the same first letter
(otherwise they are different words), and duplicates are dropped. For masked models, the sentences must also differ in
exactly one token, so the set of pairs depends on the model. Skipped pairs are listed with the reason.
"""

from collections.abc import Sequence

from tiltmeter.benchmarks.benchmark import Benchmark, PartTrials, SkippedItem, UnsupportedPart
from tiltmeter.benchmarks.gender_log_ratios import (
    PROTOCOL,
    PROTOCOLS,
    WHOLE_SENTENCE,
    ask_whole_sentences,
    build_log_ratio_trial,
    build_masked_questions,
    find_differing_positions,
    reject_other_protocols,
    require_mask,
)
from tiltmeter.benchmarks.perturbations import build_perturbations
from tiltmeter.forms.gendered_pairs import REPEATED_PAIR, GenderedPairItem, find_differing_words, find_rejection_reason
from tiltmeter.questions import Choice, Option, Tokenizer

NOT_ONE_TOKEN = "the two sentences do not differ in exactly one token of this model"


def ask(part: str, items: Sequence[GenderedPairItem], text: Tokenizer, *, protocol: str) -> PartTrials:  # noqa: ARG001
    """Return questions about the pairs that pass the filters, for a masked or causal model."""
    reject_other_protocols("GEST's pairs", protocol)
    if text.kind == "seq2seq":
        raise UnsupportedPart("No protocol scores gendered pairs with encoder-decoders; use a masked or causal model.")
    result = PartTrials("masked", PROTOCOL) if text.kind == "masked" else PartTrials("causal", WHOLE_SENTENCE)
    accepted = []
    seen: set[tuple[str, str]] = set()
    for item in items:
        pair = (item.male, item.female)
        if (reason := REPEATED_PAIR if pair in seen else find_rejection_reason(*pair)) is None:
            accepted.append(item)
        else:
            result.skipped.append(SkippedItem(item.id, reason))
        seen.add(pair)
    if result.kind == "masked":
        _ask_masked(result, accepted, text)
    else:
        ask_whole_sentences(result, accepted, [_format_words(item) for item in accepted], text)
    return result


def _ask_masked(result: PartTrials, items: Sequence[GenderedPairItem], text: Tokenizer) -> None:
    mask = require_mask(text)
    wordings = map(text.encode_with_special_tokens, ([item.male for item in items], [item.female for item in items]))
    for item, male, female in zip(items, *wordings, strict=True):
        positions = find_differing_positions(male.ids, female.ids) if len(male.ids) == len(female.ids) else []
        if len(positions) == 1:
            questions = build_masked_questions(male.ids, female.ids, positions, mask)
            result.trials.append(build_log_ratio_trial(item, _format_words(item), questions))
        else:
            result.skipped.append(SkippedItem(item.id, NOT_ONE_TOKEN))


def _format_words(item: GenderedPairItem) -> str:
    ((male, female),) = find_differing_words(item.male, item.female)
    return f"{male}/{female}"


def build_choice(item: GenderedPairItem) -> Choice:
    """Return the item as a choice between its two sentences."""
    return Choice("pair", "", (Option("masculine", item.male), Option("feminine", item.female)))


def _are_distinct(items: Sequence[GenderedPairItem]) -> bool:
    """Return whether all pairs are distinct; a model is asked only about the first of several equal pairs."""
    return len({(item.male, item.female) for item in items}) == len(items)


BENCHMARK = Benchmark(
    form="gendered-pairs",
    protocols=PROTOCOLS,
    measures="gest",
    ask=ask,
    item_by_item=_are_distinct,
    perturbations=build_perturbations("gendered-pairs", ("no-final-punctuation", "lower-case", "quoted")),
    choice=build_choice,
)
