"""Bootstrap intervals: how far a number would move had other items been written."""

import hashlib
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
Interval = tuple[float, float]

SEED = 20_230_714
RESAMPLES = 9_999
LEVEL = 0.95

# From this many items on, it is quicker to draw how often each kind of item comes up than to draw the items.
_MANY = 128


def generator(*key: str) -> np.random.Generator:
    """A random generator of its own for each key.

    A number's interval then depends on nothing but the seed and what it is the number of, not on what else was
    measured or in which order. The key is hashed because Python's own hash of a string changes between processes.
    """
    digest = hashlib.sha256("\x1f".join((str(SEED), *key)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16]))


def percentile(distribution: Floats, level: float = LEVEL) -> list[Interval]:
    """The percentile interval of each row of resampled values.

    >>> percentile(np.arange(2002.0).reshape(2, 1001), level=0.5)
    [(250.0, 750.0), (1251.0, 1751.0)]
    """
    tail = (1 - level) / 2
    lows, highs = np.quantile(distribution, [tail, 1 - tail], axis=1)
    return list(zip(lows.tolist(), highs.tolist(), strict=True))


def bca(distribution: Floats, estimate: float, jackknife: Floats, level: float = LEVEL) -> Interval:
    """The bias-corrected and accelerated interval of resampled values (Efron 1987).

    `jackknife` holds the statistic with each item left out in turn. Where every resample lies on one side of the
    estimate the correction is infinite; the percentile interval is given then.
    """
    below = float(np.mean(distribution < estimate) + np.mean(distribution <= estimate)) / 2
    if not 0 < below < 1:
        return percentile(distribution[np.newaxis], level)[0]
    shift = ndtri(below)
    pull = jackknife.mean() - jackknife
    spread = float(np.sum(pull**2))
    acceleration = float(np.sum(pull**3)) / (6 * spread**1.5) if spread else 0.0
    tail = (1 - level) / 2
    reach = shift + ndtri(np.array([tail, 1 - tail]))
    low, high = np.quantile(distribution, ndtr(shift + reach / (1 - acceleration * reach)))
    return float(low), float(high)


def bootstrap(
    items: Floats,
    statistic: Statistic,
    rng: np.random.Generator,
    *,
    method: Literal["percentile", "bca"] = "bca",
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval:
    """The interval of any statistic of items, resampled whole.

    The first axis of `items` counts the items; what else there is (the two models of a paired comparison, say) stays
    with its item. `statistic` takes many samples at once, one to a row, and gives one number for each row.

    >>> rain = np.array([1.2, 0.4, 3.1, 0.0, 2.2, 5.9, 0.3, 1.1])
    >>> low, high = bootstrap(rain, lambda samples: samples.mean(axis=1), generator("rain"))
    >>> f"{low:.2f} {high:.2f}"
    '0.81 3.55'
    """
    n = len(items)
    # As many rows at a time as hold a few million numbers; the draws come out the same however they are cut.
    rows = max(1, 4_000_000 // max(1, items.size))
    drawn = [
        statistic(items[rng.integers(0, n, (min(rows, resamples - start), n))]) for start in range(0, resamples, rows)
    ]
    distribution = np.concatenate(drawn)
    if method == "percentile":
        return percentile(distribution[np.newaxis], level)[0]
    estimate = float(statistic(items[np.newaxis])[0])
    left_out = np.array([statistic(np.delete(items, i, axis=0)[np.newaxis])[0] for i in range(n)])
    return bca(distribution, estimate, left_out, level)


def resample_means(values: Floats, resamples: int = RESAMPLES) -> Floats:
    """The mean of each row of `values` (a column for each item) in each bootstrap resample of the items.

    The draws follow from the seed and the number of items alone, so that models are measured on the same resamples
    of the same items, in whatever order or company they come; items must be in an order of their own, by id say.
    """
    n = values.shape[1]
    if n < _MANY:
        kinds, drawn = values, draws(n, resamples)
    else:
        # Items with equal values are alike to a mean: drawing their numbers is the same at a thousandth of the cost.
        kinds, counts = np.unique(values, axis=1, return_counts=True)
        drawn = generator("resamples", str(n)).multinomial(n, counts / n, size=resamples).T
    means: Floats = kinds @ drawn.astype(float) / n
    return means


@lru_cache(maxsize=64)
def draws(n: int, resamples: int, *key: str) -> NDArray[np.integer]:
    """How often each of n items (rows) is drawn in each resample (columns); other draws for each key."""
    drawn = generator("resamples", *key, str(n)).integers(0, n, (n, resamples)) * resamples + np.arange(resamples)
    return np.bincount(drawn.ravel(), minlength=n * resamples).reshape(n, resamples).astype(np.uint8)


def unseen(n: int, level: float = LEVEL) -> float:
    """The largest share of a population that n draws could all have missed, at this level.

    >>> round(unseen(10), 3)
    0.308
    """
    return 1 - math.pow((1 - level) / 2, 1 / n)


def widen(value: float, interval: Interval, n: int, bottom: float, top: float) -> Interval:
    """The interval itself, or where no resample moved, what n equal items leave open between bottom and top.

    Ten items that all agree resample to themselves, and an interval of no width would claim certainty; ten draws can
    have missed three in ten of what there is.

    >>> low, high = widen(100.0, (100.0, 100.0), 10, 0.0, 100.0)
    >>> f"{low:.1f} {high:.1f}"
    '69.2 100.0'
    >>> widen(50.0, (40.0, 60.0), 10, 0.0, 100.0)
    (40.0, 60.0)
    """
    low, high = interval
    if high - low > 1e-9:  # sums of equal numbers differ in their last digit
        return interval
    share = unseen(n)
    return value + share * (bottom - value), value + share * (top - value)
