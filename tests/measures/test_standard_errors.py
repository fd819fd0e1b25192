"""Standard errors against statsmodels and SciPy, and their invariances."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.measures.simulated import clustered, labels
from tiltmeter.measures.standard_errors import Floats, Labels, StandardError, compute_standard_error


def mean_standard_error(values: Floats, clusters: Labels | None = None) -> StandardError:
    return compute_standard_error((values - values.mean()) / len(values), clusters)


def clustered_error(values: Floats, clusters: Labels) -> float:
    """The standard error of a mean by statsmodels.

    Its small-sample factor is G / (G - 1) * (N - 1) / (N - K). With a constant only, K = 1, and the factor is the
    G / (G - 1) of `compute_standard_error`.
    """
    codes = np.unique(clusters.astype(str), return_inverse=True)[1]
    fit = sm.OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": codes})
    return float(fit.bse[0])


@pytest.mark.parametrize("seed", range(4))
def test_clustered_standard_errors_match_statsmodels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 40, 12)
    groups = np.repeat(np.array([f"term {number}" for number in range(12)], dtype=object), sizes)
    values = rng.normal(size=len(groups)) + np.repeat(rng.normal(size=12), sizes)
    result = mean_standard_error(values, groups)
    independent = stats.sem(values)
    assert clustered_error(values, groups) > independent
    assert result.value == pytest.approx(clustered_error(values, groups), rel=1e-12)
    assert (result.df, result.clusters) == (11, 12)
    assert result.design_effect == pytest.approx((result.value / independent) ** 2)


def test_without_its_small_sample_factor_statsmodels_is_smaller() -> None:
    """For a mean, the small-sample factor of statsmodels is G / (G - 1)."""
    values, groups = np.random.default_rng(1).normal(size=40), labels(8, 5)
    codes = np.repeat(np.arange(8), 5)
    kwds = {"groups": codes, "use_correction": False}
    plain = sm.OLS(values, np.ones(40)).fit(cov_type="cluster", cov_kwds=kwds).bse[0]
    assert clustered_error(values, groups) == pytest.approx(plain * np.sqrt(8 / 7))


def test_the_larger_of_the_two_standard_errors_is_used() -> None:
    """With negative correlation within clusters, the standard error for independent items is larger."""
    values = np.array([0.0, 100.0] * 30)
    groups = labels(30, 2)
    assert clustered_error(values, groups) == pytest.approx(0.0)
    result = mean_standard_error(values, groups)
    assert result.value == pytest.approx(stats.sem(values))
    assert (result.design_effect, result.df) == (1.0, 29)


def test_independent_standard_errors_match_scipy() -> None:
    values = np.random.default_rng(3).gamma(2, size=37)
    assert mean_standard_error(values) == StandardError(pytest.approx(stats.sem(values)), 36)


def test_items_that_are_clusters_of_their_own_are_independent() -> None:
    values = np.random.default_rng(5).normal(size=20)
    assert mean_standard_error(values, labels(20, 1)).value == pytest.approx(mean_standard_error(values).value)
    assert mean_standard_error(values, labels(20, 1)).df == mean_standard_error(values).df


def test_a_single_cluster_has_one_degree_of_freedom() -> None:
    values = np.random.default_rng(5).normal(size=20)
    assert mean_standard_error(values, labels(1, 20)) == StandardError(mean_standard_error(values).value, 1, 1)


def test_a_single_item_has_a_standard_error_of_zero_and_two_have_one_degree_of_freedom() -> None:
    assert mean_standard_error(np.array([3.0])) == StandardError(0.0, 1)
    assert mean_standard_error(np.array([3.0, 7.0])) == StandardError(pytest.approx(2.0), 1)


def test_two_strata_match_welch_s_test() -> None:
    rng = np.random.default_rng(8)
    first, second = rng.normal(0.0, 1.0, 13), rng.normal(0.5, 3.0, 24)
    strata = np.array(["one"] * 13 + ["other"] * 24, dtype=object)
    result = compute_standard_error(np.concatenate([first / 13, -second / 24]), strata=strata)
    expected = stats.ttest_ind(first, second, equal_var=False)
    assert result.df == pytest.approx(expected.df)
    t = (first.mean() - second.mean()) / result.value
    assert 2 * stats.t.sf(abs(t), result.df) == pytest.approx(expected.pvalue)


def test_many_strata_match_satterthwaite_s_formula() -> None:
    rng = np.random.default_rng(9)
    groups = [rng.normal(rng.normal(0, 5), rng.uniform(0.5, 3), size) for size in (4, 9, 20, 31)]
    weights = [0.5, 0.5, -0.25, -0.75]
    strata = np.concatenate([[str(number)] * len(group) for number, group in enumerate(groups)]).astype(object)
    result = compute_standard_error(
        np.concatenate([w * g / len(g) for w, g in zip(weights, groups, strict=True)]), strata=strata
    )
    variances = [w**2 * g.var(ddof=1) / len(g) for w, g in zip(weights, groups, strict=True)]
    below = sum(v**2 / (len(g) - 1) for v, g in zip(variances, groups, strict=True))
    assert result.value == pytest.approx(np.sqrt(sum(variances)))
    assert result.df == pytest.approx(sum(variances) ** 2 / below)


def test_clusters_within_strata() -> None:
    """A difference of two clustered means matches statsmodels except for the small-sample factor.

    For two strata statsmodels multiplies by G / (G - 1) * (N - 1) / (N - 2) of all clusters and items,
    `standard_error` by G / (G - 1) of each stratum.
    """
    rng = np.random.default_rng(4)
    side = np.repeat([1.0, 0.0], 60)
    codes = np.repeat(np.arange(24), 5)
    values = rng.normal(size=120) + rng.normal(size=24)[codes] + side
    means = np.where(side == 1, values[:60].mean(), values[60:].mean())
    weights = np.where(side == 1, 1 / 60, -1 / 60)
    strata = np.where(side == 1, "m", "f").astype(object)
    result = compute_standard_error(weights * (values - means), codes.astype(object), strata)
    kwds = {"groups": codes, "use_correction": False}
    fit = sm.OLS(values, np.column_stack([np.ones(120), side])).fit(cov_type="cluster", cov_kwds=kwds)
    assert result.value == pytest.approx(fit.bse[1] * np.sqrt(12 / 11))
    assert result.clusters == 24
    assert 11 <= result.df <= 22


def test_strata_without_variance_have_a_standard_error_of_zero() -> None:
    strata = np.array(["a", "a", "b", "b", "b"], dtype=object)
    assert compute_standard_error(np.array([1.0, 1.0, 2.0, 2.0, 2.0]), strata=strata) == StandardError(0.0, 3)


@given(st.integers(0, 10_000))
def test_order_of_items_and_names_of_clusters_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = labels(7, 6)
    values = clustered(rng, 7, 6, 0.3, 0.6)
    expected = mean_standard_error(values, groups)
    order = rng.permutation(len(values))
    renamed = np.array([f"{hash(name)} {name}" for name in groups], dtype=object)
    for result in (
        mean_standard_error(values[order], groups[order]),
        mean_standard_error(values, renamed),
        mean_standard_error(100 - values, groups),
    ):
        assert result.value == pytest.approx(expected.value)
        assert (result.df, result.clusters) == (expected.df, expected.clusters)
        assert result.design_effect == pytest.approx(expected.design_effect)


def test_rounding_errors_count_as_zero_variance() -> None:
    """The mean of equal numbers may differ from them by rounding."""
    values = np.full(12, 0.1) + 0.2
    assert values.mean() != values[0]
    assert mean_standard_error(values).value == mean_standard_error(values, labels(4, 3)).value == 0.0
    strata = np.array(["a"] * 6 + ["b"] * 6, dtype=object)
    assert compute_standard_error(values / 7, strata=strata).value == 0.0
