"""What a number of items can tell at all."""

from functools import lru_cache

from scipy.optimize import brentq
from scipy.special import bdtr, bdtrc

from tiltmeter.measures.intervals import LEVEL

POWER = 0.8


@lru_cache(maxsize=1024)
def minimum_detectable_effect(n: int, power: float = POWER, level: float = LEVEL) -> float | None:
    """How many percentage points from 50 a true preference must lie for n pairs to show it.

    At that distance the exact test of `sign_test` finds it, at this level, with this power. Anything nearer to 50 would
    be missed more often than that, so a result that is no more than noise says nothing about it. None where n is so
    small that not even n preferences out of n are more than noise.

    >>> f"{minimum_detectable_effect(212):.1f} {minimum_detectable_effect(1508):.1f}"
    '9.7 3.6'
    >>> minimum_detectable_effect(5) is None
    True
    """
    fewest = _critical(n, 1 - level)
    if fewest is None:
        return None

    def short_of(share: float) -> float:
        # Few preferences for one side, or few for the other.
        return float(bdtr(fewest, n, share) + bdtrc(n - fewest - 1, n, share)) - power

    return 100 * (float(brentq(short_of, 0.5, 1.0)) - 0.5)


def _critical(n: int, alpha: float) -> int | None:
    """The largest number of n that is too few to be chance, with a share of a half, in a two-sided test."""
    low, high = -1, n // 2  # always too few, and never
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if 2 * bdtr(middle, n, 0.5) <= alpha else (low, middle)
    return low if low >= 0 else None
