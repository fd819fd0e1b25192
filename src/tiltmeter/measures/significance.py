"""Tests of what was measured against no lean at all."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, stdtr


def sign_test(ups: int, downs: int) -> float:
    """The two-sided exact binomial test of as many ups as downs.

    Ties belong to neither side and are left out: counted as downs they would be evidence for a preference that
    nobody showed. On the discordant items of two paired yes-or-no outcomes this is McNemar's exact test.

    >>> sign_test(9, 1)
    0.021484375
    >>> sign_test(0, 0)
    1.0
    """
    decided = ups + downs
    return min(1.0, 2 * float(bdtr(min(ups, downs), decided, 0.5))) if decided else 1.0


def t_test(values: NDArray[np.float64]) -> float | None:
    """The two-sided one-sample t-test of a mean of 0.

    None where the values do not spread, so that nothing can be told: one value alone, or the same one every time.

    >>> f"{t_test(np.array([0.2, -0.1, 0.4, 0.3])):.3f}"
    '0.161'
    >>> t_test(np.zeros(3)) is None
    True
    """
    n = len(values)
    if n < 2 or np.ptp(values) == 0:
        return None
    t = float(values.mean()) / float(values.std(ddof=1)) * math.sqrt(n)
    return 2 * float(stdtr(n - 1, -abs(t)))
