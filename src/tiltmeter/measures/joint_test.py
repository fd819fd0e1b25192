"""Joint tests of several contrasts, for example that all languages have the same mean.

The statistic is the sum of squares of the contrasts divided by its expectation if all true contrasts are 0 (Brunner,
Dette and Munk 1997: the ANOVA-type statistic). It needs no inverse of a covariance matrix, which is unreliable if there
are few clusters.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from tiltmeter.measures.estimates import Mean
from tiltmeter.measures.standard_errors import Floats
from tiltmeter.measures.verdict_rule import ALPHA


@dataclass(frozen=True, slots=True, kw_only=True)
class JointTest:
    """An F test of several contrasts together; `df` and `df_error` are its degrees of freedom."""

    statistic: float
    df: float
    df_error: float
    p_value: float

    @property
    def significant(self) -> bool:
        """Whether the test is significant; a joint test is one test, so it is not corrected."""
        return self.p_value < ALPHA


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
    return JointTest(
        statistic=statistic, df=df, df_error=float(df_error), p_value=float(fdtrc(df, df_error, statistic))
    )


def build_centring_contrasts(count: int) -> Floats:
    """Return the contrasts of each of `count` means with the mean of all.

    >>> build_centring_contrasts(2).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    return np.asarray(np.eye(count) - 1 / count)
