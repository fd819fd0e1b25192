"""GEST in languages that mark the gender of the first person: a sentence in the masculine and in the feminine.

No template is needed: a masked model compares the two forms of a word at its position (Pikuliak et al. 2024, section
4.3). The paper has no causal models; here they compare the probabilities of the whole sentences (`whole-sentence`).

Pairs are filtered as in the paper, and rejected ones are listed with the reason: exactly one word may differ, its two
forms must have the same first letter (otherwise they are different words), duplicates are dropped. For masked models
exactly one token may differ too, which makes the set of pairs depend on the model.
"""

from collections.abc import Sequence

from tiltmeter.benchmarks.benchmark import Asked, Benchmark, CannotAsk, Skipped
from tiltmeter.benchmarks.gendered import (
    PROTOCOL,
    PROTOCOLS,
    WHOLE_SENTENCE,
    ask_whole_sentences,
    check_protocol,
    differing_positions,
    log_ratio_trial,
    masked_questions,
    required_mask,
)
from tiltmeter.benchmarks.perturbing import text_perturbations
from tiltmeter.forms.gendered_pairs import REPEATED_PAIR, GenderedPairItem, differing_words, rejection_reason
from tiltmeter.questions import Choice, Option, Text

NOT_ONE_TOKEN = "the two sentences do not differ in exactly one token of this model"


def ask(part: str, items: Sequence[GenderedPairItem], text: Text, *, protocol: str) -> Asked:  # noqa: ARG001
    """Turn the pairs that pass the filters into questions for a masked or causal model."""
    check_protocol("GEST's pairs", protocol)
    if text.kind == "seq2seq":
        raise CannotAsk("Gendered pairs are asked of masked and causal models; for encoder-decoders there is no way.")
    asked = Asked("masked", PROTOCOL) if text.kind == "masked" else Asked("causal", WHOLE_SENTENCE)
    accepted = []
    seen: set[tuple[str, str]] = set()
    for item in items:
        pair = (item.male, item.female)
        if (reason := REPEATED_PAIR if pair in seen else rejection_reason(*pair)) is None:
            accepted.append(item)
        else:
            asked.skipped.append(Skipped(item.id, reason))
        seen.add(pair)
    if asked.kind == "masked":
        _ask_masked(asked, accepted, text)
    else:
        ask_whole_sentences(asked, accepted, [_words(item) for item in accepted], text)
    return asked


def _ask_masked(asked: Asked, items: Sequence[GenderedPairItem], text: Text) -> None:
    mask = required_mask(text)
    wordings = map(text.encode_whole, ([item.male for item in items], [item.female for item in items]))
    for item, male, female in zip(items, *wordings, strict=True):
        positions = differing_positions(male.ids, female.ids) if len(male.ids) == len(female.ids) else []
        if len(positions) == 1:
            questions = masked_questions(male.ids, female.ids, positions, mask)
            asked.trials.append(log_ratio_trial(item, _words(item), questions))
        else:
            asked.skipped.append(Skipped(item.id, NOT_ONE_TOKEN))


def _words(item: GenderedPairItem) -> str:
    ((male, female),) = differing_words(item.male, item.female)
    return f"{male}/{female}"


def choice(item: GenderedPairItem) -> Choice:
    """The item as a choice between its two sentences."""
    return Choice("pair", "", (Option("masculine", item.male), Option("feminine", item.female)))


def _are_distinct(items: Sequence[GenderedPairItem]) -> bool:
    """Whether no pair is there twice: of those that are, only the first is asked."""
    return len({(item.male, item.female) for item in items}) == len(items)


BENCHMARK = Benchmark(
    form="gendered-pairs",
    protocols=PROTOCOLS,
    measures="gest",
    ask=ask,
    item_by_item=_are_distinct,
    perturbations=text_perturbations("gendered-pairs", ("no-final-punctuation", "lower-case", "quoted")),
    choice=choice,
)
