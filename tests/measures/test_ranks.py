"""Intervals of ranks, against direct pairwise comparisons."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.stats import rankdata

from tiltmeter.measures.estimates import Interval, Mean
from tiltmeter.measures.ranks import (
    BelowMatrix,
    compare_means,
    compare_shares,
    compute_comparison_level,
    compute_rank_intervals,
)


def compare_samples(samples: list[np.ndarray], level: float) -> BelowMatrix:
    return compare_means([Mean.from_values(sample) for sample in samples], level)


def written_out(groups: int, is_below: list[tuple[int, int]]) -> list[Interval]:
    """The interval of each rank, from the pairs (i, j) where i is significantly below j."""
    result = []
    for group in range(groups):
        under = sum(1 for low, high in is_below if high == group)
        over = sum(1 for low, high in is_below if low == group)
        result.append((1.0 + under, float(groups - over)))
    return result


@pytest.mark.parametrize("sizes", [(12, 12, 12, 12, 12), (3, 40, 9, 25, 2)])
def test_ranks_of_means_use_welch_s_tests(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(sum(sizes))
    samples = [rng.normal(0.6 * index, 0.5 + 0.1 * index, n) for index, n in enumerate(sizes)]
    level = compute_comparison_level(len(sizes))
    pairs = [
        (i, j)
        for i in range(5)
        for j in range(5)
        if i != j and stats.ttest_ind(samples[i], samples[j], equal_var=False, alternative="less").pvalue < level
    ]
    assert 0 < len(pairs) < 10
    means = np.array([sample.mean() for sample in samples])
    assert compute_rank_intervals([compare_samples(samples, level)], [means]) == written_out(5, pairs)


def newcombe(counts: np.ndarray, sizes: np.ndarray, z: float) -> float:
    """The lower end of the difference of two shares: Newcombe with n - 1, or the normal approximation if lower."""
    ends, shares = [], counts / sizes
    for share, n in zip(shares, sizes - 1, strict=True):
        centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
        reach = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
        ends.append((centre - reach, centre + reach))
    below = math.hypot(shares[0] - ends[0][0], ends[1][1] - shares[1])
    error = math.sqrt(sum(share * (1 - share) / n for share, n in zip(shares, sizes - 1, strict=True)))
    return float(shares[0] - shares[1] - max(below, z * error))


def test_ranks_of_shares_use_intervals_of_differences() -> None:
    counts, sizes = np.array([30.0, 40.0, 70.0, 72.0, 12.0]), np.array([100.0, 90.0, 100.0, 80.0, 15.0])
    z = stats.norm.ppf(1 - compute_comparison_level(5))
    pairs = [
        (i, j) for i in range(5) for j in range(5) if i != j and newcombe(counts[[j, i]], sizes[[j, i]], float(z)) > 0
    ]
    assert 0 < len(pairs) < 10
    assert compute_rank_intervals(
        [compare_shares(counts, sizes, compute_comparison_level(5))], [counts / sizes]
    ) == written_out(5, pairs)


def test_groups_without_variance_and_empty_groups_are_never_significant() -> None:
    alone = [np.array([0.0]), np.array([5.0, 5.1, 5.2]), np.array([9.0])]
    assert not compare_samples(alone, 0.025).any()
    alike = [np.zeros(4), np.ones(4)]
    assert not compare_samples(alike, 0.025).any()
    one_alike = [np.zeros(4), np.array([5.0, 5.1, 5.2, 5.3])]
    assert not compare_samples(one_alike, 0.025).any()
    assert not compare_shares(np.array([0.0, 90.0]), np.array([0.0, 100.0]), 0.025).any()


def test_comparisons_that_contradict_the_ranks_are_ignored() -> None:
    below: BelowMatrix = np.array([[False, True], [False, False]])
    assert compute_rank_intervals([below], [np.array([0.2, 0.1])]) == [(1.0, 2.0), (1.0, 2.0)]


def test_intervals_of_mean_ranks_average_the_ends() -> None:
    first: BelowMatrix = np.array([[False, True], [False, False]])
    neither: BelowMatrix = np.zeros((2, 2), dtype=bool)
    values = np.array([0.1, 0.2])
    assert compute_rank_intervals([first, neither], [values, values]) == [(1.0, 1.5), (1.5, 2.0)]
    assert compute_comparison_level(16, 4) == pytest.approx(0.05 / 15 / 4)


def test_ranks_cover_where_groups_hardly_differ_and_bootstraps_do_not() -> None:
    """Coverage of all ranks, of the lowest, which is missed most often, and of a percentile bootstrap."""
    rng = np.random.default_rng(8)
    times, n = 250, 60
    inside, lowest, resampled = [], [], []
    for time in range(times):
        levels = 0.03 * rng.normal(size=16)
        samples = [level + 0.5 * rng.normal(size=n) for level in levels]
        means, ranks = np.array([sample.mean() for sample in samples]), rankdata(levels)
        ends = np.array(compute_rank_intervals([compare_samples(samples, compute_comparison_level(16))], [means]))
        assert np.all((ends[:, 0] <= rankdata(means)) & (rankdata(means) <= ends[:, 1]))
        covered = (ends[:, 0] <= ranks) & (ranks <= ends[:, 1])
        inside.append(covered.mean())
        lowest.append(covered[np.argmin(levels)])
        if time < 50:
            drawn = np.stack([rng.choice(sample, (n, 300)).mean(axis=0) for sample in samples])
            low, high = np.quantile(rankdata(drawn, axis=0), [0.025, 0.975], axis=1)
            resampled.append(np.mean((low <= ranks) & (ranks <= high)))
    assert np.mean(inside) >= 0.99
    assert np.mean(lowest) >= 0.93
    assert np.mean(resampled) < 0.93


@pytest.mark.parametrize(("n", "level"), [(20, 0.5), (223, 0.9)])
def test_ranks_of_shares_cover(n: int, level: float) -> None:
    rng = np.random.default_rng(n)
    sizes, lowest = np.full(16, float(n)), []
    for _ in range(60):
        levels = level + 0.001 * rng.uniform(-1, 1, 16)
        counts = rng.binomial(n, levels).astype(float)
        low, high = compute_rank_intervals(
            [compare_shares(counts, sizes, compute_comparison_level(16))], [counts / sizes]
        )[np.argmin(levels)]
        lowest.append(low <= 1 <= high)
    assert np.mean(lowest) >= 0.95 - 2 * math.sqrt(0.05 * 0.95 / 60)
