"""The distance to the gold distribution and S_JSD, compared with SciPy and with the paper's formula."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from tiltmeter.benchmarks.gold_distance import compute_gold_distance, compute_s_jsd

log_probs = st.floats(min_value=-1e6, max_value=0.0)
pairs = st.lists(st.tuples(log_probs, log_probs), min_size=1, max_size=20)


@given(st.lists(st.floats(1e-6, 1.0), min_size=2, max_size=30), st.data())
def test_equals_scipys_distance_to_a_one_hot_vector(weights: list[float], data: st.DataObject) -> None:
    gold = data.draw(st.integers(0, len(weights) - 1))
    distribution = np.array(weights) / np.sum(weights)
    one_hot = np.eye(len(weights))[gold]
    expected = jensenshannon(distribution, one_hot, base=2)
    assert float(compute_gold_distance(math.log(distribution[gold]))) == pytest.approx(expected, abs=1e-9)


@given(st.floats(1e-12, 0.999))
def test_equals_the_closed_form_where_that_is_stable(p: float) -> None:
    divergence = (p * math.log2(p) - (p + 1) * math.log2(p + 1) + 2) / 2
    assert float(compute_gold_distance(math.log(p))) == pytest.approx(math.sqrt(divergence), rel=1e-9)


@given(st.floats(-300, -9))
def test_near_certainty_is_the_root_of_half_the_remaining_probability(exponent: float) -> None:
    """Near p = 1 the divergence is (1 - p) / 2, even where p itself rounds to 1."""
    rest = 10.0**exponent
    assert float(compute_gold_distance(-rest)) == pytest.approx(math.sqrt(rest / 2), rel=1e-6)


def test_the_two_ends() -> None:
    assert compute_gold_distance([0.0, -1e5]).tolist() == [0.0, 1.0]


@given(log_probs, log_probs)
def test_the_likelier_is_never_farther(first: float, second: float) -> None:
    nearer, farther = compute_gold_distance([max(first, second), min(first, second)])
    assert nearer <= farther + 1e-15


@given(pairs)
def test_s_jsd_stays_between_minus_one_and_one(pair: list[tuple[float, float]]) -> None:
    assert -1 <= compute_s_jsd(*zip(*pair, strict=True)) <= 1


@given(pairs)
def test_swapping_the_sentences_swaps_the_sign(pair: list[tuple[float, float]]) -> None:
    more, less = zip(*pair, strict=True)
    assert compute_s_jsd(more, less) == -compute_s_jsd(less, more)


@given(st.lists(log_probs, min_size=1))
def test_equal_probabilities_give_zero(same: list[float]) -> None:
    assert compute_s_jsd(same, same) == 0


def test_the_likelier_sentence_is_below_zero() -> None:
    assert compute_s_jsd(np.log([0.5, 0.9]), np.log([0.4, 0.8])) < 0
