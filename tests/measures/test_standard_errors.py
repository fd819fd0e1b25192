"""Standard errors against statsmodels and SciPy, and what must not change them."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.measures.simulated import clustered, labels
from tiltmeter.measures.standard_errors import Floats, Labels, StandardError, standard_error


def of_mean(values: Floats, clusters: Labels | None = None) -> StandardError:
    return standard_error((values - values.mean()) / len(values), clusters)


def clustered_error(values: Floats, clusters: Labels) -> float:
    """The standard error of a mean by statsmodels.

    Its factor for few clusters is G / (G - 1) * (N - 1) / (N - K). With a constant alone K is 1, and what remains is
    the G / (G - 1) of `spread`.
    """
    codes = np.unique(clusters.astype(str), return_inverse=True)[1]
    fit = sm.OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": codes})
    return float(fit.bse[0])


@pytest.mark.parametrize("seed", range(4))
def test_clustered_errors_are_those_of_statsmodels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 40, 12)
    groups = np.repeat(np.array([f"term {number}" for number in range(12)], dtype=object), sizes)
    values = rng.normal(size=len(groups)) + np.repeat(rng.normal(size=12), sizes)
    found = of_mean(values, groups)
    independent = stats.sem(values)
    assert clustered_error(values, groups) > independent
    assert found.error == pytest.approx(clustered_error(values, groups), rel=1e-12)
    assert (found.freedom, found.clusters) == (11, 12)
    assert found.inflation == pytest.approx((found.error / independent) ** 2)


def test_without_a_constant_factor_the_error_of_statsmodels_is_smaller() -> None:
    """G / (G - 1) is all that the small-sample correction of statsmodels has for a mean."""
    values, groups = np.random.default_rng(1).normal(size=40), labels(8, 5)
    codes = np.repeat(np.arange(8), 5)
    kwds = {"groups": codes, "use_correction": False}
    plain = sm.OLS(values, np.ones(40)).fit(cov_type="cluster", cov_kwds=kwds).bse[0]
    assert clustered_error(values, groups) == pytest.approx(plain * np.sqrt(8 / 7))


def test_the_larger_of_the_two_errors_counts() -> None:
    """Clusters whose items make up for each other have a smaller error; there the items count as independent."""
    values = np.array([0.0, 100.0] * 30)
    groups = labels(30, 2)
    assert clustered_error(values, groups) == pytest.approx(0.0)
    found = of_mean(values, groups)
    assert found.error == pytest.approx(stats.sem(values))
    assert (found.inflation, found.freedom) == (1.0, 29)


def test_independent_errors_are_those_of_scipy() -> None:
    values = np.random.default_rng(3).gamma(2, size=37)
    assert of_mean(values) == StandardError(pytest.approx(stats.sem(values)), 36)


def test_items_that_are_clusters_of_their_own_are_independent() -> None:
    values = np.random.default_rng(5).normal(size=20)
    assert of_mean(values, labels(20, 1)).error == pytest.approx(of_mean(values).error)
    assert of_mean(values, labels(20, 1)).freedom == of_mean(values).freedom


def test_one_cluster_shows_next_to_nothing() -> None:
    values = np.random.default_rng(5).normal(size=20)
    assert of_mean(values, labels(1, 20)) == StandardError(of_mean(values).error, 1, 1)


def test_one_item_has_no_error() -> None:
    assert of_mean(np.array([3.0])) == StandardError(0.0, 1)


def test_two_strata_are_the_test_of_welch() -> None:
    rng = np.random.default_rng(8)
    one, other = rng.normal(0.0, 1.0, 13), rng.normal(0.5, 3.0, 24)
    strata = np.array(["one"] * 13 + ["other"] * 24, dtype=object)
    found = standard_error(np.concatenate([one / 13, -other / 24]), strata=strata)
    expected = stats.ttest_ind(one, other, equal_var=False)
    assert found.freedom == pytest.approx(expected.df)
    t = (one.mean() - other.mean()) / found.error
    assert 2 * stats.t.sf(abs(t), found.freedom) == pytest.approx(expected.pvalue)


def test_many_strata_are_the_formula_of_satterthwaite() -> None:
    rng = np.random.default_rng(9)
    groups = [rng.normal(rng.normal(0, 5), rng.uniform(0.5, 3), size) for size in (4, 9, 20, 31)]
    weights = [0.5, 0.5, -0.25, -0.75]
    strata = np.concatenate([[str(number)] * len(group) for number, group in enumerate(groups)]).astype(object)
    found = standard_error(
        np.concatenate([w * g / len(g) for w, g in zip(weights, groups, strict=True)]), strata=strata
    )
    variances = [w**2 * g.var(ddof=1) / len(g) for w, g in zip(weights, groups, strict=True)]
    below = sum(v**2 / (len(g) - 1) for v, g in zip(variances, groups, strict=True))
    assert found.error == pytest.approx(np.sqrt(sum(variances)))
    assert found.freedom == pytest.approx(sum(variances) ** 2 / below)


def test_clusters_within_strata() -> None:
    """A difference of two means with clusters, as statsmodels has it but for its factor.

    For two strata statsmodels multiplies by G / (G - 1) * (N - 1) / (N - 2) of all clusters and items, `spread` by
    G / (G - 1) of either stratum.
    """
    rng = np.random.default_rng(4)
    side = np.repeat([1.0, 0.0], 60)
    codes = np.repeat(np.arange(24), 5)
    values = rng.normal(size=120) + rng.normal(size=24)[codes] + side
    means = np.where(side == 1, values[:60].mean(), values[60:].mean())
    weights = np.where(side == 1, 1 / 60, -1 / 60)
    strata = np.where(side == 1, "m", "f").astype(object)
    found = standard_error(weights * (values - means), codes.astype(object), strata)
    kwds = {"groups": codes, "use_correction": False}
    fit = sm.OLS(values, np.column_stack([np.ones(120), side])).fit(cov_type="cluster", cov_kwds=kwds)
    assert found.error == pytest.approx(fit.bse[1] * np.sqrt(12 / 11))
    assert found.clusters == 24
    assert 11 <= found.freedom <= 22


def test_strata_without_any_spread_have_none() -> None:
    strata = np.array(["a", "a", "b", "b", "b"], dtype=object)
    assert standard_error(np.array([1.0, 1.0, 2.0, 2.0, 2.0]), strata=strata) == StandardError(0.0, 3)


@given(st.integers(0, 10_000))
def test_neither_order_nor_names_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = labels(7, 6)
    values = clustered(rng, 7, 6, 0.3, 0.6)
    expected = of_mean(values, groups)
    order = rng.permutation(len(values))
    renamed = np.array([f"{hash(name)} {name}" for name in groups], dtype=object)
    for found in (of_mean(values[order], groups[order]), of_mean(values, renamed), of_mean(100 - values, groups)):
        assert found.error == pytest.approx(expected.error)
        assert (found.freedom, found.clusters) == (expected.freedom, expected.clusters)
        assert found.inflation == pytest.approx(expected.inflation)


def test_what_rounding_leaves_is_no_spread() -> None:
    """The mean of equal numbers may differ from them in the last digit."""
    values = np.full(12, 0.1) + 0.2
    assert values.mean() != values[0]
    assert of_mean(values).error == of_mean(values, labels(4, 3)).error == 0.0
    strata = np.array(["a"] * 6 + ["b"] * 6, dtype=object)
    assert standard_error(values / 7, strata=strata).error == 0.0
