"""Confidence intervals of ranks, from pairwise comparisons of groups.

The lower end of the interval of a group's rank is 1 plus the number of groups that are significantly below the group.
The upper end is the number of all groups minus the number of groups that are significantly above it (Klein, Wright and
Wieczorek 2020; Mogstad, Romano, Shaikh and Wilhelm 2024). The interval does not contain the true rank only if one of
these comparisons is a false positive. The comparisons are one-sided tests at 5% divided by the number of other groups
(Bonferroni), so the interval contains the true rank with a probability of at least 95%. Percentile bootstrap intervals
of ranks are too narrow if groups hardly differ.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from tiltmeter.measures.estimates import LEVEL, Interval, Mean, WeightedShares
from tiltmeter.measures.standard_errors import Floats

# A square matrix; element (i, j) is true if group i is significantly below group j.
BelowMatrix = NDArray[np.bool_]


def compute_average_ranks(values: Floats) -> Floats:
    """Return the ranks of values; the lowest has rank 1, and equal values share the mean of their ranks.

    >>> compute_average_ranks(np.array([0.3, 0.1, 0.3])).tolist()
    [2.5, 1.0, 2.5]
    """
    ranks: Floats = np.asarray(pd.Series(values).rank(), dtype=np.float64)
    return ranks


def compute_comparison_level(groups: int, rankings: int = 1) -> float:
    """Return the one-sided level of each comparison, corrected (Bonferroni) for `groups` - 1 other groups.

    If the mean rank over several `rankings` is computed, the level is corrected for their number too.

    >>> round(compute_comparison_level(16), 5)
    0.00333
    """
    return (1 - LEVEL) / max(1, groups - 1) / rankings


def compare_means(estimates: Sequence[Mean], level: float) -> BelowMatrix:
    """Tell for each pair of means whether the first is significantly below the second (one-sided Welch t-test).

    >>> apart = [Mean.from_values(np.array(values)) for values in ([0.0, 0.1, 0.2], [5.0, 5.1, 5.2])]
    >>> compare_means(apart, 0.025).tolist()
    [[False, True], [False, False]]
    """
    means = np.array([mean.value for mean in estimates])
    errors = np.array([mean.standard_error.value for mean in estimates])
    # If one of two groups has no variance, their comparison is never significant.
    squares = np.where(errors > 0, errors**2, np.inf)
    mean_dfs = np.array([max(1.0, mean.standard_error.df) for mean in estimates])
    total = squares[:, np.newaxis] + squares
    with np.errstate(invalid="ignore", divide="ignore"):
        df = total**2 / (squares[:, np.newaxis] ** 2 / mean_dfs[:, np.newaxis] + squares**2 / mean_dfs)
        critical = np.where(np.isfinite(df), -stdtrit(df, level), 0.0) * np.sqrt(total)
    below: BelowMatrix = means[:, np.newaxis] + critical < means
    return below


def compare_shares(counts: Floats, sizes: Floats, level: float) -> BelowMatrix:
    """Tell for each pair of shares whether the first is significantly below the second.

    The test uses the interval of the difference of both shares (`WeightedShares`).

    >>> compare_shares(np.array([2.0, 90.0]), np.array([100.0, 100.0]), 0.025).tolist()
    [[False, True], [False, False]]
    """
    below = np.zeros((len(counts), len(counts)), dtype=np.bool_)
    shares = counts / np.maximum(1.0, sizes)
    for low, high in zip(*np.nonzero(shares[:, np.newaxis] < shares), strict=True):
        pair = [high, low]
        if sizes[pair].min() > 0:
            difference = WeightedShares(np.array([1.0, -1.0]), counts[pair], sizes[pair])
            below[low, high] = difference.interval(1 - 2 * level)[0] > 0
    return below


def compute_rank_intervals(below: Sequence[BelowMatrix], values: Sequence[Floats]) -> list[Interval]:
    """Return the interval of each group's rank, or of its mean rank over several rankings.

    `below` has a matrix of significant comparisons for each ranking, `values` the ranked values of the groups. A
    comparison that contradicts the order of the values is ignored. This can happen with Agresti-Coull centres of groups
    of very different sizes.

    >>> compute_rank_intervals([np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]], dtype=bool)], [np.array([0.1, 0.5, 0.6])])
    [(1.0, 1.0), (2.0, 3.0), (2.0, 3.0)]
    """
    lows, highs = [], []
    for comparisons, ranked in zip(below, values, strict=True):
        agreed = comparisons & (ranked[:, np.newaxis] < ranked)
        lows.append(1.0 + agreed.sum(axis=0))
        highs.append(len(ranked) - agreed.sum(axis=1).astype(np.float64))
    return list(zip(np.mean(lows, axis=0).tolist(), np.mean(highs, axis=0).tolist(), strict=True))
