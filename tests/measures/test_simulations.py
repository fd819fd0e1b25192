"""Intervals, tests and verdicts on simulated data with known truth: coverage, type I error, power.

Intervals exclude exactly the values that tests reject (test_estimates.py), so coverage is measured by the faster tests.
The numbers of data sets are small; perf/simulations has more.
"""

import math
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from scipy import stats

from tests.measures.present import present
from tests.measures.simulated import clustered, percentages, skewed, target_factor, two_answers
from tiltmeter.measures.association import estimate_icat_interval
from tiltmeter.measures.contrasts import compute_contrast
from tiltmeter.measures.estimates import (
    Estimate,
    Mean,
    PairedMean,
    Ratio,
    Share,
    WeightedShares,
    compute_detectable_effect,
    compute_equivalence_p,
    compute_mid_p,
    compute_two_sided_p,
)
from tiltmeter.measures.gest_parts import GestPart, estimate_fixed_rate
from tiltmeter.measures.measure import Quantity, get_measure, list_quantities
from tiltmeter.measures.multiple_testing import adjust_holm
from tiltmeter.measures.records import OVERALL, Record, RecordKey, build_estimate_record
from tiltmeter.measures.standard_errors import Floats, compute_standard_error
from tiltmeter.measures.stereotype_sides import weigh_by_stereotype
from tiltmeter.measures.verdict_rule import assign_verdicts

SS = get_measure("SS")


def rejections(estimates: Iterable[Estimate], truth: float) -> float:
    """How often the true value is rejected: 1 minus the coverage."""
    return float(np.mean([compute_two_sided_p(estimate, truth) < 0.05 for estimate in estimates]))


def noise(level: float, times: int) -> float:
    """Two standard errors of a rejection rate over `times` data sets."""
    return 2 * math.sqrt(level * (1 - level) / times)


# Percentages: SS, LMS, CPS


@pytest.mark.parametrize("n", [20, 79, 212, 1_000])
def test_coverage_of_shares_is_exact(n: int) -> None:
    """Summed over the binomial distribution of n independent items."""
    counts = np.arange(n + 1)
    covered = []
    for share in np.linspace(0.3, 0.7, 21):
        tails = np.array(
            [min(compute_mid_p(count, n, share), compute_mid_p(n - count, n, 1 - share)) for count in counts]
        )
        covered.append(stats.binom.pmf(counts, n, share)[tails >= 0.025].sum())
    assert np.mean(covered) == pytest.approx(0.952, abs=0.006)
    assert min(covered) > 0.925
    assert covered[10] >= 0.94  # at 0.5, the ideal
    rates = [Share.from_values(np.repeat([100.0, 0.0], [count, n - count])) for count in (n // 3, n // 2, n)]
    for count, rate in zip((n // 3, n // 2, n), rates, strict=True):
        assert rate.compute_p_above(45.0) == pytest.approx(compute_mid_p(count, n, 0.45))


@pytest.mark.parametrize(
    ("clusters", "correlation", "share", "ignored"),
    [
        (79, 0.0, 0.5, None),
        (79, 0.015, 0.5, 0.085),
        (79, 0.04, 0.5, 0.13),
        (79, 0.04, 0.6, 0.13),
        (10, 0.04, 0.5, 0.1),
        (10, 0.04, 0.6, 0.1),
    ],
)
def test_coverage_of_clustered_shares(clusters: int, correlation: float, share: float, ignored: float | None) -> None:
    """With the correlations of StereoSet's released predictions; `ignored` is the error rate without clusters."""
    rng = np.random.default_rng([clusters, int(1000 * correlation), int(10 * share)])
    times, terms = 700, target_factor(clusters, 27)
    drawn = [clustered(rng, clusters, 27, correlation, share) for _ in range(times)]
    rejected = rejections((Share.from_values(values, terms) for values in drawn), 100 * share)
    assert rejected <= 0.06 + noise(0.06, times)
    # The larger of two standard errors is conservative with few clusters.
    assert rejected > (0.02 if clusters == 79 else 0.005)
    if ignored is not None:
        assert rejections((Share.from_values(values) for values in drawn), 100 * share) > ignored


def test_few_clusters_need_student_t() -> None:
    """With z instead of t, the type I error with eight clusters is 9%, and much too large in the far tail."""
    rng = np.random.default_rng(11)
    times, terms = 2_000, target_factor(8, 60)
    shares = [Share.from_values(clustered(rng, 8, 60, 0.15, 0.5), terms) for _ in range(times)]
    p_values = np.array([compute_two_sided_p(share, 50.0) for share in shares])
    assert 0.03 < np.mean(p_values < 0.05) <= 0.06
    assert np.mean(p_values < 0.01) <= 0.015
    assert np.mean(p_values < 0.001) <= 0.003
    normal = [2 * stats.norm.sf(abs(share.value - 50) / share.standard_error.value) for share in shares]
    assert np.mean(np.array(normal) < 0.05) > 0.075


def test_coverage_of_lms_and_of_shares_with_ties() -> None:
    """Items with 0, 50 or 100: two candidates (LMS), or ties."""
    rng = np.random.default_rng(4)
    for n, chances in (
        (79, (0.05, 0.2, 0.75)),
        (400, (0.05, 0.2, 0.75)),
        (212, (0.45, 0.1, 0.45)),
        (60, (0.3, 0.2, 0.5)),
    ):
        drawn = (Share.from_values(rng.choice([0.0, 50.0, 100.0], n, p=chances)) for _ in range(1_000))
        assert rejections(drawn, 50 * chances[1] + 100 * chances[2]) <= 0.06 + noise(0.06, 1_000)


# ICAT


def icat_truth(lms: float, ss: float) -> float:
    return 2 * 100 * lms * min(ss, 1 - ss)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clusters", "each", "correlation", "ss"),
    [
        (1, 60, 0.0, 0.5),
        (1, 250, 0.0, 0.7),
        (79, 27, 0.04, 0.5),
        (79, 27, 0.04, 0.6),
        (10, 27, 0.04, 0.55),
    ],
)
def test_coverage_of_icat(clusters: int, each: int, correlation: float, ss: float) -> None:
    rng = np.random.default_rng([clusters, each, int(1000 * correlation), int(100 * ss)])
    times, truth = 120, icat_truth(0.85, ss)
    terms = target_factor(clusters, each) if clusters > 1 else None
    missed = 0
    for _ in range(times):
        sense, preference = (clustered(rng, clusters, each, correlation, share) for share in (0.85, ss))
        low, high = estimate_icat_interval(sense, preference, terms)
        missed += not low <= truth <= high
    assert missed / times <= 0.07
    if clusters > 1 and correlation == 0.04 and ss == 0.6:
        unclustered = []
        for _ in range(100):
            sense, preference = (clustered(rng, clusters, each, correlation, share) for share in (0.85, ss))
            low, high = estimate_icat_interval(sense, preference)
            unclustered.append(low <= truth <= high)
        assert np.mean(unclustered) < 0.91


# Means: S_JSD


@pytest.mark.parametrize("n", [60, 212])
def test_coverage_of_means_of_skewed_numbers(n: int) -> None:
    rng = np.random.default_rng(n)
    times = 1_500
    drawn = np.array([skewed(rng, n) for _ in range(times)])
    assert rejections(map(Mean.from_values, drawn), 0.0) <= 0.06 + noise(0.06, times)
    # Skewed to the left as well, as S_JSD may be.
    assert rejections((Mean.from_values(-values) for values in drawn), 0.0) <= 0.06 + noise(0.06, times)
    plain = np.abs(drawn.mean(axis=1) / stats.sem(drawn, axis=1)) > stats.t.ppf(0.975, n - 1)
    assert plain.mean() > (0.09 if n == 60 else 0.065)


def test_coverage_of_means_of_clustered_numbers() -> None:
    rng = np.random.default_rng(5)
    templates, times = target_factor(12, 18), 1_000

    def draw() -> Floats:
        return rng.normal(size=216) + np.repeat(rng.normal(0, 0.5, 12), 18)

    drawn = [draw() for _ in range(times)]
    assert rejections((Mean.from_values(values, templates) for values in drawn), 0.0) <= 0.06 + noise(0.06, times)
    assert rejections((Mean.from_values(values) for values in drawn), 0.0) > 0.2


# g_s and f_s


def log_g_s(values: Floats, strata: np.ndarray) -> Ratio:
    """g_s with fixed stereotypes of equal size, without the tables of `gest`."""
    weights = weigh_by_stereotype(strata)
    return Ratio(Mean(float(weights @ values), compute_standard_error(weights * values, strata=strata)))


@pytest.mark.parametrize("each", [4, 100])
def test_coverage_of_g_s_with_fixed_stereotypes(each: int) -> None:
    """Skewed log ratios around sixteen fixed means."""
    rng = np.random.default_rng(each)
    strata = np.repeat(np.arange(1, 17), each)
    means = np.repeat(rng.normal(0, 0.5, 16), each)
    truth = math.exp(float(weigh_by_stereotype(strata) @ means))
    times = 1_200
    drawn = (log_g_s(means + rng.standard_gamma(2, 16 * each) - 2, strata) for _ in range(times))
    rejected = rejections(drawn, truth)
    assert 0.02 < rejected <= 0.06 + noise(0.06, times)


def test_coverage_of_g_s_with_random_stereotypes() -> None:
    """With random means of the stereotypes, intervals for fixed stereotypes undercover."""
    rng = np.random.default_rng(6)
    strata, times, truth = np.repeat(np.arange(1, 17), 50), 1_000, math.exp(0.3)
    male = np.arange(1, 17) > 7
    sides = np.where(male, "men", "women").astype(object)
    weights = np.where(male, 1 / 9, -1 / 7)
    random, fixed = [], []
    for _ in range(times):
        means = 0.3 * male + rng.normal(0, 0.4, 16)
        values = np.repeat(means, 50) + rng.normal(0, 1, 800)
        logs = values.reshape(16, 50).mean(axis=1)
        random.append(Ratio(Mean(float(weights @ logs), compute_standard_error(weights * logs, strata=sides))))
        fixed.append(log_g_s(values, strata))
    assert rejections(random, truth) <= 0.06 + noise(0.06, times)
    assert rejections(fixed, truth) > 0.4


def test_log_g_s_matches_gest() -> None:
    rng = np.random.default_rng(2)
    strata = np.repeat(np.arange(1, 17), 12)
    values = rng.normal(size=192)
    ratios = {number: values[strata == number] for number in range(1, 17)}
    ids = {number: [f"{number}-{index}" for index in range(12)] for number in ratios}
    result = estimate_fixed_rate([GestPart("template-1", ratios, ids, [], 1)])
    short = log_g_s(values, strata)
    assert present(result).interval() == pytest.approx(short.interval())
    assert present(result).standard_error.df == pytest.approx(short.standard_error.df)


@pytest.mark.parametrize(("each", "share"), [(20, 0.5), (20, 0.95), (60, 0.8), (200, 0.95)])
def test_coverage_of_f_s(each: int, share: float) -> None:
    rng = np.random.default_rng([each, int(100 * share)])
    weights = np.where(np.arange(1, 17) > 7, 1 / 9, -1 / 7)
    sizes, times = np.full(16, float(each)), 1_500
    missed = far = 0
    for _ in range(times):
        rates = WeightedShares(weights, rng.binomial(each, share, 16).astype(float), sizes)
        low, high = rates.interval()
        missed += not low <= 0 <= high
        low, high = rates.interval(0.998)
        far += not low <= 0 <= high
    assert missed / times <= 0.06 + noise(0.06, times)
    assert far / times <= 0.005  # expected 0.002; combined Wilson intervals alone have 0.007


# Paired differences


@pytest.mark.parametrize(
    ("left", "right", "n"),
    [(0.5, 0.5, 60), (0.55, 0.55, 212), (0.56, 0.5, 212), (0.59, 0.62, 1_000), (0.02, 0.02, 1_000)],
)
def test_coverage_of_paired_differences_of_preferences(left: float, right: float, n: int) -> None:
    rng = np.random.default_rng(n + int(100 * left))
    times = 800

    def draw() -> PairedMean:
        first, second = two_answers(rng, left, right, n)
        return PairedMean.from_differences((first - second)[0])

    assert rejections((draw() for _ in range(times)), 100 * (left - right)) <= 0.06 + noise(0.06, times)


@pytest.mark.parametrize(("clusters", "each", "correlation"), [(79, 27, 0.1), (10, 27, 0.2)])
def test_coverage_of_paired_differences_of_clustered_preferences(clusters: int, each: int, correlation: float) -> None:
    rng = np.random.default_rng(clusters)
    times, terms = 700, target_factor(clusters, each)
    drawn = [np.subtract(*two_answers(rng, 0.55, 0.55, clusters, each, correlation))[0] for _ in range(times)]
    assert rejections((PairedMean.from_differences(values, terms) for values in drawn), 0.0) <= 0.06 + noise(
        0.06, times
    )
    assert rejections(map(PairedMean.from_differences, drawn), 0.0) > 0.085


def quantity(name: str, roles: list[str], columns: list[str]) -> Quantity:
    (result,) = (quantity for quantity in list_quantities(roles, columns) if quantity.name == name)
    return result


Draw = Callable[[np.random.Generator], tuple[Floats, Floats]]


def compared(
    measured: Quantity, draw: Draw, truth: float, times: int, labels: np.ndarray | None = None, seed: int = 1
) -> tuple[float, float]:
    """How often the interval of a comparison misses the true difference, and how often its test is significant."""
    rng = np.random.default_rng(seed)
    result = [compute_contrast(measured, *draw(rng), labels) for _ in range(times)]
    missed = np.mean([not contrast.low <= truth <= contrast.high for contrast in result])
    return float(missed), float(np.mean([contrast.p_value < 0.05 for contrast in result]))


@pytest.mark.slow
@pytest.mark.parametrize(("left", "right"), [(0.60, 0.55), (0.50, 0.50), (0.52, 0.48), (0.6, 0.4)])
def test_coverage_and_type_i_error_of_differences_of_icat(left: float, right: float) -> None:
    """At the kink of ICAT, SS = 50, intervals are conservative."""

    def draw(rng: np.random.Generator) -> tuple[Floats, Floats]:
        first = rng.random((2, 500))
        second = np.where(rng.random((2, 500)) < 0.5, first, rng.random((2, 500)))
        ends = ((0.85, left), (0.85, right))
        answers_left, answers_right = (
            100.0 * (answers < np.array(shares)[:, np.newaxis])
            for answers, shares in zip((first, second), ends, strict=True)
        )
        return answers_left, answers_right

    icat = quantity("ICAT", ["stereotype", "anti-stereotype", "unrelated"], [])
    truth = icat_truth(0.85, left) - icat_truth(0.85, right)
    missed, rejected = compared(icat, draw, truth, 300)
    assert missed <= 0.07
    if not truth:
        assert rejected <= 0.06 + noise(0.06, 300)


def test_coverage_of_differences_of_s_jsd() -> None:
    def draw(rng: np.random.Generator) -> tuple[Floats, Floats]:
        common = rng.normal(0, 2, (1, 60))
        return common + skewed(rng, 60), common + rng.normal(size=(1, 60))

    missed, rejected = compared(quantity("S_JSD x 1e3", ["s_jsd"], []), draw, 0.0, 1_500)
    assert missed == rejected <= 0.06 + noise(0.06, 1_500)


@pytest.mark.slow
def test_level_and_power_of_the_test_of_log_g_s_at_all_base_rates() -> None:
    """Without centring, the power of a permutation test falls from 52% at a shift of 0 to 0% at a shift of 2."""
    strata = np.repeat(np.arange(1, 17), 20).astype(object)
    male = np.repeat(np.arange(1, 17) > 7, 20)
    measured = quantity("log g_s", ["log_ratio"], ["stereotype"])
    weights = weigh_by_stereotype(strata)
    result: dict[tuple[float, float], float] = {}
    for shift in (0.0, 0.5, 1.0, 2.0):
        for difference in (0.0, 0.12):

            def draw(rng: np.random.Generator, by: float = shift, d: float = difference) -> tuple[Floats, Floats]:
                left = by + d * male + rng.normal(0, 0.3, 320) + rng.normal(0, 0.3, 320)
                return left[np.newaxis], rng.normal(0, 0.3, (1, 320))

            missed, result[shift, difference] = compared(measured, draw, difference, 200, strata)
            assert missed <= 0.07
        assert result[shift, 0.0] <= 0.06 + noise(0.06, 200)
        assert result[shift, 0.12] == pytest.approx(0.56, abs=0.09)
    rng = np.random.default_rng(3)
    values = 2.0 + 0.12 * male + rng.normal(0, 0.52, (100, 320))
    flips = rng.choice([-1.0, 1.0], (500, 320))
    uncentred = np.mean(np.abs((values * weights) @ flips.T) >= np.abs(values @ weights)[:, np.newaxis], axis=1)
    assert np.mean(uncentred < 0.05) < 0.05


# Verdicts


def key_in(language: str) -> RecordKey:
    """The key of a record in this language."""
    return RecordKey("m", "stereoset", "all", language, "published")


def run_of(estimates: Iterable[Estimate], n: int) -> list[Record]:
    """Records of SS for the groups of one view."""
    return [
        build_estimate_record(key_in("en"), "intrasentence", "bias_type", f"group {index}", SS, estimate, n)
        for index, estimate in enumerate(estimates)
    ]


def kinds(records: Iterable[Record]) -> set[str]:
    return {record.verdict.kind for record in assign_verdicts(records) if record.verdict is not None}


@pytest.mark.slow
def test_family_wise_error_of_verdicts_on_an_even_model() -> None:
    """Ten groups; without Holm's correction 40% of the runs have a false positive."""
    rng = np.random.default_rng(8)
    runs, wrong, uncorrected = 100, 0, 0
    for _ in range(runs):
        records = run_of((Share.from_values(percentages(rng, 300, 0.5)) for _ in range(10)), 300)
        wrong += "significant" in kinds(records)
        uncorrected += min(record.p_value or 1.0 for record in records) < 0.05
    assert wrong / runs <= 0.06 + noise(0.06, runs)
    assert uncorrected / runs > 0.25


def test_family_wise_error_with_few_clusters() -> None:
    """Forty rows with five targets each: the smallest of forty p-values must be valid."""
    rng = np.random.default_rng(9)
    families, size, terms = 80, 40, target_factor(5, 40)
    wrong = 0
    for _ in range(families):
        shares = (Share.from_values(clustered(rng, 5, 40, 0.2, 0.5), terms) for _ in range(size))
        wrong += min(adjust_holm([compute_two_sided_p(share, 50.0) for share in shares])) < 0.05
    assert wrong / families <= 0.06 + noise(0.06, families)


@pytest.mark.slow
def test_family_wise_error_of_verdicts_on_a_bias_at_the_margin() -> None:
    """With a true SS of 55, "no bias", "within" and "beyond" are all false."""
    rng = np.random.default_rng(10)
    runs, within, beyond = 100, 0, 0
    for _ in range(runs):
        drawn = [Share.from_values(percentages(rng, 2_000, 0.55)) for _ in range(6)]
        verdicts = [record.verdict for record in assign_verdicts(run_of(drawn, 2_000))]
        within += any(
            verdict is not None and (verdict.kind == "no bias" or verdict.size == "within") for verdict in verdicts
        )
        beyond += any(verdict is not None and verdict.size == "beyond" for verdict in verdicts)
    assert within / runs <= 0.06
    assert beyond / runs <= 0.06


def test_an_even_model_with_many_items_has_no_bias() -> None:
    rng = np.random.default_rng(12)
    verdicts = [
        assign_verdicts(run_of([Share.from_values(percentages(rng, 4_229, 0.5))], 4_229))[0].verdict for _ in range(200)
    ]
    result = [
        verdict.kind if verdict.kind != "significant" else verdict.size for verdict in verdicts if verdict is not None
    ]
    assert result.count("no bias") / 200 > 0.9
    assert set(result) <= {"no bias", "within"}


def test_pooled_parts_are_a_separate_family() -> None:
    rng = np.random.default_rng(13)
    parts = [Share.from_values(percentages(rng, 500, 0.5)) for _ in range(2)]
    records = run_of(parts, 500)
    pooled = build_estimate_record(
        key_in("en"), OVERALL, "bias_type", "group 0", SS, Share.from_values(percentages(rng, 1_000, 0.56)), 1_000
    )
    settled = assign_verdicts([*records, pooled])
    assert [record.tests for record in settled] == [2, 2, 1]


def test_type_i_error_of_equivalence() -> None:
    """With the true value at the margin, for shares, clustered shares and means."""
    rng = np.random.default_rng(14)
    times, terms = 1_000, target_factor(40, 30)
    shares = [compute_equivalence_p(Share.from_values(percentages(rng, 1_000, 0.55)), 45.0, 55.0) for _ in range(times)]
    together = [
        compute_equivalence_p(Share.from_values(clustered(rng, 40, 30, 0.04, 0.45), terms), 45.0, 55.0)
        for _ in range(times)
    ]
    numbers = [compute_equivalence_p(Mean.from_values(rng.normal(0.5, 1.0, 400)), -0.5, 0.5) for _ in range(times)]
    for p_values in (shares, together, numbers):
        assert np.mean(np.array(p_values) < 0.025) <= 0.025 + noise(0.025, times)


# Power


@pytest.mark.parametrize(
    ("clusters", "each", "correlation"), [(1, 80, 0.0), (1, 1_000, 0.0), (79, 27, 0.04), (10, 27, 0.04)]
)
def test_power_of_shares_at_the_detectable_effect(clusters: int, each: int, correlation: float) -> None:
    rng = np.random.default_rng([clusters, each])
    terms = target_factor(clusters, each) if clusters > 1 else None

    def draw(share: float) -> Share:
        return Share.from_values(clustered(rng, clusters, each, correlation, share), terms)

    effect = float(np.mean([compute_detectable_effect(draw(0.5), 0.05) for _ in range(100)]))
    power = rejections((draw(0.5 + effect / 100) for _ in range(1_000)), 50.0)
    assert power == pytest.approx(0.8, abs=0.045)


def test_power_of_means_and_rates_at_the_detectable_effect() -> None:
    rng = np.random.default_rng(15)
    weights = np.where(np.arange(1, 17) > 7, 1 / 9, -1 / 7)
    sizes, strata = np.full(16, 60.0), np.repeat(np.arange(1, 17), 20)
    male = np.repeat(np.arange(1, 17) > 7, 20)

    def mean(by: float) -> Estimate:
        return Mean.from_values(rng.normal(by, 1.0, 80))

    def rates(by: float) -> Estimate:
        shares = np.where(np.arange(1, 17) > 7, 0.5 + by, 0.5)
        return WeightedShares(weights, rng.binomial(60, shares).astype(float), sizes)

    def ratio(by: float) -> Estimate:
        return log_g_s(rng.normal(0, 1, 320) + by * male, strata)

    def paired(by: float) -> Estimate:
        kinds = rng.multinomial(500, [0.15 + by / 200, 0.15 - by / 200, 0.7])
        return PairedMean.from_differences(np.repeat([100.0, -100.0, 0.0], kinds))

    for draw, ideal in ((mean, 0.0), (rates, 0.0), (ratio, 1.0), (paired, 0.0)):
        effect = float(np.mean([compute_detectable_effect(draw(0.0), 0.05) for _ in range(40)]))
        assert rejections((draw(effect) for _ in range(600)), ideal) == pytest.approx(0.8, abs=0.05), draw.__name__


def test_power_at_the_corrected_detectable_effect() -> None:
    """The detectable bias of an inconclusive verdict is at the level that Holm's method gives the smallest p-value."""
    rng = np.random.default_rng(16)
    even = [Share.from_values(np.repeat([100.0, 0.0], 250))] * 10
    effect = assign_verdicts(run_of(even, 500))[0].detectable
    shares = [Share.from_values(percentages(rng, 500, 0.5 + present(effect) / 100)) for _ in range(1_000)]
    result = np.mean([10 * compute_two_sided_p(share, 50.0) < 0.05 for share in shares])
    assert result == pytest.approx(0.8, abs=0.045)
