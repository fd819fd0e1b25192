"""The accuracy of the rules for the speaker's gender and of the filter of gendered pairs, estimated from rated samples.

A unit is a sentence or a pair to rate. The outcomes of the rules are masculine, feminine and none. The outcomes of the
filter are accepted and rejected. A sample has the same number of units for each outcome. The overall accuracy is a
stratified estimate: the mean of the accuracies of the outcomes, weighted by the frequency of each outcome in the data.
Each outcome of each sample is one stratum.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tiltmeter.errors import UsageError
from tiltmeter.making.rating.gender_sample import FILTERED, GENDERS, open_sample
from tiltmeter.making.rating.rating_plan import RatingPlan
from tiltmeter.making.rating.rating_tables import RatingUnit
from tiltmeter.making.reliability import Agreement, compute_krippendorff_alpha
from tiltmeter.measures.bootstrap import Interval
from tiltmeter.measures.estimates import Share, WeightedShares

NO_POPULATION = "the frequency of the outcomes in the data is unknown: rating.toml has no [population]"
NONE_FOUND = "the rules found no gender, or the filter accepted no pair"


@dataclass(frozen=True, slots=True)
class ShareEstimate:
    """A share in percent with its 95% interval and the number of rated units (`n`)."""

    value: float
    interval: Interval
    n: int

    def to_json(self) -> dict[str, Any]:
        """Return the estimate as JSON values."""
        return {"percent": self.value, "interval": list(self.interval), "n": self.n}

    def __str__(self) -> str:
        return f"{self.value:.1f}% [{self.interval[0]:.1f}, {self.interval[1]:.1f}] of {self.n:,}"


@dataclass(frozen=True, slots=True)
class GenderEvaluation:
    """A confusion matrix with outcomes as rows and ratings as columns (`counts`), and estimates from the matrix.

    `about` is "gender" or "pairs". `right` is the share of correct units of each outcome. `shown_gender` is the share
    of correct units of the outcomes masculine and feminine together. `overall` is the share of correct units in the
    data. `gain` for the rules: how many more sentences would have a gender if the rules found every gender, in percent.
    `gain` for the filter: the increase in the share of correct pairs, in percentage points. `reason` explains why
    `overall` or `gain` is None. `errors` counts the reasons that raters gave for wrong outcomes. `undecided` is the
    number of rated units without a majority, and `unrated` is the number of units without a rating.
    """

    about: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: dict[tuple[str, str], int]
    right: dict[str, ShareEstimate]
    shown_gender: ShareEstimate | None
    overall: ShareEstimate | None
    gain: ShareEstimate | None
    reason: str
    errors: Counter[str]
    agreement: Agreement
    undecided: int
    unrated: int

    def to_json(self) -> dict[str, Any]:
        """Return the evaluation as JSON values."""
        shares = {**self.right, **({"any gender": self.shown_gender} if self.shown_gender else {})}
        return {
            "counts": {row: {column: self.counts[row, column] for column in self.columns} for row in self.rows},
            "right": {row: share.to_json() for row, share in shares.items()},
            "overall": self.overall.to_json() if self.overall else None,
            "gain": self.gain.to_json() if self.gain else None,
            "reason": self.reason,
            "errors": dict(self.errors),
            "agreement": self.agreement.to_json(),
            "undecided": self.undecided,
            "unrated": self.unrated,
        }


@dataclass(slots=True)
class Stratum:
    """An outcome in one sample: its frequency in the data (`population`), and its numbers of rated and correct units.

    `right` is the number of correct units.
    """

    outcome: str
    population: int
    rated: int = 0
    right: int = 0

    @property
    def missed_count(self) -> int:
        """The number of rated units that are not correct."""
        return self.rated - self.right


def evaluate_samples(folders: Sequence[Path]) -> GenderEvaluation:
    """Compare the ratings of samples with the outcomes of the gender rules or of the pair filter.

    All samples must be of the same kind: sentences or pairs.
    """
    samples: list[_Sample] = []
    for folder in folders:
        sample = open_sample(folder)
        with sample.store:
            main, errors = sample.get_chosen_steps(sample.plan.tasks[0].name), sample.get_chosen_steps("error")
            own = sample.store.list_units()
            units = [(unit, main.get(unit.id, {}), errors.get(unit.id, {})) for unit in own]
            names = sorted({name for given in main.values() for name in given})
            rows = [[main.get(unit.id, {}).get(name) for name in names] for unit in own]
            samples.append(_Sample(sample.plan, units, rows))
    if len({sample.plan.about for sample in samples}) > 1:
        raise UsageError("The samples are of different kinds; evaluate samples of genders and of pairs separately.")
    return _evaluate_samples(samples)


@dataclass(frozen=True, slots=True)
class _Sample:
    plan: RatingPlan
    units: Sequence[tuple[RatingUnit, Mapping[str, int], Mapping[str, int]]]
    rows: list[list[int | None]]


def _evaluate_samples(samples: Sequence[_Sample]) -> GenderEvaluation:
    plan = samples[0].plan
    labels = tuple(FILTERED) if plan.about == "pairs" else GENDERS
    columns = plan.tasks[0].steps
    counts = {(row, column): 0 for row in labels for column in columns}
    classes: Counter[str] = Counter()
    strata: list[Stratum] = []
    undecided = unrated = 0
    for sample in samples:
        own = {label: Stratum(label, sample.plan.population.get(label, 0)) for label in labels}
        strata += own.values()
        for unit, given, errors in sample.units:
            step = find_majority(list(given.values()))
            if step is None:
                undecided += bool(given)
                unrated += not given
                continue
            counts[unit.label, columns[step - 1]] += 1
            own[unit.label].rated += 1
            own[unit.label].right += step in unit.fitting
            if step not in unit.fitting:
                chosen = find_majority(list(errors.values()))
                classes[plan.tasks[1].steps[chosen - 1] if chosen else "not classified"] += 1
    right = {label: _estimate_share(stratum for stratum in strata if stratum.outcome == label) for label in labels}
    is_known = all(sample.plan.population for sample in samples)
    reason = _explain_unknown(strata) if is_known else NO_POPULATION
    gain = (estimate_filter_gain if plan.about == "pairs" else estimate_rules_gain)(strata) if not reason else None
    return GenderEvaluation(
        about=plan.about,
        rows=labels,
        columns=columns,
        counts=counts,
        right={row: share for row, share in right.items() if share},
        shown_gender=_estimate_share(stratum for stratum in strata if stratum.outcome in ("masculine", "feminine")),
        overall=None if reason else estimate_accuracy(strata),
        gain=gain,
        reason=reason or ("" if gain else NONE_FOUND),
        errors=classes,
        agreement=compute_krippendorff_alpha([row for sample in samples for row in sample.rows], "nominal"),
        undecided=undecided,
        unrated=unrated,
    )


def _explain_unknown(strata: Sequence[Stratum]) -> str:
    """Return the reason why the overall accuracy cannot be estimated; an empty text if it can be estimated."""
    unrated = [stratum for stratum in strata if stratum.population and not stratum.rated]
    if unrated:
        return f"no unit of the outcome {unrated[0].outcome!r} is rated; the data has {unrated[0].population:,}"
    return "" if any(stratum.population for stratum in strata) else NO_POPULATION


def estimate_accuracy(strata: Sequence[Stratum]) -> ShareEstimate:
    """Estimate the share of units in the data whose outcome is correct, in percent.

    >>> strata = [Stratum("masculine", 800, 100, 99), Stratum("none", 200, 100, 80)]
    >>> print(estimate_accuracy(strata))
    95.2% [91.2, 97.4] of 200
    """
    known = [stratum for stratum in strata if stratum.population]
    total = sum(stratum.population for stratum in known)
    return _sum_weighted([(stratum, stratum.population / total, stratum.right) for stratum in known])


def estimate_rules_gain(strata: Sequence[Stratum]) -> ShareEstimate | None:
    """Estimate how many more sentences would have a gender if the rules found every gender.

    The result is in percent of the sentences in which the rules found a gender; None if there are no such sentences.

    >>> print(estimate_rules_gain([Stratum("masculine", 800, 100, 99), Stratum("none", 200, 100, 80)]))
    5.0% [3.0, 7.2] of 100
    """
    found = sum(stratum.population for stratum in strata if stratum.outcome != "none")
    missing = [stratum for stratum in strata if stratum.outcome == "none" and stratum.population]
    if not found:
        return None
    return _sum_weighted([(stratum, stratum.population / found, stratum.missed_count) for stratum in missing])


def estimate_filter_gain(strata: Sequence[Stratum]) -> ShareEstimate | None:
    """Estimate by how many percentage points the filter increases the share of correct pairs.

    >>> print(estimate_filter_gain([Stratum("accepted", 750, 80, 79), Stratum("rejected", 250, 80, 80)]))
    24.7% [22.9, 25.0] of 160
    """
    total = sum(stratum.population for stratum in strata)
    accepted = sum(stratum.population for stratum in strata if stratum.outcome == "accepted")
    if not accepted:
        return None
    parts = []
    for stratum in strata:
        if not stratum.population:
            continue
        share = stratum.population / total
        if stratum.outcome == "accepted":
            parts.append((stratum, stratum.population / accepted - share, stratum.right))
        else:
            parts.append((stratum, -share, stratum.missed_count))
    return _sum_weighted(parts)


def _sum_weighted(parts: Sequence[tuple[Stratum, float, int]]) -> ShareEstimate:
    """Return the weighted sum of shares of rated units, in percent.

    Each part has a stratum, the weight of its share, and the number of units in the numerator of the share.
    """
    if not parts:
        return ShareEstimate(0.0, (0.0, 0.0), 0)
    weights = np.array([weight for _, weight, _ in parts])
    counts = np.array([count for _, _, count in parts], dtype=np.float64)
    sizes = np.array([stratum.rated for stratum, _, _ in parts], dtype=np.float64)
    rates = WeightedShares(weights, counts, sizes)
    lowest, highest = float(weights[weights < 0].sum()), float(weights[weights > 0].sum())
    low, high = rates.interval()
    interval = (100 * max(low, lowest), 100 * min(high, highest))
    return ShareEstimate(100 * rates.value, interval, int(sizes.sum()))


def find_majority(steps: Sequence[int]) -> int | None:
    """Return the step of the scale that more than half of the raters chose, or None if there is no majority.

    >>> find_majority([1, 1, 2]), find_majority([1, 2])
    (1, None)
    """
    if not steps:
        return None
    step, count = Counter(steps).most_common(1)[0]
    return step if 2 * count > len(steps) else None


def _estimate_share(strata: Iterable[Stratum]) -> ShareEstimate | None:
    """Return the share of rated units of all strata that are correct; None if no unit is rated."""
    own = list(strata)
    rated, right = sum(stratum.rated for stratum in own), sum(stratum.right for stratum in own)
    if not rated:
        return None
    share = Share.from_values(100.0 * np.array([1] * right + [0] * (rated - right), dtype=np.float64))
    return ShareEstimate(share.value, share.interval(), rated)
