import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from tiltmeter.measures.multiple_testing import adjust_holm, group_indexes_by_key


@pytest.mark.parametrize("n", [1, 2, 5, 40, 500])
def test_holm_matches_statsmodels(n: int) -> None:
    p_values = (np.random.default_rng(n).random(n) ** 4).tolist()
    assert adjust_holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist())


@given(st.lists(st.sampled_from([0.0, 1e-300, 1e-9, 0.01, 0.02, 0.02, 0.3, 1.0]), max_size=12))
def test_equal_and_tiny_p_values_are_adjusted_by_the_definition(p_values: list[float]) -> None:
    """max over p_j <= p of p_j times the number of p-values >= p_j."""
    ordered = sorted(p_values)
    multiplied = [min(1.0, (len(ordered) - rank) * p) for rank, p in enumerate(ordered)]
    expected = [max(multiplied[: ordered.index(p) + ordered.count(p)]) for p in p_values]
    assert adjust_holm(p_values) == pytest.approx(expected, rel=1e-12, abs=0)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_never_lowers_p_values_and_keeps_their_order(p_values: list[float]) -> None:
    adjusted = adjust_holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    assert [adjusted[i] for i in order] == sorted(adjusted)


def test_small_p_values_stay_significant_in_large_families() -> None:
    assert adjust_holm([1e-15] + [0.5] * 9_999)[0] == pytest.approx(1e-11)


def test_families_are_in_order_of_first_appearance() -> None:
    assert group_indexes_by_key(["b1", "a1", "b2", "c1", "a2"], lambda name: name[0]) == [[0, 2], [1, 4], [3]]
    assert group_indexes_by_key([], lambda name: name) == []
