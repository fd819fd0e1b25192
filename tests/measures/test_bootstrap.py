"""Percentile intervals, and resamples that are the same in every process."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from tiltmeter.measures import bootstrap
from tiltmeter.measures.bootstrap import compute_percentile_intervals, create_generator


def test_percentiles_of_resampled_means_match_scipy() -> None:
    values = np.random.default_rng(3).gamma(1.5, size=60)
    expected = stats.bootstrap(
        (values,), np.mean, n_resamples=9_999, method="percentile", rng=np.random.default_rng(11)
    ).confidence_interval
    drawn = values @ bootstrap.draw_counts(60, 9_999).astype(float) / 60
    ((low, high),) = compute_percentile_intervals(drawn[np.newaxis])
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=0.03 * values.std())


def test_draws_count_n_items_per_resample() -> None:
    n = 30
    drawn = bootstrap.draw_counts(n, 500)
    assert drawn.shape == (n, 500)
    assert (drawn.sum(axis=0) == n).all()


def test_resamples_are_the_same_in_every_process() -> None:
    code = (
        "from tiltmeter.measures.bootstrap import create_generator; "
        "print(create_generator('a', 'b').integers(0, 2**62))"
    )
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code]
    drawn = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert drawn == f"{create_generator('a', 'b').integers(0, 2**62)}\n"
    assert create_generator("ab").integers(0, 2**62) != create_generator("a", "b").integers(0, 2**62)
