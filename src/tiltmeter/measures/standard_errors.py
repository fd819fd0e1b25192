"""Standard errors of means over items that share factors.

Items about the same target term, with the same word, or made from the same template are correlated (see `factors`). The
variance is the largest of

- the variance for independent items,
- the cluster-robust variance for each factor (CR1, Liang and Zeger 1986),
- the variance for all factors together: variances of single factors and of intersections of an odd number of factors,
  minus those of intersections of an even number (Cameron, Gelbach and Miller 2011).

docs/evidence/verdicts.md compares this rule with others on released predictions. A cluster-robust variance is uncertain
with few clusters or clusters of very different sizes, so tests use Student's t. The degrees of freedom are the
effective number of clusters minus 1, for the factor with the largest variance.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiltmeter.measures.factors import Codes, Factors, Labels

Floats = NDArray[np.float64]

# The variance of a factor with fewer clusters is unknown, so no verdict generalises over it.
FEWEST_CLUSTERS = 5
# Variances below this number are rounding errors and count as zero.
_ROUNDING = 1e-24


@dataclass(frozen=True, slots=True)
class StandardError:
    """A standard error with its degrees of freedom.

    `factor` is the name of the factor with the largest standard error, or of a factor with too few clusters; it is
    empty if items count as independent. `clusters` is the number of clusters of this factor; it is None if items have
    no factors. `design_effect` is the variance divided by the variance that independent items would have.
    """

    value: float
    df: float
    clusters: int | None = None
    design_effect: float = 1.0
    factor: str = ""


def compute_standard_error(
    influence: Floats, factors: Factors | None = None, strata: Labels | None = None
) -> StandardError:
    """Compute the standard error of an estimate from the influence of each item.

    For a plain mean of n values the influence of an item is (value - mean) / n. With `strata`, such as the sixteen
    stereotypes of GEST, items are sampled within strata, and the degrees of freedom are Welch-Satterthwaite's.

    >>> values = np.array([2.0, 4.0, 4.0, 6.0])
    >>> compute_standard_error((values - values.mean()) / 4)
    StandardError(value=0.816496580927726, df=3, clusters=None, design_effect=1.0, factor='')
    >>> target = Factors.from_labels({"target": np.array(["a", "a", "b", "b"], dtype=object)})
    >>> compute_standard_error((values - values.mean()) / 4, target).clusters
    2
    """
    variance, df = _compute_strata_variance(influence, strata)
    independent = StandardError(float(np.sqrt(variance)), df)
    if factors is None or not factors.are_shared():
        return independent
    groupings = {
        names: _compute_grouping(independent, codes, influence, strata) for names, codes in factors.codes.items()
    }
    shared = [
        StandardError(grouping.error, grouping.df, grouping.count, factor=names[0])
        for names, grouping in groupings.items()
        if len(names) == 1 and grouping.count != len(influence)
    ]
    # The factor with the largest standard error, or one with too few clusters.
    dominant = min(shared, key=lambda error: (min(error.clusters or 0, FEWEST_CLUSTERS), -error.value, error.df))
    together = sum((-1) ** (len(names) + 1) * grouping.variance for names, grouping in groupings.items())
    total = max(together, *(error.value**2 for error in shared))
    effect = total / variance if variance > 0 else 1.0
    return replace(dominant, value=float(np.sqrt(total)), design_effect=float(effect))


@dataclass(frozen=True, slots=True)
class _Grouping:
    """The variance for `count` clusters; `error` is the standard error, at least that of independent items."""

    variance: float
    error: float
    df: float
    count: int


def _compute_grouping(independent: StandardError, codes: Codes, influence: Floats, strata: Labels | None) -> _Grouping:
    sizes = np.bincount(codes)
    count = len(sizes)
    if count < 2:
        return _Grouping(independent.value**2, independent.value, 1, count)
    sums = np.bincount(codes, influence).astype(np.float64)
    variance, df = _compute_strata_variance(sums, None if strata is None else get_cluster_strata(codes, strata))
    error = max(independent.value, float(np.sqrt(variance)))
    effect = error**2 / independent.value**2 if independent.value > 0 else 1.0
    effective = float(compute_effective_clusters(sizes.astype(np.float64), np.array([effect]))[0])
    return _Grouping(variance, error, max(1.0, min(df, effective - 1)), count)


def get_cluster_strata(codes: Codes, strata: Labels) -> Labels:
    """Return the stratum of each cluster: that of its first item."""
    return strata[np.unique(codes, return_index=True)[1]]


def compute_effective_clusters(sizes: Floats, effects: Floats) -> Floats:
    """Return the number of clusters of equal size whose variance is estimated as precisely as with these clusters.

    `sizes` are the numbers of items of the clusters, and `effects` design effects. The variance of a cluster with n
    items is assumed to be proportional to n + correlation * n * (n - 1). The correlation follows from the design
    effect. Satterthwaite's formula gives the effective number.

    >>> compute_effective_clusters(np.array([10.0, 10.0, 10.0]), np.array([4.0])).tolist()
    [3.0]
    >>> compute_effective_clusters(np.array([100.0, 5.0, 5.0, 5.0, 5.0]), np.array([1.0, 40.0])).round(1).tolist()
    [1.4, 1.0]
    """
    pairs = sizes * (sizes - 1)
    if not pairs.any():
        return np.full_like(effects, len(sizes))
    correlations = np.clip((effects - 1) * sizes.sum() / pairs.sum(), 0.0, 1.0)
    totals = sizes.sum() + correlations * pairs.sum()
    squares = sizes @ sizes + 2 * correlations * (sizes @ pairs) + correlations**2 * (pairs @ pairs)
    return np.asarray(totals**2 / squares)


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
