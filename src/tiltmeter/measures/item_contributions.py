"""The contribution of single items to a measure.

`ItemValues` defines the contributions to a measure that is a mean over items. A measure of all items together, such as
a rank correlation, has no such contributions; `build_joint_values` uses leave-one-out influence instead. `Strength` is
how strongly an item shows the preference that the measure counts, for lists of items.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from tiltmeter.errors import UsageError
from tiltmeter.measures.standard_errors import Floats, Labels

Roles = Mapping[str, Floats]
StrengthUnit = Literal["ratio", "difference", "signed", "gender", "choices", "influence"]
# The time for leaving out each item in turn grows with the square of the number of items.
MOST_LEFT_OUT = 5_000


@dataclass(frozen=True, slots=True)
class Strength:
    """How strongly an item shows the preference that a measure counts, from the scores of its roles.

    The units are: the logarithm of the `ratio` of the first two scores, their `difference`, the only score (`signed`),
    the `gender` of a translation (1 masculine, 0 feminine, NaN none), the difference of the shares of `choices`, and
    the leave-one-out `influence` on a measure of all items together. `optional` roles are displayed with an item that
    has scores for them.
    """

    roles: tuple[str, ...]
    unit: StrengthUnit
    optional: tuple[str, ...] = ()

    @property
    def is_graded(self) -> bool:
        """Whether strengths are on a continuous scale, so that items can be ranked by them."""
        return self.unit in ("ratio", "difference", "signed", "influence")

    def choose_unit(self, scores: Floats) -> StrengthUnit:
        """Return the unit for these scores; scores that are not positive are logarithms, which have no ratio."""
        return "difference" if self.unit == "ratio" and bool((scores <= 0).any()) else self.unit

    def compute(self, scores: Roles) -> Floats:
        """Compute the strength of each item, positive if it increases the value of the measure."""
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

    def contributions(roles: Roles) -> Floats:
        return factor * np.array([roles[role]])

    return contributions


def score_preference(first: Floats, second: Floats) -> Floats:
    """Return 100 for each item whose first score is higher, 50 for a tie and 0 otherwise."""
    return 50.0 * ((first > second).astype(np.float64) + (first >= second))


def weigh_difference(labels: Labels, first: str, second: str) -> Floats:
    """Return the weight of each item in the mean over one label minus the mean over another; 0 for other items."""
    is_first, is_second = labels == first, labels == second
    weights: Floats = is_first / max(1, is_first.sum()) - is_second / max(1, is_second.sum())
    return weights


def _list_first_mean(means: Floats) -> list[Floats]:
    return [means[0]]


@dataclass(frozen=True, slots=True)
class ItemValues:
    """The contribution of each item to a measure, for paired comparisons and lists of items.

    `contributions` converts scores by role to an array with a row for each mean in the measure and a column for each
    item. `pieces` converts these means to smooth functions, whose minimum is the measure. `preference`: items
    contribute 0, 50 or 100. `discrete`: items have one of a few outcomes, not a continuous value. `weigh` returns the
    weight of each item from its stratum, the first of `columns`; without it the measure is a plain mean. `strata` is a
    noun for the strata. `sides` is an optional column with the side of a stratum, which is also passed to `weigh`.
    `two_sided`: the measure is the mean of one side minus that of the other, and undefined for items of one side only.
    `clusters` are the columns that may identify clusters of items. `may_be_missing`: items without a contribution are
    allowed. `strengths` are the scales on which items can be listed; the first one whose roles have scores is used.
    `estimate` computes a measure of all items together (`build_joint_values`); `contributions` then takes the columns
    in addition to the roles.
    """

    roles: tuple[str, ...]
    contributions: Callable[[Roles], Floats]
    preference: bool = False
    discrete: bool = True
    pieces: Callable[[Floats], list[Floats]] = _list_first_mean
    columns: tuple[str, ...] = ()
    weigh: Callable[..., Floats] | None = None
    strata: str = "strata"
    sides: str = ""
    two_sided: bool = False
    clusters: tuple[str, ...] = ("template",)
    may_be_missing: bool = False
    strengths: tuple[Strength, ...] = ()
    estimate: Callable[[Roles], float] | None = None

    @property
    def is_mean(self) -> bool:
        """Whether the measure is one weighted mean of the contributions, not a function of several."""
        return self.pieces is _list_first_mean

    @property
    def number_columns(self) -> tuple[str, ...]:
        """The columns of numbers that `contributions` takes in addition to the roles."""
        return self.columns if self.estimate is not None else ()

    def weights(self, labels: Labels, sides: Labels | None = None) -> Floats:
        """Compute the weight of each item from its stratum and, if given, its side."""
        if self.weigh is None:
            return np.full(len(labels), 1 / len(labels))
        return self.weigh(labels) if sides is None else self.weigh(labels, sides)

    def is_defined(self, labels: Labels | None, sides: Labels | None = None) -> bool:
        """Tell whether the measure is defined for items of these strata: with both sides, if it needs both."""
        if not self.two_sided or labels is None:
            return True
        weights = self.weights(labels, sides)
        return bool((weights > 0).any() and (weights < 0).any())


def build_joint_values(
    roles: tuple[str, ...],
    columns: tuple[str, ...],
    estimate: Callable[[Roles], float],
    *,
    clusters: tuple[str, ...] = ("template",),
) -> ItemValues:
    """Build the item values of a measure of all items together, such as a rank correlation.

    `estimate` computes the measure from scores by role and from numeric `columns`. Items contribute their jackknife
    pseudo-values, centred so that their mean is the measure, and are listed by their leave-one-out influence.
    """
    return ItemValues(
        roles,
        partial(_compute_pseudo_values, estimate),
        discrete=False,
        columns=columns,
        clusters=clusters,
        strengths=(Strength(roles, "influence"),),
        estimate=estimate,
    )


def compute_influence(estimate: Callable[[Roles], float], inputs: Roles) -> Floats:
    """Compute the decrease of a measure when each item is left out; 0 if the measure is then undefined.

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
