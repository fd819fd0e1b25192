"""GEST in nine Slavic languages: the same sentence as a man and as a woman would say it.

In these languages the first person shows gender in verbs and adjectives, so no template is needed: the two forms of
one word are compared in its place. Only masked models are asked, as in the paper (Pikuliak et al. 2024, section 4.3).
The pairs are filtered as there, and what each filter takes is told by its reason: exactly one word may differ, its two
forms must begin with the same letter (else they are different words), a pair counts once, and for the model at hand
exactly one token may differ. So two models are rarely asked quite the same pairs.
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
from tiltmeter.forms.gendered_pairs import REPEATED_PAIR, GenderedPairItem, differing_words, rejection_reason
from tiltmeter.questions import Text

NOT_ONE_TOKEN = "the two sentences do not differ in exactly one token of this model"


def ask(part: str, items: Sequence[GenderedPairItem], text: Text, *, protocol: str) -> Asked:  # noqa: ARG001
    """Turn the pairs that pass the filters into questions for a masked model."""
    check_protocol("GEST's pairs", protocol)
    if text.kind != "masked":
        raise CannotAsk("The two forms of a word are compared in its place, which only a masked model can leave out.")
    asked = Asked("masked", PROTOCOL)
    mask = required_mask(text)
    wordings = [text.encode_whole([wording(item) for item in items]) for wording in (_male, _female)]
    seen: set[tuple[str, str]] = set()
    for item, male, female in zip(items, *wordings, strict=True):
        pair = (item.male, item.female)
        reason = REPEATED_PAIR if pair in seen else rejection_reason(*pair)
        seen.add(pair)
        if reason is None:
            places = differing_positions(male.ids, female.ids) if len(male.ids) == len(female.ids) else []
            if len(places) == 1:
                ((one, other),) = differing_words(*pair)
                questions = masked_questions(male.ids, female.ids, places, mask)
                asked.trials.append(log_ratio_trial(item, f"{one}/{other}", questions))
                continue
            reason = NOT_ONE_TOKEN
        asked.skipped.append(Skipped(item.id, reason))
    return asked


def _male(item: GenderedPairItem) -> str:
    return item.male


def _female(item: GenderedPairItem) -> str:
    return item.female


BENCHMARK = Benchmark(form="gendered-pairs", protocols=(PROTOCOL,), measures="gest", ask=ask, shown=SHOWN)
