"""Percentile bootstrap intervals from resampled items."""

import hashlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Interval = tuple[float, float]

SEED = 20_230_714
RESAMPLES = 9_999
LEVEL = 0.95


def create_generator(*key: str) -> np.random.Generator:
    """Create a random generator that is seeded by SEED and `key`.

    Bootstrap intervals therefore do not depend on which other intervals were computed before. The key is hashed with
    SHA-256, because Python's string hash differs between processes.
    """
    digest = hashlib.sha256("\x1f".join((str(SEED), *key)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16]))


def compute_percentile_intervals(distribution: Floats, level: float = LEVEL) -> list[Interval]:
    """Return the percentile interval of each row of `distribution`; a row has the resampled values of one estimate.

    >>> compute_percentile_intervals(np.arange(2002.0).reshape(2, 1001), level=0.5)
    [(250.0, 750.0), (1251.0, 1751.0)]
    """
    tail = (1 - level) / 2
    lows, highs = np.quantile(distribution, [tail, 1 - tail], axis=1)
    return list(zip(lows.tolist(), highs.tolist(), strict=True))


@lru_cache(maxsize=64)
def draw_counts(n: int, resamples: int, *key: str) -> NDArray[np.integer]:
    """Return how often each item is drawn in each resample: a row for each of n items, a column for each resample.

    `key` seeds the random generator.
    """
    drawn = create_generator("resamples", *key, str(n)).integers(0, n, (n, resamples))
    indexes = drawn * resamples + np.arange(resamples)
    return np.bincount(indexes.ravel(), minlength=n * resamples).reshape(n, resamples).astype(np.uint8)
