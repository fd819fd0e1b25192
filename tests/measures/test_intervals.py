import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from tiltmeter.measures import intervals
from tiltmeter.measures.intervals import (
    RESAMPLES,
    Floats,
    bca,
    bootstrap,
    generator,
    percentile,
    resample_means,
    unseen,
    widen,
)


def means(samples: Floats) -> Floats:
    return samples.mean(axis=1)


def medians(samples: Floats) -> Floats:
    return np.median(samples, axis=1)


def sample(n: int = 60) -> Floats:
    return np.random.default_rng(3).gamma(1.5, size=n)


@pytest.mark.parametrize("statistic", [means, medians], ids=["mean", "median"])
@pytest.mark.parametrize(("ours", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
def test_equals_scipy_on_the_same_resamples(statistic, ours, theirs) -> None:
    values = sample()
    expected = stats.bootstrap(
        (values,),
        lambda x, axis: (
            statistic(np.moveaxis(np.atleast_2d(x), axis, 1)).reshape(np.atleast_2d(x).shape[:-1]).squeeze()
        ),
        n_resamples=999,
        method=theirs,
        rng=np.random.default_rng(11),
        vectorized=True,
    ).confidence_interval
    low, high = bootstrap(values, statistic, np.random.default_rng(11), method=ours, resamples=999)
    assert (low, high) == pytest.approx((expected.low, expected.high), rel=1e-12)


def test_equals_scipy_for_pairs() -> None:
    """A paired difference: both columns of an item are drawn together."""
    first, second = sample(), sample()[::-1] * 1.1
    expected = stats.bootstrap(
        (first, second),
        lambda a, b, axis: (a - b).mean(axis=axis),
        paired=True,
        n_resamples=999,
        method="BCa",
        rng=np.random.default_rng(5),
    ).confidence_interval
    found = bootstrap(
        np.column_stack([first, second]),
        lambda samples: (samples[..., 0] - samples[..., 1]).mean(axis=1),
        np.random.default_rng(5),
        resamples=999,
    )
    assert found == pytest.approx((expected.low, expected.high), rel=1e-12)


def test_draws_do_not_depend_on_how_they_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """The resamples of many items are drawn some rows at a time."""
    values = sample(5_000)
    whole = means(values[np.random.default_rng(8).integers(0, 5_000, (1_000, 5_000))])
    found = bootstrap(values, means, np.random.default_rng(8), method="percentile", resamples=1_000)
    assert found == pytest.approx(percentile(whole[np.newaxis])[0])


def test_bca_without_a_finite_correction_is_the_percentile_interval() -> None:
    drawn = np.linspace(1.0, 2.0, 101)
    assert bca(drawn, 3.0, np.array([1.0, 2.0])) == percentile(drawn[np.newaxis])[0]


def test_bca_of_a_constant_is_that_constant() -> None:
    assert bootstrap(np.full(5, 2.0), means, generator("constant"), resamples=99) == (2.0, 2.0)


@given(arrays(float, st.tuples(st.integers(1, 3), st.integers(1, 40)), elements=st.floats(0, 100)))
@settings(max_examples=50)
def test_resampled_means_stay_among_the_values(values: Floats) -> None:
    drawn = resample_means(values, 99)
    assert drawn.shape == (len(values), 99)
    assert (drawn >= values.min(axis=1, keepdims=True) - 1e-9).all()
    assert (drawn <= values.max(axis=1, keepdims=True) + 1e-9).all()


@pytest.mark.parametrize("n", [60, 600], ids=["items drawn one by one", "kinds of items drawn"])
def test_resampled_means_are_distributed_as_by_plain_resampling(n: int) -> None:
    rng = np.random.default_rng(2)
    values = np.stack([rng.choice([0.0, 50.0, 100.0], n), rng.choice([0.0, 100.0], n)])
    plain = values[:, rng.integers(0, n, (RESAMPLES, n))].mean(axis=2)
    drawn = resample_means(values)
    spread = plain.std(axis=1)
    assert np.abs(drawn.mean(axis=1) - values.mean(axis=1)) == pytest.approx([0, 0], abs=4 * spread.max() / 100)
    assert np.cov(drawn) == pytest.approx(np.cov(plain), rel=0.06, abs=0.06 * spread.min() ** 2)
    one_item = 101 / n  # the values lie on a grid, and the ends on its points
    assert np.array(percentile(drawn)) == pytest.approx(np.array(percentile(plain)), abs=one_item)


def test_each_item_is_drawn_n_times_in_all() -> None:
    n = 30
    drawn = intervals.draws(n, 500)
    assert drawn.shape == (n, 500)
    assert (drawn.sum(axis=0) == n).all()


def test_resamples_are_the_same_in_every_process() -> None:
    code = "from tiltmeter.measures.intervals import generator; print(generator('a', 'b').integers(0, 2**62))"
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert runs == {f"{generator('a', 'b').integers(0, 2**62)}\n"}
    assert generator("ab").integers(0, 2**62) != generator("a", "b").integers(0, 2**62)


def test_unseen_is_what_n_draws_miss_one_time_in_forty() -> None:
    for n in (1, 10, 1000):
        assert (1 - unseen(n)) ** n == pytest.approx(0.025)


@given(st.floats(0, 100), st.integers(1, 5000))
def test_no_width_is_widened_within_bounds(value: float, n: int) -> None:
    low, high = widen(value, (value, value), n, 0.0, 100.0)
    assert -1e-9 <= low <= value <= high <= 100 + 1e-9
    assert high - low == pytest.approx(100 * unseen(n))
