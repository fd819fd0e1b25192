"""Estimates against SciPy, statsmodels and published values; agreement of intervals and tests."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

from tests.measures.simulated import as_factor, clustered, labels, percentages, skewed, target_factor
from tiltmeter.measures.estimates import (
    LEVEL,
    Estimate,
    Mean,
    Minimum,
    PairedMean,
    Ratio,
    Share,
    WeightedShares,
    compute_detectable_effect,
    compute_equivalence_p,
    compute_mid_p,
    compute_two_sided_p,
)
from tiltmeter.measures.standard_errors import Floats, StandardError, compute_standard_error


def of_counts(ups: int, downs: int, ties: int = 0) -> Share:
    return Share.from_values(np.array([100.0] * ups + [0.0] * downs + [50.0] * ties))


def mid_p_sum(count: int, n: int, share: float) -> float:
    """P(X > count) + P(X = count) / 2, as a sum over the distribution."""
    return float(sum(stats.binom.pmf(range(count + 1, n + 1), n, share)) + stats.binom.pmf(count, n, share) / 2)


# Share


@given(st.integers(1, 60), st.data())
def test_mid_p_matches_a_sum_over_the_binomial_distribution(n: int, data: st.DataObject) -> None:
    count, share = data.draw(st.integers(0, n)), data.draw(st.floats(0.01, 0.99))
    assert compute_mid_p(count, n, share) == pytest.approx(mid_p_sum(count, n, share), rel=1e-9, abs=1e-15)
    assert compute_mid_p(count, n, share) + compute_mid_p(n - count, n, 1 - share) == pytest.approx(1.0)


@given(st.integers(1, 40), st.integers(1, 40))
def test_the_test_of_a_share_is_the_mid_p_binomial_test(ups: int, downs: int) -> None:
    share = of_counts(ups, downs)
    n = ups + downs
    assert share.size == pytest.approx(n)
    expected = min(1.0, 2 * min(mid_p_sum(ups, n, 0.5), mid_p_sum(downs, n, 0.5)))
    assert compute_two_sided_p(share, 50.0) == pytest.approx(expected)
    # The exact p-value minus half of the probability of the observed count.
    exact = stats.binomtest(ups, n, 0.5, alternative="greater").pvalue
    assert share.compute_p_above(50.0) == pytest.approx(exact - stats.binom.pmf(ups, n, 0.5) / 2)


@pytest.mark.parametrize(
    ("count", "n", "ends"),
    [
        (81, 263, (0.2544, 0.3658)),
        (15, 148, (0.0601, 0.1581)),
        (0, 20, (0.0, 0.1391)),
        (1, 29, (0.0017, 0.1585)),
    ],
)
def test_mid_p_intervals_match_newcombe(count: int, n: int, ends: tuple[float, float]) -> None:
    """Newcombe 1998, Two-sided confidence intervals for the single proportion, table I, mid-P."""
    low, high = of_counts(count, n - count).interval()
    assert (round(low / 100, 4), round(high / 100, 4)) == ends


def test_standard_error_matches_steinborn_et_al() -> None:
    """Section 3.2: a share of 0.55 of 200 pairs has a standard error of 3.5."""
    assert of_counts(110, 90).standard_error.value == pytest.approx(3.5, abs=0.05)


def test_ties_narrow_the_interval_of_a_share() -> None:
    with_ties = of_counts(30, 20, 50)
    assert with_ties.value == 55.0
    assert with_ties.size > 100
    # Close to the t-test.
    values = np.array([100.0] * 30 + [0.0] * 20 + [50.0] * 50)
    assert compute_two_sided_p(with_ties, 50.0) == pytest.approx(stats.ttest_1samp(values, 50.0).pvalue, abs=0.01)


def test_with_ties_the_size_is_estimated_and_student_t_is_used() -> None:
    """Six preferences for one side and four ties: the variance is estimated from ten items."""
    values = np.array([100.0] * 6 + [50.0] * 4)
    share = Share.from_values(values)
    assert share.size == pytest.approx(0.8 * 0.2 / (share.standard_error.value / 100) ** 2)
    z = stats.norm.ppf(compute_mid_p(0.8 * share.size, share.size, 0.6))
    assert share.compute_p_above(60.0) == pytest.approx(stats.t.cdf(z, 9))
    # Without ties the test is binomial.
    assert of_counts(8, 2).compute_p_above(60.0) == pytest.approx(mid_p_sum(8, 10, 0.6))


def test_all_ties_are_treated_as_n_coin_tosses() -> None:
    assert of_counts(0, 0, 40).interval() == pytest.approx(of_counts(20, 20).interval())
    assert of_counts(1, 0).interval() == pytest.approx((5.0, 100.0))


def test_unanimous_items_have_intervals_of_positive_width() -> None:
    low, high = of_counts(10, 0).interval()
    assert (low, high) == (pytest.approx(100 * 0.05**0.1), 100.0)
    low, high = of_counts(0, 10).interval()
    assert (low, high) == (0.0, pytest.approx(100 - 100 * 0.05**0.1))


@pytest.mark.parametrize(("clusters", "each", "correlation"), [(6, 2_000, 0.003), (10, 800, 0.01), (79, 54, 0.04)])
def test_p_values_of_clustered_items_follow_student_t(clusters: int, each: int, correlation: float) -> None:
    """With many items, the test of a clustered share is a t-test of cluster means, also in the far tail."""
    values = clustered(np.random.default_rng(3), clusters, each, correlation, 0.55)
    share = Share.from_values(values, target_factor(clusters, each))
    deff = (share.standard_error.value / stats.sem(values)) ** 2
    assert deff > 1.5
    assert share.size == pytest.approx((clusters * each - 1) / deff, rel=1e-6)
    means = values.reshape(clusters, each).mean(axis=1)
    for at in (share.value - reach * share.standard_error.value for reach in (-5, -2, -1, 1, 2, 5)):
        expected = stats.ttest_1samp(means, at, alternative="greater").pvalue
        tail = min(expected, 1 - expected)
        result = min(share.compute_p_above(at), share.compute_p_below(at))
        assert math.log(result) == pytest.approx(math.log(tail), abs=0.1 + 0.03 * abs(math.log(tail)))
        assert (share.compute_p_above(at), share.compute_p_below(at)) == pytest.approx(
            (expected, 1 - expected), abs=0.01
        )


def test_unanimous_clusters_are_less_certain_if_there_are_fewer() -> None:
    ends = [
        Share.from_values(np.full(120, 100.0), target_factor(count, 120 // count)).interval()[0]
        for count in (1, 5, 10, 120)
    ]
    assert ends == sorted(ends)
    assert ends[0] < 70
    assert ends[-1] == pytest.approx(Share.from_values(np.full(120, 100.0)).interval()[0], abs=0.1)


# Mean, Ratio


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=30), st.floats(-3, 3))
def test_without_skewness_the_mean_is_a_t_test(values: list[float], at: float) -> None:
    numbers = np.array(values)
    assume(np.ptp(numbers) > 1e-3)
    mean = Mean(float(numbers.mean()), compute_standard_error((numbers - numbers.mean()) / len(numbers)))
    expected = stats.ttest_1samp(numbers, at)
    assert compute_two_sided_p(mean, at) == pytest.approx(expected.pvalue, rel=1e-6, abs=1e-12)
    assert mean.compute_p_above(at) == pytest.approx(
        stats.ttest_1samp(numbers, at, alternative="greater").pvalue, rel=1e-6
    )
    ends = expected.confidence_interval(LEVEL)
    assert mean.interval() == pytest.approx((ends.low, ends.high))


def test_symmetric_numbers_have_no_skewness_to_correct() -> None:
    numbers = np.array([-3.0, -1.0, 0.0, 1.0, 3.0, 5.0, -5.0]) + 2
    assert Mean.from_values(numbers).skewness == pytest.approx(0.0, abs=1e-12)
    assert compute_two_sided_p(Mean.from_values(numbers), 0.0) == pytest.approx(stats.ttest_1samp(numbers, 0.0).pvalue)


def test_skewness_matches_scipy() -> None:
    numbers = skewed(np.random.default_rng(2), 80)
    assert Mean.from_values(numbers).skewness == pytest.approx(stats.skew(numbers) / math.sqrt(80))
    assert Mean.from_values(numbers, target_factor(8, 10)).skewness == 0.0


def test_the_correction_for_skewness_is_hall_s_transformation() -> None:
    """Hall 1992: t + γ t² / 3 + γ² t³ / 27 + γ / 6 with γ = skewness / √n."""
    numbers = skewed(np.random.default_rng(4), 60)
    mean = Mean.from_values(numbers)
    gamma = stats.skew(numbers) / math.sqrt(60)

    def transformed(at: float) -> float:
        t = (numbers.mean() - at) / stats.sem(numbers)
        return float(t + gamma * t**2 / 3 + gamma**2 * t**3 / 27 + gamma / 6)

    for at in (-0.6, -0.2, 0.0, 0.3, 0.8):
        t = float((numbers.mean() - at) / stats.sem(numbers))
        for tail, side in ((mean.compute_p_above(at), 1), (mean.compute_p_below(at), -1)):
            assert tail == pytest.approx(max(stats.t.sf(side * t, 59), stats.t.sf(side * transformed(at), 59)))
    reach = stats.t.ppf(0.975, 59)
    halls = [brentq(lambda at, q=q: transformed(at) - q, -20, 20) for q in (reach, -reach)]
    plain = [numbers.mean() - reach * stats.sem(numbers), numbers.mean() + reach * stats.sem(numbers)]
    assert mean.interval() == pytest.approx((min(halls + plain), max(halls + plain)))
    assert mean.interval()[1] > plain[1]  # the population is skewed to the right


def test_the_correction_for_skewness_controls_the_type_i_error() -> None:
    """Student's t alone has a type I error of 13% with 20 pairs of this population, and 10% with 60."""
    rng = np.random.default_rng(6)
    drawn = [skewed(rng, 60) for _ in range(1_200)]
    plain = np.mean([stats.ttest_1samp(numbers, 0.0).pvalue < 0.05 for numbers in drawn[:300]])
    assert plain > 0.08
    assert np.mean([compute_two_sided_p(Mean.from_values(numbers), 0.0) < 0.05 for numbers in drawn]) < 0.065


def test_equal_numbers_have_an_interval_of_width_zero() -> None:
    mean = Mean.from_values(np.full(4, 2.0))
    assert mean.interval() == (2.0, 2.0)
    assert (mean.compute_p_above(1.0), mean.compute_p_above(2.0), mean.compute_p_above(3.0)) == (0.0, 0.5, 1.0)
    assert (mean.compute_p_below(1.0), mean.compute_p_below(2.0), mean.compute_p_below(3.0)) == (1.0, 0.5, 0.0)


def test_equivalence_matches_statsmodels() -> None:
    """TOST of a mean difference, paired and of two samples."""
    rng = np.random.default_rng(1)
    first = rng.normal(0.1, 1.0, 50)
    second = first + rng.normal(0.05, 0.3, 50)
    differences = first - second
    paired = Mean(float(differences.mean()), compute_standard_error((differences - differences.mean()) / 50))
    assert compute_equivalence_p(paired, -0.2, 0.2) == pytest.approx(ttost_paired(first, second, -0.2, 0.2)[0])
    assert compute_equivalence_p(paired, -0.1, 0.4) == pytest.approx(ttost_paired(first, second, -0.1, 0.4)[0])
    third = rng.normal(0.0, 2.0, 80)
    strata = np.array(["one"] * 50 + ["third"] * 80, dtype=object)
    result = compute_standard_error(np.concatenate([first / 50, -third / 80]), strata=strata)
    welch = Mean(float(first.mean() - third.mean()), result)
    assert compute_equivalence_p(welch, -0.5, 0.5) == pytest.approx(
        ttost_ind(first, third, -0.5, 0.5, usevar="unequal")[0]
    )


@given(st.floats(-2, 2), st.floats(0.01, 1), st.integers(2, 100), st.floats(0.2, 5))
def test_a_ratio_is_a_mean_of_logarithms(log: float, error: float, freedom: int, at: float) -> None:
    mean = Mean(log, StandardError(error, freedom))
    ratio = Ratio(mean)
    assert ratio.value == pytest.approx(math.exp(log))
    assert np.log(ratio.interval()) == pytest.approx(np.array(mean.interval()))
    assert (ratio.compute_p_above(at), ratio.compute_p_below(at)) == (
        mean.compute_p_above(math.log(at)),
        mean.compute_p_below(math.log(at)),
    )
    assert compute_two_sided_p(ratio, at) == pytest.approx(2 * stats.t.sf(abs(log - math.log(at)) / error, freedom))
    mirrored = Ratio(Mean(-log, StandardError(error, freedom)))
    assert mirrored.interval() == pytest.approx((1 / ratio.interval()[1], 1 / ratio.interval()[0]))


# Rates


def cautious(newcombe: tuple[float, float], value: float, variance: float) -> tuple[float, float]:
    """The wider of Newcombe's interval and the normal approximation."""
    reach = 1.959963984540054 * math.sqrt(variance)
    return min(newcombe[0], value - reach), max(newcombe[1], value + reach)


@given(st.integers(2, 60), st.data())
def test_one_rate_has_the_wilson_interval_of_n_minus_1(n: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, n))
    result = WeightedShares(np.array([1.0]), np.array([float(count)]), np.array([float(n)])).interval()
    share = count / n
    wilson = proportion_confint((n - 1) * share, n - 1, method="wilson")
    assert result == pytest.approx(cautious(wilson, share, share * (1 - share) / (n - 1)), abs=1e-12)
    if count in (0, n):
        assert result == pytest.approx(wilson, abs=1e-12)


@given(st.integers(2, 80), st.integers(2, 80), st.data())
def test_a_difference_of_two_rates_has_newcombe_s_interval(n: int, m: int, data: st.DataObject) -> None:
    """statsmodels accepts fractional counts, so that shares stay the same with n - 1 items."""
    ups, downs = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    rates = WeightedShares(np.array([1.0, -1.0]), np.array([ups, downs], dtype=float), np.array([n, m], dtype=float))
    newcombe = confint_proportions_2indep(
        ups * (n - 1) / n, n - 1, downs * (m - 1) / m, m - 1, compare="diff", method="newcomb"
    )
    first, second = ups / n, downs / m
    variance = first * (1 - first) / (n - 1) + second * (1 - second) / (m - 1)
    assert rates.interval() == pytest.approx(cautious(newcombe, first - second, variance), abs=1e-9)


@pytest.mark.parametrize(
    ("ups", "n", "downs", "m", "end", "printed"),
    [(56, 70, 48, 80, 0, 0.0524), (9, 10, 3, 10, 0, 0.1705), (10, 10, 0, 20, 0, 0.6791), (10, 10, 0, 10, 1, 1.0)],
)
def test_differences_of_rates_match_newcombe(ups: int, n: int, downs: int, m: int, end: int, printed: float) -> None:
    """Newcombe 1998, Interval estimation for the difference, table II, method 10."""
    more, less = (n + 1) / n, (m + 1) / m
    rates = WeightedShares(np.array([1.0, -1.0]), np.array([ups * more, downs * less]), np.array([n + 1.0, m + 1.0]))
    assert round(rates.interval()[end], 4) == printed


def test_many_rates_are_combined_like_standard_errors() -> None:
    """Zou and Donner 2008: the root of the weighted sum of squared distances of the ends."""
    counts, sizes = np.array([30.0, 12.0, 50.0, 9.0]), np.array([40.0, 50.0, 60.0, 45.0])
    weights = np.array([0.5, 0.5, -0.25, -0.75])
    rates = WeightedShares(weights, counts, sizes, constant=0.1)
    shares = counts / sizes
    ends = [proportion_confint((n - 1) * p, n - 1, method="wilson") for p, n in zip(shares, sizes, strict=True)]
    lows, highs = np.array(ends).T
    value = float(weights @ shares) + 0.1
    near = np.where(weights > 0, shares - lows, highs - shares)
    far = np.where(weights > 0, highs - shares, shares - lows)
    assert rates.value == pytest.approx(value)
    zou = value - np.sqrt(np.sum((weights * near) ** 2)), value + np.sqrt(np.sum((weights * far) ** 2))
    variance = float(np.sum(weights**2 * shares * (1 - shares) / (sizes - 1)))
    assert rates.interval() == pytest.approx(cautious(zou, value, variance))
    assert rates.standard_error.value == pytest.approx(math.sqrt(variance))
    extreme = WeightedShares(weights, np.array([0.0, 50.0, 60.0, 1.0]), sizes)
    assert extreme.interval()[0] < extreme.value - 1.96 * extreme.standard_error.value - 0.01


def test_p_values_of_many_rates_are_not_smaller_than_normal_ones() -> None:
    """Wilson intervals are bounded by 0 and 1, so that p would become 0 for any large f_s."""
    weights = np.array([1 / 9] * 9 + [-1 / 7] * 7)
    rates = WeightedShares(weights, np.array([18.0] * 9 + [6.0] * 7), np.full(16, 20.0))
    z = rates.value / rates.standard_error.value
    assert compute_two_sided_p(rates, 0.0) == pytest.approx(2 * stats.norm.sf(z), rel=1e-6)


def test_rates_that_are_all_one_have_an_interval_of_positive_width() -> None:
    """All shares are 1 and the standard error is 0; interval and detectable effect are positive."""
    rates = WeightedShares(np.array([1 / 9] * 9 + [-1 / 7] * 7), np.full(16, 20.0), np.full(16, 20.0))
    low, high = rates.interval()
    assert rates.standard_error.value == 0
    assert -0.1 < low < -0.05 < 0.05 < high < 0.1
    assert compute_two_sided_p(rates, 0.0) == pytest.approx(1.0)
    assert compute_detectable_effect(rates, 0.05) == pytest.approx((high - low) / 2 * (1.959964 + 0.841621) / 1.959964)
    # Values above 1 are impossible.
    single = WeightedShares(np.array([1.0]), np.array([20.0]), np.array([20.0]))
    assert (single.compute_p_below(1.1), single.compute_p_above(1.1)) == (0.0, 1.0)


# Paired


def differences(ups: int, downs: int, same: int) -> Floats:
    return np.array([100.0] * ups + [-100.0] * downs + [0.0] * same)


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 400))
def test_the_paired_test_is_the_more_conservative_of_t_and_mcnemar(ups: int, downs: int, same: int) -> None:
    values = differences(ups, downs, same)
    assume(len(values) > 2)
    paired = PairedMean.from_differences(values)
    mcnemar = min(1.0, 2 * min(mid_p_sum(ups, ups + downs, 0.5), mid_p_sum(downs, ups + downs, 0.5)))
    assert compute_two_sided_p(paired, 0.0) == pytest.approx(
        max(mcnemar, stats.ttest_1samp(values, 0.0).pvalue), rel=1e-6
    )
    low, high = paired.interval()
    ends = stats.ttest_1samp(values, 0.0).confidence_interval()
    assert low <= ends.low + 1e-9
    assert high >= ends.high - 1e-9


def test_mcnemar_mid_p_matches_fagerland_et_al() -> None:
    """Fagerland, Lydersen and Laake 2013, table 5: 1 against 7 of 21, mid-P 0.039; the t-test has 0.030 there."""
    paired = PairedMean.from_differences(differences(7, 1, 13))
    assert round(compute_two_sided_p(paired, 0.0), 3) == 0.039
    assert stats.ttest_1samp(differences(7, 1, 13), 0.0).pvalue < 0.039


def test_two_discordant_items_of_a_thousand_are_not_significant() -> None:
    assert compute_two_sided_p(PairedMean.from_differences(differences(2, 0, 998)), 0.0) == pytest.approx(0.25)
    assert compute_two_sided_p(PairedMean.from_differences(differences(0, 5, 995)), 0.0) == pytest.approx(2 / 2**5 / 2)


def test_without_discordant_items_the_interval_depends_on_n() -> None:
    paired = PairedMean.from_differences(np.zeros(20))
    assert paired.interval() == pytest.approx((-100 * (1 - 0.025**0.05), 100 * (1 - 0.025**0.05)))
    assert compute_two_sided_p(paired, 0.0) == 1.0
    assert paired.compute_p_below(10.0) == pytest.approx(0.9**20)
    assert paired.compute_p_above(-10.0) == pytest.approx(0.9**20)
    assert paired.compute_p_above(10.0) == paired.compute_p_below(-10.0) == 1.0


def test_a_single_discordant_item_allows_equivalence() -> None:
    """One of 4,000 items differs, which is within any margin."""
    for values in (differences(1, 0, 3_999), differences(0, 1, 3_999)):
        assert compute_equivalence_p(PairedMean.from_differences(values), -5.0, 5.0) < 1e-12


def test_half_differences_count_as_discordant_items() -> None:
    """Ten ties of one model against ten preferences of the other: ten discordant items, not five."""
    halves = PairedMean.from_differences(np.array([50.0] * 9 + [-50.0] + [0.0] * 40))
    wholes = PairedMean.from_differences(np.array([100.0] * 9 + [-100.0] + [0.0] * 40))
    assert (halves.ups, halves.downs, halves._size) == (4.5, 0.5, 10.0)
    assert compute_two_sided_p(halves, 0.0) == pytest.approx(compute_two_sided_p(wholes, 0.0))
    assert halves.interval() == pytest.approx(tuple(end / 2 for end in wholes.interval()))
    mixed = PairedMean.from_differences(np.array([100.0] * 5 + [50.0] * 10 + [0.0] * 40))
    assert mixed._size == pytest.approx(10**2 / 7.5)


def test_clustered_discordant_items_have_a_smaller_effective_number() -> None:
    values = np.concatenate(
        [differences(8, 0, 12), differences(0, 5, 15), differences(6, 0, 34), differences(1, 0, 39)]
    )
    groups = np.array(["a"] * 20 + ["b"] * 20 + ["c"] * 40 + ["d"] * 40, dtype=object)
    alone, together = PairedMean.from_differences(values), PairedMean.from_differences(values, as_factor(groups))
    assert together.standard_error.design_effect > 2
    assert compute_two_sided_p(together, 0.0) > 2 * compute_two_sided_p(alone, 0.0)
    # The effective number of discordant items is divided by the design effect, and again for few clusters (t for z).
    few = (1.959964 / stats.t.ppf(0.975, together.standard_error.df)) ** 2
    assert 2 < together.standard_error.df < 3
    assert together._size == pytest.approx(20 / together.standard_error.design_effect * few, rel=1e-6)


# Minimum


def icat_like_minimum(
    rng: np.random.Generator, n: int, ss: float, lms: float = 0.85, *, ceiling: bool = True
) -> Minimum:
    sense, preference = percentages(rng, n, lms), percentages(rng, n, ss)
    high, low = sense * preference / 100, sense * (100 - preference) / 100
    return Minimum(
        [Mean.from_values(2 * high), Mean.from_values(2 * low)], ceiling=Share.from_values(sense) if ceiling else None
    )


def test_the_interval_of_a_minimum_combines_those_of_its_pieces() -> None:
    pieces = [Mean(40.0, StandardError(3.0, 50)), Mean(42.0, StandardError(2.0, 50))]
    result = Minimum(pieces)
    assert (result.value, result.standard_error) == (40.0, pieces[0].standard_error)
    low, high = result.interval()
    assert low == pieces[0].interval()[0]
    # Either may be the minimum: each gets 0.7 of the error rate at the upper end.
    assert high == pytest.approx(min(piece.interval(1 - 0.7 * 0.05)[1] for piece in pieces))
    apart = Minimum([pieces[0], Mean(60.0, StandardError(2.0, 50))])
    assert apart.interval() == pieces[0].interval()


def test_the_interval_of_a_minimum_respects_bounds_and_ceiling() -> None:
    high = Mean(98.0, StandardError(3.0, 50))
    assert Minimum([high, high]).interval()[1] == 100.0
    assert Minimum([Mean(1.0, StandardError(3.0, 50))] * 2).interval()[0] == 0.0
    ceiling = Mean(90.0, StandardError(1.0, 50))
    assert Minimum([high, high], ceiling=ceiling).interval()[1] == pytest.approx(ceiling.interval(0.99)[1])


# Properties of all estimates


def drawn_estimates(seed: int) -> list[Estimate]:
    """One estimate of each kind, with and without clusters, many near the bounds of their scales."""
    rng = np.random.default_rng(seed)
    share = float(rng.choice([0.05, 0.3, 0.5, 0.8, 0.97]))
    n = int(rng.integers(5, 80))
    clusters, each = int(rng.integers(2, 15)), int(rng.integers(2, 20))
    groups = target_factor(clusters, each)
    thirds = np.round(rng.random(clusters * each) * 2) * 50.0
    numbers = skewed(rng, max(8, n))
    pairs = rng.choice([-100.0, -50.0, 0.0, 100.0], n, p=[0.05, 0.1, 0.6, 0.25])
    rows = rng.choice([-100.0, 0.0, 100.0], clusters * each, p=[0.2, 0.7, 0.1])
    sizes = rng.integers(3, 60, 6).astype(float)
    counts = np.array([rng.binomial(int(size), share) for size in sizes], dtype=float)
    weights = np.array([0.3, 0.5, 0.2, -0.4, -0.5, -0.1])
    return [
        Share.from_values(percentages(rng, n, share)),
        Share.from_values(thirds),
        Share.from_values(clustered(rng, clusters, each, 0.2, share), groups),
        Share.from_values(percentages(rng, n, share) / 100, maximum=1.0),
        Mean.from_values(numbers),
        Mean.from_values(-numbers),
        Mean.from_values(clustered(rng, clusters, each, 0.2, 0.5), groups),
        Ratio(Mean(float(rng.normal(0, 0.5)), StandardError(float(rng.uniform(0.05, 0.5)), float(rng.uniform(2, 50))))),
        WeightedShares(weights, counts, sizes, constant=0.05),
        PairedMean.from_differences(pairs),
        PairedMean.from_differences(rows, groups),
        PairedMean.from_differences(np.abs(pairs)),
        PairedMean.from_differences(np.zeros(n)),
        icat_like_minimum(rng, 200, float(rng.choice([0.5, 0.6]))),
        icat_like_minimum(rng, 60, 0.7, ceiling=False),
    ]


def scale(estimate: Estimate) -> tuple[float, float]:
    """The range of null values to test, slightly inside the bounds."""
    if isinstance(estimate, Share):
        return 0.001 * estimate.maximum, 0.999 * estimate.maximum
    if isinstance(estimate, Minimum):
        return 0.01, 99.9
    if isinstance(estimate, PairedMean):
        return -99.9, 99.9
    if isinstance(estimate, Ratio):
        return 0.01, 100.0
    reach = 8 * max(estimate.standard_error.value, 0.01)
    return estimate.value - reach, estimate.value + reach


KINDS = [f"{type(estimate).__name__} {number}" for number, estimate in enumerate(drawn_estimates(0))]


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
@given(st.integers(0, 2**31), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.99]))
@settings(max_examples=15)
def test_intervals_exclude_what_the_test_rejects(kind: int, seed: int, where: float, level: float) -> None:
    estimate = drawn_estimates(seed)[kind]
    bottom, top = scale(estimate)
    low, high = estimate.interval(level)
    assert low <= estimate.value + 1e-9
    assert estimate.value <= high + 1e-9
    for at in (
        bottom + where * (top - bottom),
        *(end + step * (high - low) for end in (low, high) for step in (-1e-4, 1e-4)),
    ):
        if bottom < at < top:
            rejected = compute_two_sided_p(estimate, at) < 1 - level
            assert rejected == (not low <= at <= high), (at, low, high, compute_two_sided_p(estimate, at))
            assert (estimate.compute_p_above(at) < (1 - level) / 2) == (at < low)
            assert (estimate.compute_p_below(at) < (1 - level) / 2) == (at > high)


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
@given(st.integers(0, 2**31), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=15)
def test_equivalence_is_shown_where_the_interval_lies_within(kind: int, seed: int, first: float, second: float) -> None:
    """TOST at 2.5% per side is the inclusion of the 95% interval."""
    estimate = drawn_estimates(seed)[kind]
    bottom, top = scale(estimate)
    low, high = estimate.interval()
    left, right = sorted(bottom + share * (top - bottom) for share in (first, second))
    near = 1e-6 * (top - bottom)
    assume(abs(left - low) > near)
    assume(abs(right - high) > near)
    assert (compute_equivalence_p(estimate, left, right) < 0.025) == (left < low and high < right)


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
@given(st.integers(0, 2**31))
@settings(max_examples=15)
def test_p_values_are_monotonic_and_never_both_significant(kind: int, seed: int) -> None:
    estimate = drawn_estimates(seed)[kind]
    at = np.linspace(*scale(estimate), 15)
    above, below = (np.array([tail(x) for x in at]) for tail in (estimate.compute_p_above, estimate.compute_p_below))
    assert ((above >= 0) & (above <= 1) & (below >= 0) & (below <= 1)).all()
    if isinstance(estimate, Minimum):
        # The one-sided p-values of a minimum need not add up to 1.
        assert (np.maximum(above, below) > 0.2).all()
    else:
        assert (above + below >= 1 - 1e-9).all()
    if not isinstance(estimate, PairedMean) or estimate.ups + estimate.downs:
        assert (np.diff(above) >= -1e-9).all()
        assert (np.diff(below) <= 1e-9).all()


@given(st.integers(0, 2**31))
@settings(max_examples=40)
def test_mirrored_items_have_mirrored_intervals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    clusters, each = int(rng.integers(2, 12)), int(rng.integers(1, 12))
    groups = target_factor(clusters, each) if rng.random() < 0.5 else None
    preferences = clustered(rng, clusters, each, 0.3, 0.7)
    numbers = skewed(rng, clusters * each)
    signs = rng.choice([-100.0, 0.0, 100.0], clusters * each)
    counts, sizes = rng.integers(0, 20, 4).astype(float), np.full(4, 20.0)
    weights = np.array([0.5, 0.5, -0.3, -0.7])
    for first, second, middle in (
        (Share.from_values(preferences, groups), Share.from_values(100 - preferences, groups), 100.0),
        (Mean.from_values(numbers, groups), Mean.from_values(-numbers, groups), 0.0),
        (PairedMean.from_differences(signs, groups), PairedMean.from_differences(-signs, groups), 0.0),
        (WeightedShares(weights, counts, sizes), WeightedShares(-weights, counts, sizes), 0.0),
    ):
        low, high = first.interval()
        assert second.interval() == pytest.approx((middle - high, middle - low), abs=1e-8)
        at = first.value - 0.7 * first.standard_error.value
        assert first.compute_p_above(at) == pytest.approx(second.compute_p_below(middle - at), abs=1e-12)
    mirrored = WeightedShares(weights, sizes - counts, sizes, constant=-float(weights.sum()))
    low, high = WeightedShares(weights, counts, sizes).interval()
    assert mirrored.interval() == pytest.approx((-high, -low))


@given(st.integers(0, 2**31))
@settings(max_examples=40)
def test_the_order_of_items_and_the_names_of_clusters_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    clusters, each = int(rng.integers(2, 10)), int(rng.integers(1, 10))
    terms = labels(clusters, each)
    groups, order = as_factor(terms), rng.permutation(len(terms))
    renamed = as_factor(np.array([name[::-1] for name in terms], dtype=object)[order])
    preferences = clustered(rng, clusters, each, 0.3, 0.6)
    numbers = skewed(rng, clusters * each)
    signs = rng.choice([-100.0, -50.0, 0.0, 100.0], clusters * each)
    for make, values in (
        (Share.from_values, preferences),
        (Mean.from_values, numbers),
        (PairedMean.from_differences, signs),
    ):
        assert make(values[order], renamed).interval() == pytest.approx(make(values, groups).interval(), abs=1e-7)
        assert make(values[order]).interval() == pytest.approx(make(values).interval(), abs=1e-7)


@pytest.mark.parametrize("mirrored", [False, True])
def test_p_values_have_no_lower_bound(mirrored: bool) -> None:
    """Holm's method multiplies p by the size of the family, so p must be able to fall below 1 / size."""
    rng = np.random.default_rng(1)
    sign = -1 if mirrored else 1
    preferences = 50 + sign * (percentages(rng, 2_133, 0.8) - 50)
    signs = sign * rng.choice([100.0, -100.0, 0.0], 2_133, p=[0.3, 0.05, 0.65])
    counts = np.array([150.0] * 9 + [80.0] * 7)
    estimates: list[tuple[Estimate, float]] = [
        (Share.from_values(preferences), 50.0),
        (Share.from_values(preferences, target_factor(79, 27)), 50.0),
        (Mean.from_values(sign * (skewed(rng, 400) + 3)), 0.0),
        (Mean.from_values(preferences, target_factor(79, 27)), 50.0),
        (Ratio(Mean(sign * 1.0, StandardError(0.05, 200))), 1.0),
        (WeightedShares(np.array([sign / 9] * 9 + [-sign / 7] * 7), counts, np.full(16, 200.0)), 0.0),
        (PairedMean.from_differences(signs), 0.0),
        (PairedMean.from_differences(signs, target_factor(79, 27)), 0.0),
    ]
    for estimate, ideal in estimates:
        assert 0 < compute_two_sided_p(estimate, ideal) < 1e-12, estimate
        tails = estimate.compute_p_above(ideal), estimate.compute_p_below(ideal)
        assert min(tails) == tails[0 if not mirrored else 1]


def test_far_tails_are_equally_precise_on_both_sides() -> None:
    """1 - p has no precision below 1e-16."""
    n, count = 600, 480
    expected = stats.binom.sf(count, n, 0.5) + stats.binom.pmf(count, n, 0.5) / 2
    assert of_counts(count, n - count).compute_p_above(50.0) == pytest.approx(expected, rel=1e-6)
    assert of_counts(n - count, count).compute_p_below(50.0) == pytest.approx(expected, rel=1e-6)
    assert PairedMean.from_differences(differences(480, 120, 0)).compute_p_above(0.0) >= expected * 0.999


# Minimum detectable effects


@pytest.mark.parametrize("n", [40, 105, 212, 1508, 4229])
def test_power_of_a_share_at_its_detectable_effect(n: int) -> None:
    """The exact power of the discrete mid-P test at the detectable effect is about 80%."""
    share = of_counts(n // 2, n - n // 2)
    effect = compute_detectable_effect(share, 0.05)
    counts = np.arange(n + 1)
    rejected = [2 * min(compute_mid_p(k, n, 0.5), compute_mid_p(n - k, n, 0.5)) < 0.05 for k in counts]
    power = float(stats.binom.pmf(counts, n, 0.5 + effect / 100)[rejected].sum())
    assert power == pytest.approx(0.8, abs=0.05 if n < 200 else 0.015)
    assert effect == pytest.approx(100 * (1.959964 + 0.841621) / 2 / math.sqrt(n), rel=0.1)


def test_detectable_effect_of_too_few_items_is_the_maximum() -> None:
    assert compute_detectable_effect(of_counts(2, 1), 0.05) == 50.0
    assert (
        compute_detectable_effect(of_counts(200, 100), 0.05) < compute_detectable_effect(of_counts(20, 10), 0.05) < 50.0
    )


def test_detectable_effect_of_a_mean_matches_the_textbook_formula() -> None:
    mean = Mean(0.3, StandardError(0.2, 19))
    assert compute_detectable_effect(mean, 0.05) == pytest.approx(0.2 * (stats.t.ppf(0.975, 19) + stats.t.ppf(0.8, 19)))
    assert compute_detectable_effect(Ratio(mean), 0.05) == compute_detectable_effect(mean, 0.05)
    assert compute_detectable_effect(mean, 0.05, power=0.9) > compute_detectable_effect(mean, 0.05)
    assert compute_detectable_effect(mean, 0.01) > compute_detectable_effect(mean, 0.05)


def test_clusters_increase_the_detectable_effect() -> None:
    values = clustered(np.random.default_rng(2), 10, 40, 0.1, 0.5)
    alone, together = Share.from_values(values), Share.from_values(values, target_factor(10, 40))
    wider = together.standard_error.value / alone.standard_error.value
    student = (stats.t.ppf(0.975, 9) + stats.t.ppf(0.8, 9)) / (1.959964 + 0.841621)
    assert compute_detectable_effect(together, 0.05) / compute_detectable_effect(alone, 0.05) == pytest.approx(
        wider * student, rel=0.03
    )


def test_detectable_effect_of_rates_is_close_to_the_normal_formula() -> None:
    rates = WeightedShares(np.array([1 / 9] * 9 + [-1 / 7] * 7), np.full(16, 100.0), np.full(16, 200.0))
    assert compute_detectable_effect(rates, 0.05) == pytest.approx(
        rates.standard_error.value * (1.959964 + 0.841621), rel=0.02
    )


def test_identical_answers_have_a_detectable_effect() -> None:
    """The standard error is 0, but a bias that the interval contains cannot be detected."""
    same = PairedMean.from_differences(np.zeros(100))
    assert compute_detectable_effect(same, 0.05) > same.interval()[1] > 0
    larger = PairedMean.from_differences(np.zeros(1_000))
    assert 0 < compute_detectable_effect(larger, 0.05) < compute_detectable_effect(same, 0.05)
