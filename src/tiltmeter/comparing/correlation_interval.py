"""Intervals of a correlation over items that are clustered, for example by target."""

import math

import numpy as np
from scipy.special import stdtrit

from tiltmeter.measures.estimates import LEVEL, Interval
from tiltmeter.measures.factors import Codes, Factors
from tiltmeter.measures.standard_errors import Floats

# Minimum number of items or clusters for an interval.
FEWEST = 5
_HIGHEST = 0.999999


def compute_correlation_interval(left: Floats, right: Floats, factors: Factors | None = None) -> Interval | None:
    """Return the interval of the correlation of two arrays; `factors` are properties that items share.

    The interval is computed on Fisher's scale. Its standard error is the largest of several: one for independent items,
    and one for each factor, from the jackknife that leaves out one cluster at a time. Return None if there are fewer
    than five items or clusters, or if an array does not vary.

    >>> left, right = np.arange(28.0), np.tile([0.0, 3.0, 1.0, 2.0], 7)
    >>> low, high = compute_correlation_interval(left, right)
    >>> round(low, 2), round(high, 2)
    (-0.32, 0.42)
    """
    z = _compute_fisher_z(_list_sums(left, right).sum(axis=0, keepdims=True))[0]
    if len(left) < FEWEST or np.isnan(z):
        return None
    half = float(stdtrit(np.inf, 0.5 + LEVEL / 2)) / math.sqrt(len(left) - 3)
    for codes in factors.codes.values() if factors is not None else ():
        count = int(codes.max(initial=-1)) + 1
        if count == len(left):
            continue
        if count < FEWEST:
            return None
        error = _compute_jackknife_error(left, right, codes)
        half = max(half, float(stdtrit(count - 1, 0.5 + LEVEL / 2)) * error)
    return math.tanh(z - half), math.tanh(z + half)


def _compute_jackknife_error(left: Floats, right: Floats, codes: Codes) -> float:
    """Return the jackknife standard error of Fisher's z; infinite if z is undefined when a cluster is left out."""
    by_cluster = np.array([np.bincount(codes, sums) for sums in _list_sums(left, right).T]).T
    values = _compute_fisher_z(by_cluster.sum(axis=0) - by_cluster)
    count = len(values)
    if np.isnan(values).any():
        return math.inf
    return math.sqrt((count - 1) / count * float(np.sum((values - values.mean()) ** 2)))


def _list_sums(left: Floats, right: Floats) -> Floats:
    """Return a row for each item: 1, x, y, x², y² and xy of the centred values; their sums give the correlation."""
    x, y = left - left.mean(), right - right.mean()
    return np.stack([np.ones(len(x)), x, y, x * x, y * y, x * y], axis=1)


def _compute_fisher_z(sums: Floats) -> Floats:
    """Return Fisher's z of the correlation for each row of sums; NaN where an array does not vary."""
    n, x, y, xx, yy, xy = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (xx - x * x / n) * (yy - y * y / n)
        r = np.where(spread > 1e-24, (xy - x * y / n) / np.sqrt(np.where(spread > 0, spread, np.nan)), np.nan)
    return np.asarray(np.arctanh(np.clip(r, -_HIGHEST, _HIGHEST)), dtype=np.float64)
