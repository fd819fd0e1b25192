from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from tiltmeter.measures.significance import sign_test

counts = st.integers(0, 3000)


@given(counts, counts)
def test_is_the_exact_binomial_test(ups: int, downs: int) -> None:
    expected = binomtest(ups, ups + downs, 0.5).pvalue if ups + downs else 1.0
    assert sign_test(ups, downs) == pytest.approx(expected, rel=1e-9)
    assert sign_test(ups, downs) == sign_test(downs, ups)


def test_counted_out_by_hand() -> None:
    for ups in range(13):
        as_unlikely = [k for k in range(13) if comb(12, k) <= comb(12, ups)]
        assert sign_test(ups, 12 - ups) == pytest.approx(sum(comb(12, k) for k in as_unlikely) / 2**12)
