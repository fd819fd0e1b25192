"""Standard errors of means over items, with and without clusters.

Items about the same target term, or made from the same template, are not independent draws: a model that leans in one
tends to lean in the others. The standard error is therefore the larger of two: the one for independent items and the
one for clusters (CR1, Liang and Zeger 1986). With few clusters the second is itself uncertain, so tests use Student's t
with one degree of freedom less than there are clusters.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.object_]

# A variance below this is what rounding leaves of none.
_ROUNDING = 1e-24


@dataclass(frozen=True, slots=True)
class Spread:
    """A standard error with its degrees of freedom.

    `clusters` is None where items count as independent. `inflation` is how many times larger the variance is than for
    independent items: 1 where the clusters make no difference.
    """

    error: float
    freedom: float
    clusters: int | None = None
    inflation: float = 1.0


def spread(influence: Floats, clusters: Labels | None = None, strata: Labels | None = None) -> Spread:
    """The standard error of an estimate from what each item contributes to its deviation from the truth.

    For a plain mean of n values the influence of an item is (value - mean) / n. Within `strata`, such as the sixteen
    stereotypes of GEST, items are drawn apart from each other, and the degrees of freedom are those of Welch and
    Satterthwaite.

    >>> values = np.array([2.0, 4.0, 4.0, 6.0])
    >>> spread((values - values.mean()) / 4)
    Spread(error=0.816496580927726, freedom=3, clusters=None, inflation=1.0)
    >>> spread((values - values.mean()) / 4, np.array(["a", "a", "b", "b"], dtype=object)).clusters
    2
    """
    independent = _strata_variance(influence, strata)
    if clusters is None:
        return Spread(float(np.sqrt(independent[0])), independent[1])
    codes, names = pd.factorize(clusters)
    if len(names) < 2:
        return Spread(float(np.sqrt(independent[0])), 1, len(names))
    sums = np.bincount(codes, influence).astype(np.float64)
    if strata is None:
        clustered = _strata_variance(sums, None)
    else:
        # A cluster belongs to the stratum of its first item.
        firsts = np.unique(codes, return_index=True)[1]
        clustered = _strata_variance(sums, strata[firsts])
    variance = max(independent[0], clustered[0])
    inflation = variance / independent[0] if independent[0] > 0 else 1.0
    return Spread(float(np.sqrt(variance)), clustered[1], len(names), float(inflation))


def _strata_variance(influence: Floats, strata: Labels | None) -> tuple[float, float]:
    """The variance of a sum over draws, and its degrees of freedom; draws of one stratum have a common mean."""
    if strata is None:
        n = len(influence)
        if n < 2:
            return 0.0, 1
        centred = influence - influence.mean()
        variance = float(n / (n - 1) * np.sum(centred**2))
        return variance if variance > _ROUNDING else 0.0, n - 1
    codes, names = pd.factorize(strata)
    sizes = np.bincount(codes).astype(float)
    means = np.bincount(codes, influence) / sizes
    squares = np.bincount(codes, (influence - means[codes]) ** 2)
    several = sizes > 1
    variances = np.zeros(len(names))
    variances[several] = sizes[several] / (sizes[several] - 1) * squares[several]
    total = float(variances.sum())
    if total <= _ROUNDING:
        return 0.0, max(1.0, float(sizes.sum()) - len(names))
    freedom = total**2 / float(np.sum(variances[several] ** 2 / (sizes[several] - 1)))
    return total, freedom
