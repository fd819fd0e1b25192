"""Error rates of verdicts on a change of a model: false "helped", false "made worse", and non-inferiority of quality.

A model is measured before and after a change on two languages of a benchmark like StereoSet, with two parts, four bias
types, target terms and words. One language is the target. Preferences follow a probit model with normal effects of
targets and words. The change has random effects of single items, targets or words; their mean is 0 unless there is a
true change.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from perf.simulations.comparisons import quantity
from perf.simulations.runner import Rng, Setting, Simulate, Table, each
from perf.simulations.structures import Structure, draw_effects, make_words
from tiltmeter.comparing.change_assessment import decide_change
from tiltmeter.comparing.change_rows import MeasuredChange, build_rows, select_judged_changes
from tiltmeter.comparing.model_change import AFTER, BEFORE, ChangeRow
from tiltmeter.comparing.paired_difference import Difference, Side, correct_test_families, mark_contradictions
from tiltmeter.measures.contrasts import compute_contrast
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.records import OVERALL
from tiltmeter.measures.standard_errors import Floats

LANGUAGES, PARTS, TYPES = ("en", "de"), ("intrasentence", "intersentence"), ("gender", "profession", "race", "religion")
HELPED, WORSE, HARMED, KEPT = "helped", "made worse", "harmed elsewhere", "loss beyond the margin excluded"
# Standard deviations of the effects of a change, and those of the model before it.
_CHANGE, _BEFORE = 0.4, {"target": 0.2, "stereotype_word": 0.2}

TABLES = (
    Table(
        "changes",
        "Changes without a true effect: false verdicts",
        ("items per part", "SS", "the change varies between"),
        (HELPED, WORSE, HARMED),
    ),
    Table(
        "change power",
        "Changes with a true effect: verdicts",
        ("items per part", "SS of the target before and after", "SS elsewhere before and after"),
        (HELPED, WORSE, HARMED),
    ),
    Table(
        "quality",
        "LMS with and without a true loss: how often a loss of more than the margin is excluded",
        ("items per part", "loss", "margin"),
        (KEPT,),
    ),
)


@dataclass(frozen=True)
class Truth:
    """The true SS (0 to 1) of the target and elsewhere, before and after, and the true loss of LMS.

    `effects` are the standard deviations of the effects of the change on the items of each cluster.
    """

    target: tuple[float, float] = (0.57, 0.57)
    elsewhere: tuple[float, float] = (0.57, 0.57)
    loss: float = 0.0
    margin: float = 1.0
    effects: Mapping[str, float] = field(default_factory=dict)


@cache
def build_items(n: int) -> tuple[Structure, np.ndarray]:
    """Return the items of two parts with n items each, and their bias types, which depend on the target."""
    structure = make_words(2 * n)
    return structure, np.array(TYPES, dtype=object)[structure.codes["target"] % len(TYPES)]


def draw_sides(
    rng: Rng, structure: Structure, means: tuple[float, float], effects: Mapping[str, float], same: float = 0.7
) -> tuple[Floats, Floats]:
    """Return the preferences (0 or 100) before and after; a share `same` of the items has the same random number."""
    shared, changed = draw_effects(rng, structure, _BEFORE), draw_effects(rng, structure, effects)
    scales = [math.sqrt(1 + sum(sd**2 for sd in (*_BEFORE.values(), *added))) for added in ((), effects.values())]
    uniform = rng.random((2, structure.n))
    uniform[1] = np.where(rng.random(structure.n) < same, uniform[0], uniform[1])
    latent = (scales[0] * ndtri(means[0]) + shared, scales[1] * ndtri(means[1]) + shared + changed)
    before, after = (100.0 * (drawn < ndtr(value)) for drawn, value in zip(uniform, latent, strict=True))
    return before, after


def compare_items(
    measured: Quantity, sides: tuple[Floats, Floats], structure: Structure, rows: np.ndarray, language: str, part: str
) -> Difference:
    """Return the difference between after and before on these items."""
    before, after = (side[rows][np.newaxis] for side in sides)
    factors = structure.factors.select_rows(np.flatnonzero(rows))
    contrast = compute_contrast(measured, after, before, factors=factors)
    cells: list[Any] = [SimpleNamespace(run=name, key=(name, language, part)) for name in (AFTER, BEFORE)]
    return Difference(
        subject=f"made:{language}",
        benchmark="made",
        part=part,
        left=Side(AFTER, cells[0]),
        right=Side(BEFORE, cells[1]),
        quantity=measured,
        contrast=contrast,
        items=pd.Index(np.flatnonzero(rows)),
        only_left=0,
        only_right=0,
    )


def measure(
    measured: Quantity, sides: tuple[Floats, Floats], n: int, language: str, bias_type: str = ""
) -> list[MeasuredChange]:
    """Return the changes over both parts and, for SS of all items, in each part."""
    structure, types = build_items(n)
    chosen = types == bias_type if bias_type else np.ones(2 * n, dtype=bool)
    first = np.arange(2 * n) < n
    rows = {OVERALL: chosen}
    if not bias_type and measured.name == "SS":
        rows |= {PARTS[0]: first, PARTS[1]: ~first}
    differences = [compare_items(measured, sides, structure, mask, language, part) for part, mask in rows.items()]
    marked = mark_contradictions(correct_test_families(differences))
    return [MeasuredChange({"bias_type": bias_type} if bias_type else {}, difference) for difference in marked]


def draw_rows(rng: Rng, n: int, truth: Truth) -> list[ChangeRow]:
    """Return the rows of a comparison before and after a change, as `tiltmeter compare` builds them."""
    structure, _ = build_items(n)
    targets: list[MeasuredChange] = []
    others: list[MeasuredChange] = []
    qualities: list[MeasuredChange] = []
    for language in LANGUAGES:
        means = truth.target if language == LANGUAGES[0] else truth.elsewhere
        sides = draw_sides(rng, structure, means, dict(truth.effects))
        found = measure(quantity("SS"), sides, n, language)
        judged = select_judged_changes(found)
        listed = [*judged, *(change for change in found if change.difference.part != OVERALL)]
        for bias_type in TYPES:
            listed += measure(quantity("SS"), sides, n, language, bias_type)
        if language == LANGUAGES[0]:
            targets = judged
        others += [change for change in listed if not any(change is target for target in targets)]
        lms = [draw_sides(rng, structure, (0.85, 0.85 - truth.loss), dict(truth.effects), 0.9) for _ in range(2)]
        before, after = ((one + other) / 2 for one, other in zip(*lms, strict=True))
        qualities += measure(quantity("LMS"), (before, after), n, language)
    return build_rows(targets, others, qualities, truth.margin)


def verdicts(n: int, truth: Truth) -> Simulate:
    """Simulate the verdicts on a change."""

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        rows = draw_rows(rng, n, truth)
        verdict = decide_change(rows)
        return {
            HELPED: verdict.startswith("helped"),
            WORSE: verdict == "made worse",
            HARMED: any(row.outcome == "farther" for row in rows if row.role != "target"),
        }

    return each(draw_and_count)


def non_inferiority(n: int, truth: Truth) -> Simulate:
    """Simulate how often a loss of LMS of more than the margin is excluded, in the target language."""
    structure, _ = build_items(n)

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        lms = [draw_sides(rng, structure, (0.85, 0.85 - truth.loss), dict(truth.effects), 0.9) for _ in range(2)]
        before, after = ((one + other) / 2 for one, other in zip(*lms, strict=True))
        rows = build_rows([], [], measure(quantity("LMS"), (before, after), n, LANGUAGES[0]), truth.margin)
        return {KEPT: all(row.outcome in ("not worse", "identical", "closer") for row in rows)}

    return each(draw_and_count)


def settings(sizes: Sequence[int] = (100, 400)) -> Iterator[Setting]:
    """Yield all settings."""
    nulls: dict[str, dict[str, float]] = {
        "single items": {},
        "targets": {"target": _CHANGE},
        "words": {"stereotype_word": _CHANGE},
    }
    for n in sizes:
        for mean in (0.5, 0.57):
            for name, effects in nulls.items():
                truth = Truth((mean, mean), (mean, mean), effects=effects)
                yield Setting("changes", (f"{n:,}", f"{100 * mean:g}", name), verdicts(n, truth))
        for target, elsewhere in (((0.6, 0.5), (0.57, 0.57)), ((0.6, 0.5), (0.55, 0.65)), ((0.55, 0.65), (0.57, 0.57))):
            row = (f"{n:,}", *(f"{100 * pair[0]:g} → {100 * pair[1]:g}" for pair in (target, elsewhere)))
            yield Setting("change power", row, verdicts(n, Truth(target, elsewhere, effects={})))
        for loss, margin in ((0.01, 1.0), (0.03, 3.0), (0.0, 1.0), (0.0, 3.0)):
            for name, effects in nulls.items():
                row = (f"{n:,}", f"{100 * loss:g}", f"{margin:g}", name)
                yield Setting("quality", row, non_inferiority(n, Truth(loss=loss, margin=margin, effects=effects)))
