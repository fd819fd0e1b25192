"""Standard errors of means over items, with and without clusters.

Items about the same target term, or made from the same template, are correlated. Two standard errors are computed, one
for independent items and a cluster-robust one (CR1, Liang and Zeger 1986); the larger one is used. The cluster-robust
standard error is uncertain with few clusters, so tests use Student's t with G - 1 degrees of freedom for G clusters.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.object_]

# Variances below this number are rounding errors and count as zero.
_ROUNDING = 1e-24


@dataclass(frozen=True, slots=True)
class StandardError:
    """A standard error with its degrees of freedom.

    `clusters` is the number of clusters; it is None for independent items. `design_effect` is the variance divided by
    the variance that independent items would have.
    """

    value: float
    df: float
    clusters: int | None = None
    design_effect: float = 1.0


def compute_standard_error(
    influence: Floats, clusters: Labels | None = None, strata: Labels | None = None
) -> StandardError:
    """Compute the standard error of an estimate from the influence of each item.

    For a plain mean of n values the influence of an item is (value - mean) / n. With `strata`, such as the sixteen
    stereotypes of GEST, items are sampled within strata, and the degrees of freedom are Welch-Satterthwaite's.

    >>> values = np.array([2.0, 4.0, 4.0, 6.0])
    >>> compute_standard_error((values - values.mean()) / 4)
    StandardError(value=0.816496580927726, df=3, clusters=None, design_effect=1.0)
    >>> compute_standard_error((values - values.mean()) / 4, np.array(["a", "a", "b", "b"], dtype=object)).clusters
    2
    """
    independent = _compute_strata_variance(influence, strata)
    if clusters is None:
        return StandardError(float(np.sqrt(independent[0])), independent[1])
    codes, names = pd.factorize(clusters)
    if len(names) < 2:
        return StandardError(float(np.sqrt(independent[0])), 1, len(names))
    sums = np.bincount(codes, influence).astype(np.float64)
    if strata is None:
        clustered = _compute_strata_variance(sums, None)
    else:
        # A cluster is assigned to the stratum of its first item.
        firsts = np.unique(codes, return_index=True)[1]
        clustered = _compute_strata_variance(sums, strata[firsts])
    variance = max(independent[0], clustered[0])
    design_effect = variance / independent[0] if independent[0] > 0 else 1.0
    return StandardError(float(np.sqrt(variance)), clustered[1], len(names), float(design_effect))


def _compute_strata_variance(influence: Floats, strata: Labels | None) -> tuple[float, float]:
    """Return the variance of the sum of influences, and its degrees of freedom.

    With strata, deviations are computed from the mean influence of each stratum.
    """
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
    df = total**2 / float(np.sum(variances[several] ** 2 / (sizes[several] - 1)))
    return total, df
