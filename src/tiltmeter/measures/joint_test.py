"""Joint tests of several contrasts, for example that all languages have the same mean.

The statistic is the sum of squares of the contrasts divided by its expectation if all true contrasts are 0 (Brunner,
Dette and Munk 1997: the ANOVA-type statistic). It needs no inverse of a covariance matrix, which is unreliable if there
are few clusters.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc, ncfdtr

from tiltmeter.measures.estimates import LEVEL, Mean
from tiltmeter.measures.standard_errors import Floats
from tiltmeter.measures.verdict_rule import ALPHA


@dataclass(frozen=True, slots=True, kw_only=True)
class JointTest:
    """An F test of several contrasts together; `df` and `df_error` are its degrees of freedom.

    `p_holm` is the p-value corrected by Holm's method for `tests` joint tests.
    """

    statistic: float
    df: float
    df_error: float
    p_value: float
    p_holm: float
    tests: int = 1

    @property
    def significant(self) -> bool:
        """Whether the test is significant after the correction for multiple tests."""
        return self.p_holm < ALPHA


@dataclass(frozen=True, slots=True)
class SpreadEstimate:
    """The variance (n − 1 in the denominator) of true means, without sampling error, with its 95% interval.

    `value` is negative if the means differ by less than their errors explain.
    """

    value: float
    low: float
    high: float


def compute_joint_test(contrasts: Floats, covariance: Floats, estimate: Callable[[Floats], Mean]) -> JointTest | None:
    """Test that all contrasts (rows) are 0; return None if they have no variance.

    `estimate` returns the estimate of one contrast. `covariance` is the covariance of the values that the contrasts
    combine; only the correlations of the contrasts are taken from it.
    """
    means = [estimate(contrast) for contrast in contrasts]
    variances = np.array([mean.standard_error.value**2 for mean in means])
    total = float(variances.sum())
    approximate = contrasts @ covariance @ contrasts.T
    square = float(np.sum(approximate**2))
    if total <= 0 or square <= 0:
        return None
    df = float(np.trace(approximate)) ** 2 / square
    statistic = sum(mean.value**2 for mean in means) / total
    df_error = total / sum(variance / mean.standard_error.df for variance, mean in zip(variances, means, strict=True))
    p_value = float(fdtrc(df, df_error, statistic))
    return JointTest(statistic=statistic, df=df, df_error=float(df_error), p_value=p_value, p_holm=p_value)


def estimate_spread(values: Sequence[float], test: JointTest | None) -> SpreadEstimate | None:
    """Estimate the variance of the true means from the joint test of their equality.

    The statistic has a noncentral F distribution whose noncentrality is proportional to the variance. The ends of the
    interval are the variances for which the statistic is the quantile of 2.5% or 97.5%. Return None without a test, or
    if the estimated means are equal.
    """
    if test is None or test.statistic <= 0 or test.df_error < 1:
        return None
    observed = float(np.var(values, ddof=1))
    error = observed / test.statistic
    unit = error / test.df  # of the variance, for a noncentrality of 1
    low, high = (_invert_noncentrality(test, level) * unit for level in ((1 + LEVEL) / 2, (1 - LEVEL) / 2))
    return SpreadEstimate(observed - error, low, high)


def _invert_noncentrality(test: JointTest, level: float) -> float:
    """Return the noncentrality for which the statistic is this quantile; 0 if it is smaller than all such quantiles."""
    from scipy.optimize import brentq  # imported here because this takes half a second

    def excess(noncentrality: float) -> float:
        return float(ncfdtr(test.df, test.df_error, noncentrality, test.statistic)) - level

    if float(fdtrc(test.df, test.df_error, test.statistic)) >= 1 - level:
        return 0.0
    high = 1.0
    while excess(high) > 0:
        high *= 2
    return float(brentq(excess, 0.0, high, xtol=1e-6 * high))


def build_centring_contrasts(count: int) -> Floats:
    """Return the contrasts of each of `count` means with the mean of all.

    >>> build_centring_contrasts(2).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    return np.asarray(np.eye(count) - 1 / count)
