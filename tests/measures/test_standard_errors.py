"""Standard errors against statsmodels and SciPy, and their invariances."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.measures.simulated import as_factor, clustered, labels, naive_df, target_factor
from tiltmeter.measures.estimates import Share, compute_two_sided_p
from tiltmeter.measures.factors import Factors, Labels
from tiltmeter.measures.standard_errors import Floats, StandardError, compute_standard_error


def mean_standard_error(values: Floats, factors: Factors | None = None) -> StandardError:
    return compute_standard_error((values - values.mean()) / len(values), factors)


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
    result = mean_standard_error(values, as_factor(groups))
    independent = stats.sem(values)
    assert clustered_error(values, groups) > independent
    assert result.value == pytest.approx(clustered_error(values, groups), rel=1e-12)
    assert (result.factor, result.clusters) == ("target", 12)
    assert result.design_effect == pytest.approx((result.value / independent) ** 2)
    assert result.df == pytest.approx(naive_df(groups, result.design_effect))
    assert 1 <= result.df < 11


@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.6])
def test_clusters_of_equal_size_have_one_degree_of_freedom_less_than_clusters(correlation: float) -> None:
    values = clustered(np.random.default_rng(2), 9, 12, correlation, 0.5)
    result = mean_standard_error(values, target_factor(9, 12))
    assert result.df == pytest.approx(8)
    assert naive_df(labels(9, 12), result.design_effect) == pytest.approx(8)


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
    assert clustered_error(values, labels(30, 2)) == pytest.approx(0.0)
    result = mean_standard_error(values, target_factor(30, 2))
    assert result.value == pytest.approx(stats.sem(values))
    assert (result.design_effect, result.df) == (1.0, 29)


def test_independent_standard_errors_match_scipy() -> None:
    values = np.random.default_rng(3).gamma(2, size=37)
    assert mean_standard_error(values) == StandardError(pytest.approx(stats.sem(values)), 36)


def test_items_that_are_clusters_of_their_own_are_independent() -> None:
    values = np.random.default_rng(5).normal(size=20)
    assert mean_standard_error(values, target_factor(20, 1)) == mean_standard_error(values)


def test_a_single_cluster_has_one_degree_of_freedom() -> None:
    values = np.random.default_rng(5).normal(size=20)
    expected = StandardError(pytest.approx(mean_standard_error(values).value), 1, 1, 1.0, "target")
    assert mean_standard_error(values, target_factor(1, 20)) == expected


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
    result = compute_standard_error(weights * (values - means), as_factor(codes.astype(object)), strata)
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
    expected = mean_standard_error(values, as_factor(groups))
    order = rng.permutation(len(values))
    renamed = np.array([f"{hash(name)} {name}" for name in groups], dtype=object)
    for result in (
        mean_standard_error(values[order], as_factor(groups[order])),
        mean_standard_error(values, as_factor(renamed)),
        mean_standard_error(100 - values, as_factor(groups)),
    ):
        assert result.value == pytest.approx(expected.value)
        assert (result.df, result.clusters) == (pytest.approx(expected.df), expected.clusters)
        assert result.design_effect == pytest.approx(expected.design_effect)


def test_rounding_errors_count_as_zero_variance() -> None:
    """The mean of equal numbers may differ from them by rounding."""
    values = np.full(12, 0.1) + 0.2
    assert values.mean() != values[0]
    assert mean_standard_error(values).value == mean_standard_error(values, target_factor(4, 3)).value == 0.0
    strata = np.array(["a"] * 6 + ["b"] * 6, dtype=object)
    assert compute_standard_error(values / 7, strata=strata).value == 0.0


# Crossed factors


def crossed_items(
    seed: int, counts: dict[str, int], n: int = 400, spread: float = 0.7
) -> tuple[Floats, dict[str, Labels]]:
    """Values with a random effect of each label; labels of a factor are used unequally often."""
    rng = np.random.default_rng(seed)
    values, columns = rng.normal(size=n), {}
    for name, count in counts.items():
        codes = rng.choice(count, n, p=rng.dirichlet(np.full(count, 3.0)))
        values += spread * rng.normal(size=count)[codes]
        columns[name] = np.array([f"{name} {code}" for code in codes], dtype=object)
    return values, columns


def naive_cluster_variance(influence: Floats, keys: list[str]) -> float:
    """G / (G - 1) times the sum of squares of the sums of clusters."""
    sums: dict[str, float] = {}
    for number, key in zip(influence, keys, strict=True):
        sums[key] = sums.get(key, 0.0) + float(number)
    return len(sums) / (len(sums) - 1) * sum(total**2 for total in sums.values())


COUNTS = {"target": 12, "word": 17, "template": 9}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("spread", [0.0, 0.7])
@pytest.mark.parametrize("names", [("target",), ("target", "word"), ("target", "word", "template")])
def test_crossed_factors_add_their_excess_variances(seed: int, spread: float, names: tuple[str, ...]) -> None:
    values, columns = crossed_items(seed, {name: COUNTS[name] for name in names}, spread=spread)
    result = mean_standard_error(values, Factors.from_labels(columns))
    influence = (values - values.mean()) / len(values)
    independent = stats.sem(values) ** 2
    single = {name: max(independent, naive_cluster_variance(influence, columns[name].tolist())) for name in names}
    together = independent + sum(variance - independent for variance in single.values())
    spreads = (single[name] ** 2 / naive_df(columns[name], single[name] / independent) for name in names)
    assert result.value**2 == pytest.approx(together)
    assert result.design_effect == pytest.approx(together / independent)
    assert result.df == pytest.approx(min(together**2 / sum(spreads), len(values) - 1))
    if spread:
        dominant = max(single, key=lambda name: single[name])
        assert (result.factor, result.clusters) == (dominant, COUNTS[dominant])


def test_crossed_factors_are_at_least_each_single_factor() -> None:
    for seed in range(40):
        values, columns = crossed_items(seed, {"target": 10, "word": 14}, n=60, spread=0.2)
        result = mean_standard_error(values, Factors.from_labels(columns))
        assert result.value >= max(mean_standard_error(values, as_factor(column)).value for column in columns.values())


def test_one_word_in_half_of_the_items_costs_degrees_of_freedom() -> None:
    """A word in half of the items determines the result if answers depend on words."""
    words = np.array(["frequent"] * 100 + [f"word {number}" for number in range(50)] * 2, dtype=object)
    values = clustered(np.random.default_rng(4), 200, 1, 0.0, 0.5)
    values[:100] = 100.0
    result = mean_standard_error(values, as_factor(words))
    assert result.clusters == 51
    assert result.df < 3
    assert result.df == pytest.approx(naive_df(words, result.design_effect))


@pytest.mark.parametrize("stratified", [False, True])
@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_order_of_items_and_of_factors_does_not_matter(stratified: bool, seed: int) -> None:
    values, columns = crossed_items(seed, COUNTS, n=150)
    columns["word"][::7] = None
    # Clusters within strata: the items of a target and of a word are in one stratum.
    strata = np.where(np.arange(150) % 2, "one", "other").astype(object) if stratified else None
    if strata is not None:
        columns = {
            name: np.array([x and f"{s} {x}" for s, x in zip(strata, column, strict=True)], dtype=object)
            for name, column in columns.items()
        }
    influence = (values - values.mean()) / len(values)
    expected = compute_standard_error(influence, Factors.from_labels(columns), strata)
    order = np.random.default_rng(seed).permutation(150)
    factors = Factors.from_labels(dict(reversed(columns.items())))
    result = compute_standard_error(
        influence[order], factors.select_rows(order), None if strata is None else strata[order]
    )
    assert (result.factor, result.clusters) == (expected.factor, expected.clusters)
    for name in ("value", "df", "design_effect"):
        assert getattr(result, name) == pytest.approx(getattr(expected, name))


def test_a_factor_with_too_few_clusters_is_named_although_another_is_larger() -> None:
    values, columns = crossed_items(3, {"target": 20})
    columns["template"] = np.array(["a", "b", "c", "d"] * 100, dtype=object)
    result = mean_standard_error(values, Factors.from_labels(columns))
    assert (result.factor, result.clusters) == ("template", 4)
    assert result.value >= mean_standard_error(values, as_factor(columns["target"])).value


def test_bias_of_words_rejects_too_often_if_only_targets_are_clusters() -> None:
    """Bias is attached to words, which are spread over the targets at random; there is no bias over all words."""
    rng, times, n = np.random.default_rng(7), 300, 600
    targets, words = np.repeat(np.arange(30), 20).astype(object), rng.permuted(np.arange(n) % 40).astype(object)
    one, both = as_factor(targets), Factors.from_labels({"target": targets, "word": words})
    rejected = {"one": 0, "both": 0}
    for _ in range(times):
        values = 100.0 * (rng.random(n) < np.clip(0.5 + rng.normal(0, 0.2, 40), 0, 1)[words.astype(int)])
        for name, factors in (("one", one), ("both", both)):
            rejected[name] += compute_two_sided_p(Share.from_values(values, factors), 50.0) < 0.05
    assert rejected["one"] / times > 0.15
    assert rejected["both"] / times <= 0.07


def test_clusters_of_unequal_sizes_within_strata_keep_their_degrees_of_freedom() -> None:
    """Strata and unequal sizes both limit the degrees of freedom; the limits are not subtracted from one another."""
    sizes = np.repeat([80, 12], [40, 60])
    words = np.repeat(np.arange(100), sizes).astype(object)
    strata = np.repeat(np.arange(100) % 25, sizes).astype(object)
    influence = np.random.default_rng(8).normal(size=len(words)) / len(words)
    factors = Factors.from_labels({"word": words})
    result, plain = compute_standard_error(influence, factors, strata), compute_standard_error(influence, factors)
    assert 20 < result.df <= plain.df
