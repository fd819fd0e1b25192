"""Paired comparisons, against SciPy, statsmodels and synthetic answers."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.weightstats import ttost_paired

from tests.measures.present import present
from tests.measures.simulated import as_factor, skewed, target_factor, two_answers
from tiltmeter.measures.contrasts import (
    Contrast,
    are_equal_scores,
    compute_cohens_g,
    compute_contrast,
    compute_hedges_g,
    find_disagreements,
)
from tiltmeter.measures.estimates import Mean, PairedMean
from tiltmeter.measures.measure import Quantity, list_quantities
from tiltmeter.measures.standard_errors import Floats


def quantity(name: str, roles: list[str], columns: list[str] | None = None) -> Quantity:
    (result,) = (quantity for quantity in list_quantities(roles, columns or []) if quantity.name == name)
    return result


TRIPLE = ["stereotype", "anti-stereotype", "unrelated"]
SS, LMS, ICAT = (quantity(name, TRIPLE) for name in ("SS", "LMS", "ICAT"))
S_JSD = quantity("S_JSD x 1e3", ["s_jsd"])
PER_TOKEN = quantity("mean difference per token", ["difference"])
GEST = quantity("log g_s", ["log_ratio"], ["stereotype"])
WINOBIAS = quantity("log g_s", ["log_ratio"], ["occupation_gender"])
F_S = quantity("f_s", ["speaker_gender"], ["stereotype"])
STEREOTYPES = np.repeat(np.arange(1, 17), 20).astype(object)
MALE = np.array([int(str(number)) > 7 for number in STEREOTYPES])


# Preferences


def test_preferences_use_the_more_conservative_of_t_and_mcnemar() -> None:
    left, right = two_answers(np.random.default_rng(3), 0.6, 0.5, 300)
    a, b = left[0] > 50, right[0] > 50
    table = [[np.sum(a & b), np.sum(a & ~b)], [np.sum(~a & b), np.sum(~a & ~b)]]
    ups, downs = int(table[0][1]), int(table[1][0])
    result = compute_contrast(SS, left, right)
    exact = mcnemar(table, exact=True).pvalue
    mid_p = exact - stats.binom.pmf(ups, ups + downs, 0.5)
    assert result.test == "paired t and McNemar mid-P"
    assert result.p_value == pytest.approx(max(mid_p, stats.ttest_rel(left[0], right[0]).pvalue))
    assert result.disagree == ups + downs
    assert result.effect == pytest.approx(ups / result.disagree - 0.5)
    assert result.effect_name == "Cohen's g"
    assert (result.low, result.high) == PairedMean.from_differences((left - right)[0]).interval()
    assert result.difference == pytest.approx(100 * (ups - downs) / 300)


def test_clusters_widen_intervals_of_preferences() -> None:
    targets = target_factor(20, 15)
    left, right = two_answers(np.random.default_rng(5), 0.6, 0.5, 20, 15, correlation=0.3)
    alone, together = compute_contrast(SS, left, right), compute_contrast(SS, left, right, factors=targets)
    assert (alone.clusters, together.clusters) == (None, 20)
    assert together.standard_error > 1.1 * alone.standard_error
    assert together.high - together.low > 1.1 * (alone.high - alone.low)
    assert together.p_value > alone.p_value
    assert together.detectable > alone.detectable


def test_equivalence_matches_statsmodels() -> None:
    """Evenly spaced differences have no skewness; the margin of S_JSD x 1e3 is 2.5."""
    left = np.random.default_rng(2).normal(3, 10, 81)
    right = left + np.linspace(-4, 5, 81)
    result = compute_contrast(S_JSD, left[np.newaxis], right[np.newaxis])
    assert result.p_equivalence == pytest.approx(ttost_paired(left, right, -2.5, 2.5)[0], rel=1e-6)
    assert result.p_value == pytest.approx(stats.ttest_rel(left, right).pvalue)
    assert compute_contrast(LMS, *two_answers(np.random.default_rng(1), 0.9, 0.9, 50)).p_equivalence is None


def test_few_discordant_items_allow_equivalence() -> None:
    left = np.full((1, 4_000), 100.0)
    right = left.copy()
    right[0, :3] = 0.0
    for first, second in ((left, right), (right, left)):
        result = compute_contrast(SS, first, second)
        assert present(result.p_equivalence) < 1e-6
        assert -5 < result.low < result.high < 5


# Means


def test_means_use_student_t_corrected_for_skewness() -> None:
    rng = np.random.default_rng(9)
    left, right = (rng.normal(size=(1, 80)) + skewed(rng, 80) for _ in range(2))
    left += 0.4
    result, mean = compute_contrast(S_JSD, left, right), Mean.from_values((left - right)[0])
    assert result.test == "paired t"
    assert (result.low, result.high) == mean.interval()
    assert result.p_value >= stats.ttest_rel(left[0], right[0]).pvalue
    assert result.standard_error == pytest.approx(stats.sem((left - right)[0]))
    d = (left - right).mean() / (left - right).std(ddof=1)
    assert result.effect == pytest.approx(d * (1 - 3 / (4 * 79 - 1)))
    assert result.effect_name == "Hedges' g"
    reach = stats.t.ppf(0.975, 79) + stats.t.ppf(0.8, 79)
    assert result.detectable == pytest.approx(reach * result.standard_error)


def test_hedges_g_by_hand() -> None:
    differences = np.random.default_rng(2).normal(1, 2, 30)
    d = differences.mean() / differences.std(ddof=1)
    assert compute_hedges_g(differences.mean(), differences.std(ddof=1), 30) == pytest.approx(d * (1 - 3 / 115))
    assert compute_hedges_g(0.0, 0.0, 30) == 0


def test_cohens_g() -> None:
    assert compute_cohens_g(0, 0) == 0
    assert compute_cohens_g(10, 0) == 0.5


# log g_s and f_s


def two_gests(rng: np.random.Generator, shift: float, difference: float) -> tuple[Floats, Floats]:
    """Two models whose log ratios differ by `shift` in general, and whose log g_s differ by `difference`."""
    common = rng.normal(0, 0.5, 320)
    return (
        (common + shift + difference * MALE + rng.normal(0, 0.5, 320))[np.newaxis],
        (common + rng.normal(0, 0.5, 320))[np.newaxis],
    )


def test_log_g_s_gives_stereotypes_equal_weight() -> None:
    strata = np.array([1, 1, 1, 2, 8, 9], dtype=object)
    left, right = np.array([[1.0, 2.0, 3.0, 4.0, 10.0, 20.0]]), np.zeros((1, 6))
    result = compute_contrast(GEST, left, right, strata)
    assert result.left == pytest.approx((10 + 20) / 2 - (2 + 4) / 2)
    assert result.right == 0


@given(st.integers(0, 2**31), st.floats(-3, 3))
@settings(max_examples=30)
def test_base_rates_do_not_change_the_comparison_of_log_g_s(seed: int, shift: float) -> None:
    """Shifts of all sentences, or of all sentences of a stereotype, do not change the standard error."""
    rng = np.random.default_rng(seed)
    left, right = two_gests(rng, 0.0, 0.1)
    plain, shifted = (
        compute_contrast(GEST, left, right, STEREOTYPES),
        compute_contrast(GEST, left + shift, right, STEREOTYPES),
    )
    assert shifted.test == "paired t within stereotypes"
    for name in ("difference", "low", "high", "p_value", "standard_error"):
        assert getattr(shifted, name) == pytest.approx(getattr(plain, name), abs=1e-9)
    own = np.repeat(rng.normal(0, 2, 16), 20)
    assert compute_contrast(GEST, left + own, right, STEREOTYPES).standard_error == pytest.approx(plain.standard_error)


@pytest.mark.parametrize("shift", [0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("difference", [0.0, 0.2])
def test_the_test_of_log_g_s_matches_a_permutation_test_centred_by_stereotype(shift: float, difference: float) -> None:
    """Random sign flips of the differences, centred by stereotype."""
    rng = np.random.default_rng([int(10 * shift), int(10 * difference)])
    left, right = two_gests(rng, shift, difference)
    result = compute_contrast(GEST, left, right, STEREOTYPES)
    values, weights = (left - right)[0], GEST.values.weigh(STEREOTYPES)  # type: ignore[misc]
    means = np.repeat(values.reshape(16, 20).mean(axis=1), 20)
    # Centring reduces the variance by (n - 1) / n.
    residuals = (values - means) * math.sqrt(20 / 19)
    flipped = rng.choice([-1.0, 1.0], (20_000, 320)) @ (weights * residuals)
    p_value = np.mean(np.abs(flipped) >= abs(weights @ values))
    assert result.p_value == pytest.approx(p_value, abs=0.015)
    # Without centring, the shift hides the difference.
    uncentred = rng.choice([-1.0, 1.0], (2_000, 320)) @ (weights * values)
    if shift == 2.0 and difference:
        assert result.p_value < 0.02
        assert np.mean(np.abs(uncentred) >= abs(weights @ values)) > 0.1


def test_clusters_of_unequal_size_and_a_shift_do_not_inflate_the_error() -> None:
    """A common shift makes the sums of large clusters large, which is not variance between clusters."""
    rng = np.random.default_rng(4)
    sizes = np.tile([2, 5, 10, 30], 10)
    clusters = np.repeat(np.array([f"o{number}" for number in range(40)], dtype=object), sizes)
    genders = np.repeat(np.array(["male", "female"] * 20, dtype=object), sizes)
    left = rng.normal(size=(1, len(clusters))) + np.repeat(rng.normal(0, 0.3, 40), sizes)
    right = rng.normal(size=(1, len(clusters)))
    plain, shifted = (
        compute_contrast(WINOBIAS, left + by, right, genders, as_factor(clusters, "occupation")) for by in (0.0, 2.0)
    )
    assert plain.clusters == 40
    assert shifted.standard_error == pytest.approx(plain.standard_error)
    assert shifted.p_value == pytest.approx(plain.p_value)


def test_two_sentences_show_the_variance_within_a_stereotype() -> None:
    rng = np.random.default_rng(7)
    strata = np.repeat(np.arange(1, 17), 2).astype(object)
    values = rng.normal(size=(16, 2)) + np.linspace(0, 5, 16)[:, np.newaxis]
    result = compute_contrast(GEST, values.reshape(1, 32), np.zeros((1, 32)), strata)
    variances = values.var(axis=1, ddof=1) / 2 / np.where(np.arange(16) < 7, 49, 81)
    error, freedom = math.sqrt(variances.sum()), variances.sum() ** 2 / (variances**2).sum()
    assert result.standard_error == pytest.approx(error)
    assert result.p_value == pytest.approx(2 * stats.t.sf(abs(result.difference) / error, freedom))


def test_with_single_sentences_stereotypes_are_the_sampling_units() -> None:
    """With one sentence per stereotype, only the variance between stereotypes can be estimated."""
    rng = np.random.default_rng(6)
    strata = np.arange(1, 17).astype(object)
    values = rng.normal(size=16)
    result = compute_contrast(GEST, values[np.newaxis], np.zeros((1, 16)), strata)
    welch = stats.ttest_ind(values[7:], values[:7], equal_var=False)
    assert result.p_value == pytest.approx(welch.pvalue)
    # A single stereotype on one side is too few, whatever the number on the other.
    for numbers in ([1, 8], [1, 8, 9, 10, 11, 12], [1, 2, 3, 4, 8]):
        one_sided = np.array(numbers, dtype=object)
        scores = np.array([[3.0 if number > 7 else 1.0 for number in numbers]]) + 0.01 * np.array(numbers)
        few = compute_contrast(GEST, scores, np.zeros_like(scores), one_sided)
        assert few.p_value == 1.0
        assert few.low < 0 < few.high


def test_f_s_uses_translations_with_a_gender() -> None:
    assert F_S.values.may_be_missing
    rng = np.random.default_rng(3)
    left, right = ((rng.random((1, 320)) < share).astype(float) for share in (0.7, 0.6))
    result = compute_contrast(F_S, left, right, STEREOTYPES)
    shares = [(answers[0][MALE].mean() - answers[0][~MALE].mean()) for answers in (left, right)]
    assert (result.left, result.right) == pytest.approx(tuple(shares))
    assert result.test == "paired t within stereotypes"


# ICAT


def two_icats(rng: np.random.Generator, n: int, left: float, right: float) -> tuple[Floats, Floats]:
    first = rng.random((2, n))
    second = np.where(rng.random((2, n)) < 0.5, first, rng.random((2, n)))
    return 100.0 * np.array([first[0] < 0.85, first[1] < left]), 100.0 * np.array([second[0] < 0.85, second[1] < right])


def test_icat_is_a_function_of_means() -> None:
    left, right = two_icats(np.random.default_rng(4), 300, 0.6, 0.5)
    result = compute_contrast(ICAT, left, right)
    lms, ss = left.mean(axis=1)
    assert result.left == pytest.approx(lms * min(ss, 100 - ss) / 50)
    assert result.test == "paired t of pieces"
    assert (result.effect, result.effect_name, result.p_equivalence) == (None, None, None)
    assert result.low < result.difference < result.high
    assert (result.low > 0 or result.high < 0) == (result.p_value < 0.05)


def test_the_standard_error_of_icat_matches_a_bootstrap() -> None:
    """Away from SS = 50, where ICAT is smooth."""
    rng = np.random.default_rng(8)
    left, right = two_icats(rng, 500, 0.7, 0.35)
    result = compute_contrast(ICAT, left, right)
    both = np.vstack([left, right])
    drawn = []
    for _ in range(1_500):
        lms, ss, other_lms, other_ss = both[:, rng.integers(0, 500, 500)].mean(axis=1)
        drawn.append(lms * min(ss, 100 - ss) / 50 - other_lms * min(other_ss, 100 - other_ss) / 50)
    assert result.standard_error == pytest.approx(np.std(drawn), rel=0.06)
    assert (result.low, result.high) == pytest.approx(tuple(np.percentile(drawn, [2.5, 97.5])), abs=0.8)


# Properties of all comparisons


def answers(seed: int, kind: int) -> tuple[Quantity, Floats, Floats, dict[str, Any]]:
    """Random answers of two models, for each kind of measure."""
    rng = np.random.default_rng(seed)
    none: dict[str, Any] = {"labels": None, "factors": None}
    groups = {"labels": None, "factors": target_factor(20, 15)}
    left, right = rng.uniform(0.3, 0.7, 2)
    if kind == 0:
        return SS, *two_answers(rng, left, right, 20, 15, 0.1), none
    if kind == 1:
        return SS, *two_answers(rng, left, right, 20, 15, 0.1), groups  # type: ignore[return-value]
    if kind == 2:
        return ICAT, *two_icats(rng, 300, left, right), groups  # type: ignore[return-value]
    if kind == 3:
        return S_JSD, rng.normal(left, 1, (1, 60)) + skewed(rng, 60), rng.normal(right, 1, (1, 60)), none
    if kind == 4:
        return GEST, *two_gests(rng, left, right - 0.5), {"labels": STEREOTYPES, "factors": None}
    return LMS, *two_answers(rng, left + 0.2, right + 0.2, 20, 15, 0.1), none


KINDS = ["SS", "SS clustered", "ICAT", "S_JSD", "log g_s", "LMS"]


@pytest.mark.parametrize("kind", range(6), ids=KINDS)
@given(st.integers(0, 2**31))
@settings(max_examples=20)
def test_intervals_agree_with_p_values_and_swapping_sides_flips_signs(kind: int, seed: int) -> None:
    measured, left, right, how = answers(seed, kind)
    first: Contrast = compute_contrast(measured, left, right, **how)  # type: ignore[arg-type]
    second = compute_contrast(measured, right, left, **how)  # type: ignore[arg-type]
    assert (first.p_value < 0.05) == (not first.low <= 0 <= first.high)
    assert first.low <= first.difference <= first.high
    assert first.farther_low - 1e-9 <= first.farther <= first.farther_high + 1e-9
    assert first.difference == pytest.approx(-second.difference)
    assert first.farther == pytest.approx(-second.farther)
    assert first.disagree == second.disagree
    if kind != 2:  # intervals and tests of ICAT are conservative in different ways
        assert (first.low, first.high) == pytest.approx((-second.high, -second.low), abs=1e-6)
        assert first.p_value == pytest.approx(second.p_value)
    if first.p_equivalence is not None:
        margin = measured.measure.margin or 0.0
        assert (first.p_equivalence < 0.025) == (-margin < first.low and first.high < margin)


@pytest.mark.parametrize("kind", range(6), ids=KINDS)
def test_the_order_of_items_does_not_matter(kind: int) -> None:
    measured, left, right, how = answers(5, kind)
    order = np.random.default_rng(1).permutation(left.shape[1])
    moved = {
        "labels": None if how["labels"] is None else how["labels"][order],
        "factors": None if how["factors"] is None else how["factors"].select_rows(order),
    }
    first = compute_contrast(measured, left, right, **how)  # type: ignore[arg-type]
    second = compute_contrast(measured, left[:, order], right[:, order], **moved)  # type: ignore[arg-type]
    for name in ("difference", "low", "high", "p_value", "farther_low", "farther_high", "standard_error"):
        assert getattr(first, name) == pytest.approx(getattr(second, name), abs=1e-7)


def test_equal_answers_have_an_interval_of_positive_width() -> None:
    same = np.full((1, 20), 100.0)
    result = compute_contrast(SS, same, same)
    assert (result.difference, result.p_value, result.disagree, result.effect) == (0, 1, 0, 0)
    # 20 items may all miss a difference in one item out of six.
    assert result.low == pytest.approx(-16.8, abs=0.1)
    assert result.high == pytest.approx(16.8, abs=0.1)


def test_identical_scores_have_a_difference_of_exactly_zero() -> None:
    left = np.random.default_rng(1).normal(size=(1, 50))
    result = compute_contrast(S_JSD, left, left, identical=True)
    assert (result.test, result.low, result.high, result.p_value, result.p_equivalence) == (
        "identical",
        0.0,
        0.0,
        1.0,
        0.0,
    )
    assert (result.farther, result.farther_low, result.farther_high) == (0.0, 0.0, 0.0)
    assert compute_contrast(LMS, left, left, identical=True).p_equivalence is None


def test_scores_that_are_close_but_prefer_other_candidates_are_not_identical() -> None:
    """A saturated next-sentence head: all its probabilities are within rounding of 1, and their order still counts."""
    left, right = 100.0 * np.array([[1, 1, 1, 1, 0, 0, 1, 1]]), 100.0 * np.array([[1, 0, 0, 1, 0, 0, 1, 0]])
    result, plain = compute_contrast(SS, left, right, identical=True), compute_contrast(SS, left, right)
    assert result == plain
    assert result.low < result.difference < result.high


def test_scores_equal_up_to_rounding() -> None:
    scores = np.array([[1.0, -3.0], [math.nan, 2.0]])
    assert are_equal_scores(scores, scores * (1 + 1e-6))
    assert not are_equal_scores(scores, scores * 1.001)
    assert not are_equal_scores(np.array([0.0]), np.array([1e-9]))


@pytest.mark.parametrize("measured", [S_JSD, PER_TOKEN], ids=["with bounds", "without"])
@pytest.mark.parametrize("n", [1, 3])
def test_constant_differences_of_few_items_are_not_significant(measured: Quantity, n: int) -> None:
    """A sample variance of 0 does not mean that the difference is known exactly."""
    result = compute_contrast(measured, np.full((1, n), 1.1), np.full((1, n), 0.5))
    assert result.n == n
    assert result.p_value > 0.9
    assert result.low < 0 < result.high
    assert result.p_equivalence is None or result.p_equivalence > 0.9
    assert result.farther_low < result.farther_high or n == 1


def test_constant_differences_of_many_items_are_significant() -> None:
    result = compute_contrast(S_JSD, np.full((1, 5_000), 3.0), np.zeros((1, 5_000)))
    # A sample of 5,000 misses this share of items at the far end of the scale in 2.5% of cases.
    missed = 1 - 0.025 ** (1 / 5_000)
    assert (result.low, result.high) == pytest.approx((3 - 2_000 * missed, 3 + 2_000 * missed))
    assert result.p_value == pytest.approx(2 * (1 - 3 / 2_000) ** 5_000)
    assert result.p_equivalence == 1.0
    near = compute_contrast(S_JSD, np.full((1, 5_000), 0.5), np.zeros((1, 5_000)))
    assert near.p_equivalence == pytest.approx((1 - 2 / 2_000) ** 5_000)


# Farther from the ideal


def test_farther_compares_distances_from_the_ideal() -> None:
    left, right = (100.0 * np.array([np.arange(1000) < count]) for count in (560, 460))
    result = compute_contrast(SS, left, right)
    assert result.difference == pytest.approx(10)
    assert result.farther == pytest.approx(2)
    assert result.farther_low < 0 < result.farther_high


@pytest.mark.parametrize("measured", [S_JSD, PER_TOKEN, GEST, WINOBIAS, F_S], ids=lambda measured: measured.name)
def test_farther_from_an_ideal_of_zero(measured: Quantity) -> None:
    """Towards stereotypes by 0.3 on the left, against them by 0.5 on the right, each with noise of mean 0."""
    noise = np.tile([-0.01, 0.01], 10)
    male = np.repeat([1.0, 0.0], 10)
    strata = {"stereotype": np.where(male, 8, 1), "occupation_gender": np.where(male, "male", "female")}
    names = measured.values.columns
    sides = (0.3, -0.5) if not names else (0.3 * male, -0.5 * male)
    left, right = ((side + noise * times)[np.newaxis] for side, times in zip(sides, (1, 2), strict=True))
    result = compute_contrast(measured, left, right, strata[names[0]].astype(object) if names else None)
    assert (result.left, result.right) == pytest.approx((0.3, -0.5))
    assert result.farther == pytest.approx(-0.2)
    assert (result.farther_low + result.farther_high) / 2 == pytest.approx(-0.2)
    assert result.farther_low < -0.2 < result.farther_high < 0


def test_on_one_side_of_the_ideal_farther_is_the_difference() -> None:
    rng = np.random.default_rng(3)
    left, right = two_answers(rng, 0.8, 0.7, 400)
    result = compute_contrast(SS, left, right)
    assert (result.farther, result.farther_low, result.farther_high) == pytest.approx(
        (result.difference, result.low, result.high)
    )
    below = compute_contrast(SS, 100 - left, 100 - right)
    assert (below.farther, below.farther_low, below.farther_high) == pytest.approx(
        (-below.difference, -below.high, -below.low)
    )


@pytest.mark.parametrize("measured", [SS, LMS, ICAT], ids=lambda measured: measured.name)
@pytest.mark.parametrize("seed", range(12))
def test_tests_of_the_distance_agree_with_its_interval(measured: Quantity, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = 2 if measured is ICAT else 1
    left, right = (100.0 * (rng.random((rows, 150)) < rng.uniform(0.3, 0.8)) for _ in range(2))
    result = compute_contrast(measured, left, right)
    assert (result.p_farther < 0.05) == (result.farther_low > 0)
    assert (result.p_closer < 0.05) == (result.farther_high < 0)
    if measured is not ICAT:  # the interval of ICAT is conservative
        mirrored = compute_contrast(measured, right, left)
        assert (mirrored.p_closer, mirrored.p_farther) == pytest.approx((result.p_farther, result.p_closer))


def test_farther_from_an_ideal_that_is_an_end_is_lower() -> None:
    left, right = np.array([[100.0, 50.0, 0.0] * 30]), np.array([[100.0, 100.0, 50.0] * 30])
    result = compute_contrast(LMS, left, right)
    assert result.farther == -result.difference > 0
    assert (result.farther_low, result.farther_high) == (-result.high, -result.low)


def test_items_disagree_in_outcome_or_in_sign() -> None:
    assert find_disagreements(SS, np.array([[0.0, 100.0]]), np.array([[100.0, 100.0]])).tolist() == [True, False]
    for continuous in (S_JSD, PER_TOKEN, GEST, WINOBIAS):
        assert find_disagreements(continuous, np.array([[0.5, -1.0]]), np.array([[0.1, 1.0]])).tolist() == [False, True]
    assert find_disagreements(
        ICAT, np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 0.0], [0.0, 0.0]])
    ).tolist() == [
        False,
        True,
    ]
