"""Estimates for the choices of chat models: the position effect and the masculine choice gap.

The masculine choice gap is the mean over stereotypes about men minus the mean over stereotypes about women.
"""

import numpy as np
import pandas as pd

from tiltmeter.measures.estimates import LEVEL, Interval, Mean, Share, WeightedShares
from tiltmeter.measures.factors import Factors, Labels
from tiltmeter.measures.standard_errors import Floats, compute_standard_error
from tiltmeter.measures.stereotype_sides import (
    MASCULINE,
    compute_random_error,
    find_stereotype_sides,
    weigh_by_stereotype,
    weigh_sides,
)


def estimate_position_effect(places: Floats, factors: Factors | None) -> tuple[float, Interval]:
    """Return the position effect and its interval.

    The effect is 0 if all positions are chosen equally often, and 100 if one position is always chosen. `places` has a
    row for each item and a column with the share of choices for each position of an option. The interval is corrected
    (Bonferroni), because the position with the maximum share is selected from the same data.
    """
    number = places.shape[1]
    even = 100.0 / number

    def scale_share(share: float) -> float:
        return max(0.0, float((share - even) / (100.0 - even) * 100.0))

    estimate = Share.from_values(100.0 * places[:, int(np.argmax(places.mean(axis=0)))], factors)
    low, high = estimate.interval(1 - (1 - LEVEL) * 2 / number)
    return scale_share(estimate.value), (scale_share(low), scale_share(high))


def estimate_fixed_gap(
    values: Floats, stereotypes: Labels, sides: Labels | None = None, factors: Factors | None = None
) -> Mean | WeightedShares:
    """Estimate the mean over stereotypes about men minus the mean over those about women, for fixed stereotypes.

    Stereotypes are strata: only the sentences of each stereotype are a sample. If a stereotype has only one sentence,
    the two sides (men, women) are the strata instead. If the sentences of each stereotype have equal values, the
    interval depends only on the number of sentences.
    """
    weights = weigh_by_stereotype(stereotypes, sides)
    sizes = pd.Series(stereotypes).value_counts()
    strata = stereotypes
    if int(sizes.min()) < 2:
        strata = np.where(weights > 0, "men", "women").astype(object)
        weights = np.array([1.0 if side == "men" else -1.0 for side in strata])
        weights /= np.array([(strata == side).sum() for side in strata])
    means = pd.Series(values).groupby(strata).transform("mean").to_numpy(dtype=float)
    error = compute_standard_error(weights * (values - means), factors, strata)
    if error.value:
        return Mean(float(values @ weights), error)
    groups = pd.DataFrame({"weight": 100.0 * weights, "count": values / 100.0}).groupby(strata)
    return WeightedShares(
        groups["weight"].sum().to_numpy(dtype=float),
        groups["count"].sum().to_numpy(dtype=float),
        groups.size().to_numpy().astype(np.float64),
    )


def estimate_random_gap(values: Floats, stereotypes: Labels, sides: Labels | None = None) -> Mean | None:
    """Estimate the mean over stereotypes about men minus the mean over those about women, for other stereotypes too.

    The stereotypes are treated as a random sample. Return None if there are too few or if their values do not vary.
    """
    means = pd.Series(values).groupby(stereotypes).mean()
    known = find_stereotype_sides(stereotypes, sides)
    is_male = np.array([known[int(number)] == MASCULINE for number in means.index])
    rates = np.asarray(means, dtype=np.float64)
    error = compute_random_error(rates, is_male)
    return Mean(float(rates @ weigh_sides(is_male, 1.0, -1.0)), error) if error else None
