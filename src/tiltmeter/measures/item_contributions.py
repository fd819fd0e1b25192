"""The contribution of single items to a measure.

`ItemValues` defines the contributions of items to a measure that is a mean over items. A measure of all items together,
such as a rank correlation, is not a mean; for these measures, `build_joint_values` uses leave-one-out influence. Lists
of items are sorted by `Strength`: how strongly an item shows the preference that the measure counts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd

from tiltmeter.errors import UsageError
from tiltmeter.measures.factors import Labels
from tiltmeter.measures.standard_errors import Floats

Roles = Mapping[str, Floats]
StrengthUnit = Literal["ratio", "difference", "signed", "gender", "choices", "influence"]
# Maximum number of items for leave-one-out influence, because its time grows with the square of the number of items.
MOST_LEFT_OUT = 5_000


@dataclass(frozen=True, slots=True)
class Strength:
    """How strongly an item shows the preference that a measure counts, from the scores of its roles.

    The units are:

        ratio        the logarithm of the ratio of the first two scores
        difference   the first score minus the second score
        signed       the score of the only role, whose sign is the direction of the preference
        gender       the gender of a translation: 1 masculine, 0 feminine, NaN none
        choices      the share of choices of the first side minus the share of the second side
        influence    the leave-one-out influence on a measure of all items together

    The scores of `optional` roles are displayed next to an item if the item has them.
    """

    roles: tuple[str, ...]
    unit: StrengthUnit
    optional: tuple[str, ...] = ()

    @property
    def is_graded(self) -> bool:
        """Whether strengths are on a continuous scale, so that items can be ranked by them."""
        return self.unit in ("ratio", "difference", "signed", "influence")

    def choose_unit(self, scores: Floats) -> StrengthUnit:
        """Return the unit for these scores: `difference` instead of `ratio` if a score is not positive."""
        return "difference" if self.unit == "ratio" and bool((scores <= 0).any()) else self.unit

    def compute(self, scores: Roles) -> Floats:
        """Compute the strength of each item; it is positive if the item increases the value of the measure."""
        first = np.asarray(scores[self.roles[0]], dtype=np.float64)
        if self.unit == "gender":
            return np.nan_to_num(2 * first - 1)
        if len(self.roles) == 1:
            return first
        second = np.asarray(scores[self.roles[1]], dtype=np.float64)
        if self.choose_unit(np.concatenate([first, second])) == "ratio":
            return np.asarray(np.log(first) - np.log(second), dtype=np.float64)
        return first - second


def scale_role(role: str, factor: float = 1.0) -> Callable[[Roles], Floats]:
    """Return a function for `ItemValues.contributions` that multiplies the scores of one role by a factor."""

    def compute_contributions(roles: Roles) -> Floats:
        return factor * np.array([roles[role]])

    return compute_contributions


def score_preference(first: Floats, second: Floats) -> Floats:
    """Return 100 for each item whose first score is higher, 50 for a tie and 0 otherwise."""
    return 50.0 * ((first > second).astype(np.float64) + (first >= second))


def weigh_difference(labels: Labels, first: str, second: str) -> Floats:
    """Return the weight of each item in the difference: mean over the label `first` minus mean over the label `second`.

    Items with other labels have a weight of 0.
    """
    is_first, is_second = labels == first, labels == second
    weights: Floats = is_first / max(1, is_first.sum()) - is_second / max(1, is_second.sum())
    return weights


def weigh_levels_equally(labels: Labels) -> Floats:
    """Return the weight of each item; the items with the same label have the same total weight.

    >>> weigh_levels_equally(np.array(["stereotype", "anti-stereotype", "anti-stereotype"], dtype=object)).tolist()
    [0.5, 0.25, 0.25]
    """
    codes, names = pd.factorize(labels)
    return np.asarray(1.0 / (len(names) * np.bincount(codes)[codes]), dtype=np.float64)


def _build_list_of_mean(means: Floats) -> list[Floats]:
    return [means[0]]


@dataclass(frozen=True, slots=True)
class ItemValues:
    """The contribution of each item to a measure, for paired comparisons and lists of items.

    `contributions` is a function. It takes the scores of each role and returns an array with a row for each mean in the
    measure and a column for each item. `pieces` converts these means to smooth functions; the measure is their minimum.
    If `preference` is true, items contribute 0, 50 or 100. If `discrete` is true, items have one of a few outcomes
    instead of a continuous value. `weigh` returns the weight of each item from its stratum, which is in the first of
    `columns`; without `weigh`, the measure is an unweighted mean. `strata` is the plural noun for the strata in texts.
    `sides` is the name of an optional column with the side of each stratum; `weigh` takes the sides too. If `two_sided`
    is true, the measure is the mean of one side minus the mean of the other side, and is not defined if all items are
    of one side. `factors` are the names of columns with factors that items may share (see `factors`). If
    `may_be_missing` is true, items without a contribution are allowed. `strengths` are the scales by which items can be
    sorted; the first scale whose roles have scores is used. `estimate` computes a measure of all items together (see
    `build_joint_values`); in this case, `contributions` takes the numbers of `columns` in addition to the scores.
    """

    roles: tuple[str, ...]
    contributions: Callable[[Roles], Floats]
    preference: bool = False
    discrete: bool = True
    pieces: Callable[[Floats], list[Floats]] = _build_list_of_mean
    columns: tuple[str, ...] = ()
    weigh: Callable[..., Floats] | None = None
    strata: str = "strata"
    sides: str = ""
    two_sided: bool = False
    factors: tuple[str, ...] = ("template",)
    may_be_missing: bool = False
    strengths: tuple[Strength, ...] = ()
    estimate: Callable[[Roles], float] | None = None

    @property
    def is_mean(self) -> bool:
        """Whether the measure is one weighted mean of the contributions, not a function of several means."""
        return self.pieces is _build_list_of_mean

    @property
    def number_columns(self) -> tuple[str, ...]:
        """The names of the numeric columns that `contributions` takes in addition to the scores of roles."""
        return self.columns if self.estimate is not None else ()

    def compute_weights(self, labels: Labels, sides: Labels | None = None) -> Floats:
        """Compute the weight of each item in the measure.

        `labels` are the strata of the items, and `sides` are the sides of these strata, such as women or men.
        """
        if self.weigh is None:
            return np.full(len(labels), 1 / len(labels))
        return self.weigh(labels) if sides is None else self.weigh(labels, sides)

    def is_defined(self, labels: Labels | None, sides: Labels | None = None) -> bool:
        """Tell whether the measure is defined for items of these strata; if `two_sided`, both sides must have items."""
        if not self.two_sided or labels is None:
            return True
        weights = self.compute_weights(labels, sides)
        return bool((weights > 0).any() and (weights < 0).any())


def build_joint_values(
    roles: tuple[str, ...],
    columns: tuple[str, ...],
    estimate: Callable[[Roles], float],
    *,
    factors: tuple[str, ...] = ("template",),
) -> ItemValues:
    """Build the item values of a measure of all items together, such as a rank correlation.

    `estimate` computes the measure from the scores of `roles` and the numbers in `columns`. The contribution of an item
    is its jackknife pseudo-value; pseudo-values are shifted so that their mean is the measure. Lists of items are
    sorted by leave-one-out influence.
    """
    return ItemValues(
        roles,
        partial(_compute_pseudo_values, estimate),
        discrete=False,
        columns=columns,
        factors=factors,
        strengths=(Strength(roles, "influence"),),
        estimate=estimate,
    )


def compute_influence(estimate: Callable[[Roles], float], inputs: Roles) -> Floats:
    """Compute the influence of each item: how much the measure decreases if the item is left out.

    The influence is 0 if the measure is not defined without the item.

    >>> compute_influence(lambda inputs: float(inputs["x"].mean()), {"x": np.array([0.0, 0.0, 3.0])}).tolist()
    [-0.5, -0.5, 1.0]
    """
    n = len(next(iter(inputs.values())))
    if n > MOST_LEFT_OUT:
        raise UsageError(
            f"The influence of single items on a measure of all items together is computed for at most "
            f"{MOST_LEFT_OUT:,} items, but there are {n:,}; measure a sample (--limit {MOST_LEFT_OUT})."
        )
    whole = estimate(inputs)
    without = (estimate({name: np.delete(values, item) for name, values in inputs.items()}) for item in range(n))
    return np.nan_to_num(whole - np.fromiter(without, dtype=np.float64, count=n))


def _compute_pseudo_values(estimate: Callable[[Roles], float], inputs: Roles) -> Floats:
    influence = compute_influence(estimate, inputs)
    return np.array([estimate(inputs) + (len(influence) - 1) * (influence - influence.mean())])
