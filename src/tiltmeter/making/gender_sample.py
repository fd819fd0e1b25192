"""Samples of what the rules of the speaker's gender and the filter of gendered pairs say, rated by people.

GEST's authors sampled as many sentences of each outcome and had native speakers rate them (Pikuliak et al. 2024, Tables
4 and 5). Shares are therefore given within outcomes; how frequent the outcomes are is not known from the sample.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tiltmeter.datasets.build_pairs import prompted_pairs
from tiltmeter.errors import UsageError
from tiltmeter.files import make_folder, write_text
from tiltmeter.forms.gendered_pairs import NOT_ONE_WORD, rejection_reason
from tiltmeter.forms.gest import GestItem
from tiltmeter.gender import SpeakerGender
from tiltmeter.making.rating import Rating
from tiltmeter.making.rating_plan import RATING_FILE, RatingPlan, read_plan
from tiltmeter.making.rating_tables import RatingStore, RatingUnit
from tiltmeter.making.reliability import Agreement, krippendorff_alpha
from tiltmeter.measures.estimates import Share
from tiltmeter.measures.intervals import Interval, generator

RATINGS = "rating.sqlite"
SampleKind = Literal["gender", "pairs"]

GENDERS = ("masculine", "feminine", "none")
CASES = ("not gendered", "gendered, not equivalent", "gendered and equivalent")
# The outcomes of the filter, with the cases that go with each.
FILTERED = {"accepted": (3,), "rejected": (1, 2)}

_GENDER_PLAN = """\
# What raters are asked about each sentence; the outcome of the rules is hidden until the error is classified.
about = "gender"

[[tasks]]
name = "gender"
question = "Which gender of the speaker does the sentence mark?"
steps = ["masculine", "feminine", "none"]
level = "nominal"

[[tasks]]
name = "error"
question = "The rules say otherwise. Why are they wrong?"
steps = [
    "a noun shows the gender", "a rule is missing", "faulty analysis", "faulty translation", "false positive", "other",
]
level = "nominal"
label_shown = true
only_wrong = true
"""
_PAIR_PLAN = """\
# What raters are asked about each pair; the outcome of the filter is hidden until the error is classified.
about = "pairs"

[[tasks]]
name = "case"
question = "Do the two sentences show a man and a woman speaking, and do they otherwise say the same?"
steps = ["not gendered", "gendered, not equivalent", "gendered and equivalent"]
level = "nominal"

[[tasks]]
name = "error"
question = "The filter says otherwise. Why is it wrong?"
steps = ["another word with the same first letter", "forms with different first letters", "other"]
level = "nominal"
label_shown = true
only_wrong = true
"""
_PLANS: dict[SampleKind, str] = {"gender": _GENDER_PLAN, "pairs": _PAIR_PLAN}


@dataclass(frozen=True, slots=True)
class ShareEstimate:
    """A share in percent with its 95% interval, of n."""

    value: float
    interval: Interval
    n: int

    def __str__(self) -> str:
        return f"{self.value:.1f}% [{self.interval[0]:.1f}, {self.interval[1]:.1f}] of {self.n:,}"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A confusion matrix: counts by outcome (rows) and what raters said (columns).

    `right` is the share of each outcome that is right; `errors` counts the classes of errors; `undecided` units have no
    majority of raters, `unrated` ones no rating.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: dict[tuple[str, str], int]
    right: dict[str, ShareEstimate]
    shown_gender: ShareEstimate | None
    errors: Counter[str]
    agreement: Agreement
    undecided: int
    unrated: int

    def as_json(self) -> dict[str, Any]:
        """The evaluation as JSON values."""
        shares = {**self.right, **({"any gender": self.shown_gender} if self.shown_gender else {})}
        return {
            "counts": {row: {column: self.counts[row, column] for column in self.columns} for row in self.rows},
            "right": {
                row: {"percent": share.value, "interval": list(share.interval), "n": share.n}
                for row, share in shares.items()
            },
            "errors": dict(self.errors),
            "agreement": self.agreement.as_json(),
            "undecided": self.undecided,
            "unrated": self.unrated,
        }


def gender_units(results: Iterable[tuple[str, SpeakerGender]], language: str) -> list[RatingUnit]:
    """Sentences with what the rules say about the gender of the speaker; each sentence once."""
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


def pair_units(
    translations: Iterable[tuple[str, str]], sentences: Sequence[GestItem], language: str
) -> list[RatingUnit]:
    """Pairs of translations that differ in one word, with what the filter by first letters says about them."""
    found: dict[tuple[str, str], str] = {}
    for male, female in prompted_pairs(translations, sentences, language):
        reason = rejection_reason(male, female)
        if reason != NOT_ONE_WORD:
            found.setdefault((male, female), "accepted" if reason is None else "rejected")
    return [
        RatingUnit(f"{language}-{number}", {"male": male, "female": female}, outcome, FILTERED[outcome], language)
        for number, ((male, female), outcome) in enumerate(found.items(), start=1)
    ]


def draw(units: Sequence[RatingUnit], per_outcome: int, seed: int = 0) -> list[RatingUnit]:
    """As many units of each outcome, at random and in a random order; all of an outcome that has fewer."""
    random = generator("gender sample", str(seed), str(per_outcome))
    chosen: list[RatingUnit] = []
    for label in sorted({unit.label for unit in units}):
        own = [unit for unit in units if unit.label == label]
        chosen += [own[index] for index in sorted(random.permutation(len(own))[:per_outcome])]
    return [chosen[index] for index in random.permutation(len(chosen))]


def write_sample(folder: Path, units: Sequence[RatingUnit], kind: SampleKind) -> None:
    """Write a folder with a sample to rate; its plan last, so that a folder with a plan is complete."""
    if (folder / RATING_FILE).exists():
        raise UsageError(f"{folder} has a sample already; choose another folder.")
    if not units:
        raise UsageError("There is nothing to sample; check the file and the language.")
    make_folder(folder)
    for leftover in folder.glob(f"{RATINGS}*"):  # of a start that was interrupted
        leftover.unlink()
    with RatingStore(folder / RATINGS) as store, store.transaction():
        store.set_units(units)
    write_text(folder / RATING_FILE, _PLANS[kind])


def open_sample(folder: Path) -> Rating:
    """The rating of a sample."""
    plan = read_plan(folder / RATING_FILE)
    if not (folder / RATINGS).is_file():
        raise UsageError(
            f"{folder} has no {RATINGS}, which holds the sample and its ratings; restore it from a backup."
        )
    return Rating(RatingStore(folder / RATINGS), plan)


def evaluate_samples(folders: Sequence[Path]) -> Evaluation:
    """Compare what raters said with the outcomes, of one sample or of several of the same kind together."""
    units: list[tuple[RatingUnit, Mapping[str, int], Mapping[str, int]]] = []
    plans: list[RatingPlan] = []
    rows: list[list[int | None]] = []
    for folder in folders:
        sample = open_sample(folder)
        with sample.store:
            main, errors = sample.steps(sample.plan.tasks[0].name), sample.steps("error")
            plans.append(sample.plan)
            own = sample.store.units()
            units += [(unit, main.get(unit.id, {}), errors.get(unit.id, {})) for unit in own]
            names = sorted({name for given in main.values() for name in given})
            rows += [[main.get(unit.id, {}).get(name) for name in names] for unit in own]
    if len({plan.about for plan in plans}) > 1:
        raise UsageError("The samples are of different kinds; evaluate those of genders and those of pairs apart.")
    return _evaluate(units, plans[0], rows)


def _evaluate(
    units: Sequence[tuple[RatingUnit, Mapping[str, int], Mapping[str, int]]],
    plan: RatingPlan,
    rows: Sequence[Sequence[int | None]],
) -> Evaluation:
    labels = tuple(FILTERED) if plan.about == "pairs" else GENDERS
    columns = plan.tasks[0].steps
    counts = {(row, column): 0 for row in labels for column in columns}
    right: dict[str, list[bool]] = {row: [] for row in labels}
    classes: Counter[str] = Counter()
    undecided = unrated = 0
    for unit, given, errors in units:
        step = majority(list(given.values()))
        if step is None:
            undecided += bool(given)
            unrated += not given
            continue
        counts[unit.label, columns[step - 1]] += 1
        right[unit.label].append(step in unit.fitting)
        if step not in unit.fitting:
            chosen = majority(list(errors.values()))
            classes[plan.tasks[1].steps[chosen - 1] if chosen else "not classified"] += 1
    both = right["masculine"] + right["feminine"] if plan.about != "pairs" else []
    return Evaluation(
        rows=labels,
        columns=columns,
        counts=counts,
        right={row: _share(values) for row, values in right.items() if values},
        shown_gender=_share(both) if both else None,
        errors=classes,
        agreement=krippendorff_alpha(rows, "nominal"),
        undecided=undecided,
        unrated=unrated,
    )


def majority(steps: Sequence[int]) -> int | None:
    """The step that more than half of the raters chose; None if there is none.

    >>> majority([1, 1, 2]), majority([1, 2])
    (1, None)
    """
    if not steps:
        return None
    step, count = Counter(steps).most_common(1)[0]
    return step if 2 * count > len(steps) else None


def _share(values: Sequence[bool]) -> ShareEstimate:
    share = Share.from_values(100.0 * np.array(values, dtype=np.float64))
    return ShareEstimate(share.value, share.interval(), len(values))
