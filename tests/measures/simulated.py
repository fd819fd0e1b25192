"""Simulated item values with known parameters."""

from collections import Counter

import numpy as np
from scipy.special import ndtri

from tiltmeter.measures.factors import Factors, Labels
from tiltmeter.measures.standard_errors import Floats


def percentages(rng: np.random.Generator, n: int, share: float) -> Floats:
    """Independent preferences, 0 or 100."""
    return 100.0 * (rng.random(n) < share)


def clustered(rng: np.random.Generator, clusters: int, each: int, correlation: float, share: float) -> Floats:
    """Preferences of `each` items per cluster with this intraclass correlation."""
    if not correlation:
        return percentages(rng, clusters * each, share)
    size = (1 - correlation) / correlation
    shares = rng.beta(share * size, (1 - share) * size, clusters)
    return 100.0 * (rng.random((clusters, each)) < shares[:, np.newaxis]).ravel()


def labels(clusters: int, each: int) -> Labels:
    """Cluster labels for the items of `clustered`."""
    return np.repeat(np.array([f"c{number}" for number in range(clusters)], dtype=object), each)


def target_factor(clusters: int, each: int) -> Factors:
    """The target terms of the items of `clustered`."""
    return as_factor(labels(clusters, each))


def as_factor(labels: Labels, name: str = "target") -> Factors:
    """A single factor with these labels."""
    return Factors.from_labels({name: labels})


def naive_df(groups: Labels, design_effect: float) -> float:
    """The degrees of freedom of Bell and McCaffrey for the cluster-robust variance of a mean.

    The variance of the sum of a cluster with n items is n + n (n - 1) r; r is the correlation that has this design
    effect. The robust variance is a quadratic form of the sums after subtraction of the mean.
    """
    sizes = np.array(list(Counter(groups.tolist()).values()), dtype=float)
    pairs = float(np.sum(sizes * (sizes - 1)))
    r = min(1.0, max(0.0, (design_effect - 1) * sizes.sum() / pairs)) if pairs else 0.0
    variances = np.diag(sizes + sizes * (sizes - 1) * r)
    centre = np.eye(len(sizes)) - np.outer(sizes / sizes.sum(), np.ones(len(sizes)))
    covariance = centre @ variances @ centre.T
    df = np.trace(covariance) ** 2 / np.trace(covariance @ covariance)
    return float(np.clip(df, 1.0, max(1, len(sizes) - 1)))


def two_answers(
    rng: np.random.Generator, left: float, right: float, clusters: int, each: int = 1, correlation: float = 0.0
) -> tuple[Floats, Floats]:
    """Correlated preferences of two models, with one row each, as SS has one mean."""

    def draw() -> Floats:
        own = rng.standard_normal((clusters, each))
        common = rng.standard_normal((clusters, 1))
        return (np.sqrt(1 - correlation) * own + np.sqrt(correlation) * common).ravel()

    first = draw()
    second = 0.6 * first + 0.8 * draw()
    ends = ndtri([left, right])
    return 100.0 * (first < ends[0])[np.newaxis], 100.0 * (second < ends[1])[np.newaxis]


def skewed(rng: np.random.Generator, n: int) -> Floats:
    """Lognormal numbers with mean 0, more skewed than S_JSD of released models."""
    return rng.lognormal(0.0, 1.0, n) - np.exp(0.5)
