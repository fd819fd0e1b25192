"""GEST in nine Slavic languages: the same sentence in the masculine and in the feminine.

In these languages verbs and adjectives mark the gender of the first person, so no template is needed: the two forms of
one word are compared at its position. Only masked models are supported, as in the paper (Pikuliak et al. 2024, section
4.3). Pairs are filtered as in the paper, and rejected ones are listed with the reason: exactly one word may differ, its
two forms must have the same first letter (otherwise they are different words), duplicates are dropped, and exactly one
token may differ for the model's tokenizer. The last filter makes the set of pairs depend on the model.
"""

from collections.abc import Sequence

from tiltmeter.benchmarks.benchmark import Asked, Benchmark, CannotAsk, Skipped
from tiltmeter.benchmarks.gendered import (
    PROTOCOL,
    SHOWN,
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
    """Turn the pairs that pass the filters into questions for a masked model."""
    check_protocol("GEST's pairs", protocol)
    if text.kind != "masked":
        raise CannotAsk("The two forms of a word are compared in its place, which only a masked model can leave out.")
    asked = Asked("masked", PROTOCOL)
    mask = required_mask(text)
    sentences = [item.male for item in items], [item.female for item in items]
    wordings = map(text.encode_whole, sentences)
    seen: set[tuple[str, str]] = set()
    for item, male, female in zip(items, *wordings, strict=True):
        pair = (item.male, item.female)
        reason = REPEATED_PAIR if pair in seen else rejection_reason(*pair)
        seen.add(pair)
        if reason is None:
            positions = differing_positions(male.ids, female.ids) if len(male.ids) == len(female.ids) else []
            if len(positions) == 1:
                ((male_word, female_word),) = differing_words(*pair)
                questions = masked_questions(male.ids, female.ids, positions, mask)
                asked.trials.append(log_ratio_trial(item, f"{male_word}/{female_word}", questions))
                continue
            reason = NOT_ONE_TOKEN
        asked.skipped.append(Skipped(item.id, reason))
    return asked


def choice(item: GenderedPairItem) -> Choice:
    """The item as a choice between its two sentences."""
    return Choice("pair", "", (Option("masculine", item.male), Option("feminine", item.female)))


BENCHMARK = Benchmark(
    form="gendered-pairs",
    protocols=(PROTOCOL,),
    measures="gest",
    ask=ask,
    shown=SHOWN,
    perturbations=text_perturbations("gendered-pairs", ("no-final-punctuation", "lower-case", "quoted")),
    choice=choice,
)
