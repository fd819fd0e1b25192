"""Samples of sentences or pairs to rate. The ratings measure the accuracy of the gender rules or of the pair filter.

GEST's authors sampled the same number of sentences for each outcome and had native speakers rate them (Pikuliak et al.
2024, Tables 4 and 5). The frequency of each outcome in the data is stored with the sample.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from tiltmeter.datasets.gest_pair_builder import list_prompted_pairs
from tiltmeter.errors import UsageError
from tiltmeter.files import create_folder, write_text
from tiltmeter.forms.gendered_pairs import NOT_ONE_WORD, find_rejection_reason
from tiltmeter.forms.gest import GestItem
from tiltmeter.gender import SpeakerGender
from tiltmeter.making.quality.text_language import create_text_language
from tiltmeter.making.rating.rating import RatingSession
from tiltmeter.making.rating.rating_plan import RATING_FILE, read_rating_plan
from tiltmeter.making.rating.rating_tables import RatingStore, RatingUnit
from tiltmeter.measures.bootstrap import create_generator
from tiltmeter.translators.translator_protocol import SOURCE

RATINGS = "rating.sqlite"
SampleKind = Literal["gender", "pairs"]

GENDERS = ("masculine", "feminine", "none")
# The outcomes of the pair filter. Each outcome is mapped to the steps of the rating scale that agree with it.
FILTERED = {"accepted": (3,), "rejected": (1, 2)}

_GENDER_PLAN = """\
# Questions about each sentence. The first question does not show the outcome of the gender rules.
about = "gender"

[[tasks]]
name = "gender"
question = "Which gender of the speaker does the sentence mark?"
steps = ["masculine", "feminine", "none"]
level = "nominal"

[[tasks]]
name = "error"
question = "The outcome of the gender rules differs from your rating. Why are the rules wrong?"
steps = [
    "complex syntax", "generic masculine noun", "a rule is missing", "faulty analysis", "faulty translation",
    "false positive", "other",
]
level = "nominal"
label_shown = true
only_wrong = true
"""
_PAIR_PLAN = """\
# Questions about each pair. The first question does not show the outcome of the pair filter.
about = "pairs"

[[tasks]]
name = "case"
question = "Does one sentence show a male and the other a female speaker, and do they otherwise mean the same?"
steps = ["not gendered", "gendered, not equivalent", "gendered and equivalent"]
level = "nominal"

[[tasks]]
name = "error"
question = "The outcome of the pair filter differs from your rating. Why is the filter wrong?"
steps = ["another word with the same first letter", "forms with different first letters", "other"]
level = "nominal"
label_shown = true
only_wrong = true
"""
_PLANS: dict[SampleKind, str] = {"gender": _GENDER_PLAN, "pairs": _PAIR_PLAN}


def build_gender_units(results: Iterable[tuple[str, SpeakerGender]], language: str) -> list[RatingUnit]:
    """Return a unit to rate for each distinct sentence; the label of the unit is the outcome of the gender rules."""
    unique = {text: found for text, found in results if text.strip()}
    return [
        RatingUnit(
            f"{language}-{number}",
            {"sentence": text},
            found.gender or "none",
            (GENDERS.index(found.gender or "none") + 1,),
            language,
            {"rule": found.rule or "", "cue": " ".join(found.cue)},
        )
        for number, (text, found) in enumerate(unique.items(), start=1)
    ]


def reject_english(texts: Sequence[str], language: str) -> None:
    """Raise a UsageError if at least half of the sentences whose language can be determined are English."""
    judge = create_text_language(SOURCE, language)
    long_enough = [text for text in texts if judge is not None and judge.can_judge(text)]
    english = [text for text in long_enough if judge is not None and judge.is_source(text)]
    if english and 2 * len(english) >= len(long_enough):
        raise UsageError(
            f"{len(english):,} of {len(long_enough):,} sentences are English, for example {english[0]!r}; give a file "
            f"with sentences in {language!r}, or change --language."
        )


def build_pair_units(
    translations: Iterable[tuple[str, str]], sentences: Sequence[GestItem], language: str
) -> list[RatingUnit]:
    """Return a unit to rate for each pair of translations that differ in one word.

    The label of the unit is the outcome of the pair filter.
    """
    outcomes: dict[tuple[str, str], str] = {}
    for male, female in list_prompted_pairs(translations, sentences, language):
        reason = find_rejection_reason(male, female)
        if reason != NOT_ONE_WORD:
            outcomes.setdefault((male, female), "accepted" if reason is None else "rejected")
    return [
        RatingUnit(f"{language}-{number}", {"male": male, "female": female}, outcome, FILTERED[outcome], language)
        for number, ((male, female), outcome) in enumerate(outcomes.items(), start=1)
    ]


def draw_sample(units: Sequence[RatingUnit], per_outcome: int, seed: int = 0) -> list[RatingUnit]:
    """Return random units in random order: `per_outcome` units of each outcome, or all units of a rarer outcome."""
    random = create_generator("gender sample", str(seed), str(per_outcome))
    chosen: list[RatingUnit] = []
    for label in sorted({unit.label for unit in units}):
        own = [unit for unit in units if unit.label == label]
        chosen += [own[index] for index in sorted(random.permutation(len(own))[:per_outcome])]
    return [chosen[index] for index in random.permutation(len(chosen))]


def count_outcomes(units: Iterable[RatingUnit]) -> dict[str, int]:
    """Return the number of units of each outcome."""
    return dict(Counter(unit.label for unit in units))


def write_sample(
    folder: Path, units: Sequence[RatingUnit], kind: SampleKind, population: Mapping[str, int] | None = None
) -> None:
    """Write a sample to rate to a folder; `population` maps each outcome to its number of units in the data.

    `rating.toml` is written last, so every folder with this file has a complete sample.
    """
    if (folder / RATING_FILE).exists():
        raise UsageError(f"{folder} already has a sample; choose another folder.")
    if not units:
        raise UsageError("There is no sentence or pair to sample; check the input file and the language.")
    create_folder(folder)
    # Delete the files that an interrupted `write_sample` has left.
    for leftover in folder.glob(f"{RATINGS}*"):
        leftover.unlink()
    with RatingStore(folder / RATINGS) as store, store.begin_transaction():
        store.set_units(units)
    lines = [f"{name} = {count}" for name, count in (population or {}).items()]
    table = ["", "# The frequency of each outcome in the data.", "[population]", *lines, ""] if lines else []
    write_text(folder / RATING_FILE, _PLANS[kind] + "\n".join(table))


def open_sample(folder: Path) -> RatingSession:
    """Open the sample in a folder, and return a session in which raters can rate it."""
    plan = read_rating_plan(folder / RATING_FILE)
    if not (folder / RATINGS).is_file():
        raise UsageError(f"{folder} has no {RATINGS} with the sample and its ratings; restore it from a backup.")
    return RatingSession(RatingStore(folder / RATINGS), plan)
