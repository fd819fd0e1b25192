"""The variance of true means from a joint test."""

import numpy as np
import pytest

from tiltmeter.measures.estimates import Mean
from tiltmeter.measures.joint_test import SpreadEstimate, build_centring_contrasts, compute_joint_test, estimate_spread
from tiltmeter.measures.standard_errors import Floats, StandardError

DATA_SETS = 300
DF = 40


def estimate(values: Floats, error: float) -> SpreadEstimate:
    """Estimate the variance of the true means of independent values with equal estimated errors."""
    test = compute_joint_test(
        build_centring_contrasts(len(values)),
        np.eye(len(values)),
        lambda row: Mean(float(row @ values), StandardError(error * float(np.sqrt(row @ row)), DF, 100)),
    )
    found = estimate_spread(values.tolist(), test)
    assert found is not None
    return found


@pytest.mark.parametrize("spread", [0.0, 1.0, 4.0])
def test_intervals_cover_the_variance_of_the_true_means(spread: float) -> None:
    rng = np.random.default_rng(3)
    means = spread * np.array([-1.5, -0.5, 0.5, 1.5])
    truth = float(np.var(means, ddof=1))
    found = [estimate(means + rng.normal(size=4), float(np.sqrt(rng.chisquare(DF) / DF))) for _ in range(DATA_SETS)]
    # 93% is 1.6 standard errors below the nominal 95%.
    assert np.mean([one.low <= truth <= one.high for one in found]) >= 0.93
    assert np.mean([one.value for one in found]) == pytest.approx(truth, abs=4 * np.sqrt(truth + 0.5) / DATA_SETS**0.5)
    assert all(one.low <= max(0.0, one.value) <= one.high for one in found)


def test_equal_means_have_no_estimate() -> None:
    assert estimate_spread([1.0, 1.0], None) is None
