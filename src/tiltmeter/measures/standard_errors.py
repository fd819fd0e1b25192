"""Standard errors of means over items that share factors.

Items about the same target term, with the same word, or made from the same template are correlated (see `factors`). The
variance is the variance for independent items, plus the excess of each factor's cluster-robust variance (CR1, Liang and
Zeger 1986) over it. It is never smaller than the cluster-robust variance for a single factor.

docs/evidence/verdicts.md compares this rule with others on released predictions. A cluster-robust variance is uncertain
with few clusters or clusters of very different sizes, so tests use Student's t. Each factor has the degrees of freedom
of Bell and McCaffrey (2002); Satterthwaite's formula combines those of all factors.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiltmeter.measures.factors import Codes, Factors, Labels

Floats = NDArray[np.float64]

# With fewer clusters, the variance between the clusters of a factor cannot be estimated, so the verdict is "too few".
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
    stereotypes of GEST, the items of each stratum are a sample of their own (stratified sampling), and the degrees of
    freedom are Welch-Satterthwaite's.

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
    clustered = [
        _compute_clustered_error(name, codes, independent, influence, strata) for name, codes in factors.codes.items()
    ]
    shared = [error for error in clustered if error.clusters != len(influence)]
    return combine_factor_errors(variance, df, shared)


def combine_factor_errors(variance: float, df: float, errors: Sequence[StandardError]) -> StandardError:
    """Add the excess variances of all factors to the variance for independent items, which has `df` degrees of freedom.

    `errors` are the standard errors for the clusters of each factor alone.
    """
    # The factor with the largest standard error, or one with too few clusters.
    dominant = min(errors, key=lambda error: (min(error.clusters or 0, FEWEST_CLUSTERS), -error.value, error.df))
    effect = 1.0 + sum(error.design_effect - 1.0 for error in errors)
    combined = effect**2 / sum(error.design_effect**2 / error.df for error in errors)
    return replace(
        dominant, value=float(np.sqrt(effect * variance)), df=max(1.0, min(df, combined)), design_effect=effect
    )


def _compute_clustered_error(
    name: str, codes: Codes, independent: StandardError, influence: Floats, strata: Labels | None
) -> StandardError:
    """Return the standard error for the clusters of one factor; it is at least that of independent items."""
    sizes = np.bincount(codes)
    count = len(sizes)
    if count < 2:
        return StandardError(independent.value, 1.0, count, 1.0, name)
    sums = np.bincount(codes, influence).astype(np.float64)
    variance, df = _compute_strata_variance(sums, None if strata is None else get_cluster_strata(codes, strata))
    effect = max(1.0, variance / independent.value**2) if independent.value > 0 else 1.0
    own_df = float(compute_cluster_df(sizes.astype(np.float64), np.array([effect]))[0])
    error = independent.value * float(np.sqrt(effect))
    return StandardError(error, max(1.0, min(df, own_df)), count, effect, name)


def get_cluster_strata(codes: Codes, strata: Labels) -> Labels:
    """Return the stratum of each cluster: that of its first item."""
    return strata[np.unique(codes, return_index=True)[1]]


def compute_cluster_df(sizes: Floats, effects: Floats) -> Floats:
    """Return the degrees of freedom of the cluster-robust variance of a mean (Bell and McCaffrey 2002).

    `sizes` are the numbers of items of the clusters, and `effects` are design effects. The variance of the sum of a
    cluster with n items is assumed to be proportional to n + correlation * n * (n - 1). The correlation follows from
    the design effect.

    >>> compute_cluster_df(np.array([10.0, 10.0, 10.0]), np.array([4.0])).round(1).tolist()
    [2.0]
    >>> compute_cluster_df(np.array([100.0, 5.0, 5.0, 5.0, 5.0]), np.array([1.0, 40.0])).round(1).tolist()
    [2.5, 1.4]
    """
    largest = max(1.0, len(sizes) - 1.0)
    pairs = sizes * (sizes - 1)
    if not pairs.any():
        return np.full_like(effects, largest)
    correlations = np.clip((effects - 1) * sizes.sum() / pairs.sum(), 0.0, 1.0)
    shares = sizes / sizes.sum()
    square = float(shares @ shares)
    # With D the diagonal matrix of the variances of the sums, and B the matrix that centres the sums, the degrees of
    # freedom are the squared trace of DB divided by the trace of (DB)^2. Both are sums over clusters.
    total, first, second = (
        sizes @ powers + correlations * (pairs @ powers) for powers in (np.ones_like(shares), shares, shares**2)
    )
    trace = total * (1 + square) - 2 * first
    weights = (1 - 2 * shares + square) ** 2 - (square - 2 * shares) ** 2
    trace_of_square = (square * total) ** 2 - 4 * square * total * first + 2 * total * second + 2 * first**2
    trace_of_square += (
        (sizes**2) @ weights + 2 * correlations * ((sizes * pairs) @ weights) + correlations**2 * (pairs**2 @ weights)
    )
    return np.asarray(np.clip(trace**2 / trace_of_square, 1.0, largest))


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
