import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tiltmeter.measures import contrasts, quantities
from tiltmeter.measures.contrasts import (
    cohens_g,
    contrast,
    detectable_share,
    disagreements,
    hedges_g,
    holm,
    permutation_test,
)
from tiltmeter.measures.intervals import RESAMPLES, Floats
from tiltmeter.measures.quantities import QUANTITIES, Quantity, men_minus_women, named, quantities_for

BY_NAME = {quantity.measure: quantity for quantity in QUANTITIES}
SS, LMS, ICAT, S_JSD, FS = (BY_NAME[name] for name in ("SS", "LMS", "ICAT", "S_JSD x 1e3", "f_s"))
GEST = next(quantity for quantity in QUANTITIES if quantity.columns == ("stereotype",))


def two_binary(rng: np.random.Generator, n: int, left: float, right: float) -> tuple[Floats, Floats]:
    """Percentages of items that go together: the answers to an item are correlated, as those of two models are."""
    first = rng.standard_normal(n)
    second = 0.6 * first + 0.8 * rng.standard_normal(n)
    ends = stats.norm.ppf([left, right])
    return 100.0 * np.array([first < ends[0]]), 100.0 * np.array([second < ends[1]])


# Against SciPy and statsmodels


def test_holm_is_that_of_statsmodels() -> None:
    multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests
    rng = np.random.default_rng(7)
    for n in (1, 2, 5, 40):
        p_values = (rng.random(n) ** 3).tolist()
        assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist())


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_never_helps_and_keeps_the_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    assert [adjusted[i] for i in order] == sorted(adjusted)


def test_mcnemar_is_that_of_statsmodels() -> None:
    mcnemar = pytest.importorskip("statsmodels.stats.contingency_tables").mcnemar
    left, right = two_binary(np.random.default_rng(3), 300, 0.6, 0.5)
    a, b = left[0] > 50, right[0] > 50
    table = [[np.sum(a & b), np.sum(a & ~b)], [np.sum(~a & b), np.sum(~a & ~b)]]
    found = contrast(SS, left, right)
    assert found.test == "McNemar exact"
    assert found.p_value == pytest.approx(mcnemar(table, exact=True).pvalue)
    assert found.disagree == table[0][1] + table[1][0]
    assert found.effect == pytest.approx(table[0][1] / found.disagree - 0.5)


def test_the_permutation_test_is_that_of_scipy_when_all_swaps_are_tried() -> None:
    differences = np.random.default_rng(5).normal(0.5, 1, 12)
    expected = stats.permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert permutation_test(differences) == pytest.approx(expected.pvalue)


@pytest.mark.parametrize("discrete", [True, False])
def test_the_permutation_test_is_near_the_t_test_for_many(discrete: bool) -> None:
    differences = np.random.default_rng(6).normal(0.12, 1, 400)
    differences = np.round(differences * 2) / 2 if discrete else differences
    assert permutation_test(differences) == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, abs=0.01)


def test_the_interval_is_that_of_scipys_paired_bootstrap() -> None:
    rng = np.random.default_rng(9)
    left, right = two_binary(rng, 400, 0.62, 0.55)
    found = contrast(SS, left, right)
    theirs = stats.bootstrap(
        (left[0], right[0]),
        lambda a, b, axis: np.mean(a, axis=axis) - np.mean(b, axis=axis),
        paired=True,
        vectorized=True,
        method="percentile",
        rng=rng,
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.4)


def test_hedges_g_by_hand() -> None:
    differences = np.random.default_rng(2).normal(1, 2, 30)
    d = differences.mean() / differences.std(ddof=1)
    assert hedges_g(differences.mean(), differences.std(ddof=1), 30) == pytest.approx(d * (1 - 3 / 115))
    assert hedges_g(0.0, 0.0, 30) == 0


# What a contrast says


def test_swapping_the_sides_changes_the_signs() -> None:
    left, right = two_binary(np.random.default_rng(1), 200, 0.6, 0.5)
    one, other = contrast(SS, left, right), contrast(SS, right, left)
    assert one.difference == -other.difference
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=0.6)
    assert one.p_value == other.p_value
    assert one.farther == pytest.approx(-other.farther)


def test_equal_answers_do_not_prove_that_there_is_no_difference() -> None:
    same = np.full((1, 20), 100.0)
    found = contrast(SS, same, same)
    assert (found.difference, found.p_value, found.disagree, found.effect) == (0, 1, 0, 0)
    # 20 items can all miss what one item in six does.
    assert found.low == pytest.approx(-16.8, abs=0.1)
    assert found.high == pytest.approx(16.8, abs=0.1)


def test_farther_is_about_the_distance_from_the_ideal() -> None:
    left, right = (100.0 * np.array([np.arange(1000) < count]) for count in (560, 460))
    found = contrast(SS, left, right)
    assert found.difference == pytest.approx(10)
    assert found.farther == pytest.approx(2)
    assert found.farther_low < 0 < found.farther_high


def test_farther_from_an_ideal_that_is_an_end_is_lower() -> None:
    left, right = np.array([[100.0, 50.0, 0.0] * 30]), np.array([[100.0, 100.0, 50.0] * 30])
    found = contrast(LMS, left, right)
    assert found.farther == -found.difference > 0
    assert (found.farther_low, found.farther_high) == (-found.high, -found.low)


def test_icat_is_made_of_means() -> None:
    rng = np.random.default_rng(4)
    left, right = (np.vstack([50.0 * rng.integers(0, 3, 300), 100.0 * rng.integers(0, 2, 300)]) for _ in range(2))
    found = contrast(ICAT, left, right)
    lms, ss = left.mean(axis=1)
    assert found.left == pytest.approx(lms * min(ss, 100 - ss) / 50)
    assert found.test == "paired bootstrap"
    assert found.effect is None
    assert found.low < found.difference < found.high


def test_log_g_s_weighs_stereotypes_alike() -> None:
    labels = np.array([1, 1, 1, 2, 8, 9], dtype=object)
    left, right = np.array([[1.0, 2.0, 3.0, 4.0, 10.0, 20.0]]), np.zeros((1, 6))
    found = contrast(GEST, left, right, labels)
    assert found.left == pytest.approx((10 + 20) / 2 - (2 + 4) / 2)
    assert found.right == 0
    assert men_minus_women(labels, lambda label: label == 8).sum() == pytest.approx(0)


def test_one_item_is_no_reason_to_stop() -> None:
    found = contrast(S_JSD, np.array([[1.0]]), np.array([[0.5]]))
    assert found.n == 1
    assert found.p_value == 1


def test_disagreement_is_of_choice_or_of_sign() -> None:
    assert disagreements(SS, np.array([[0.0, 100.0]]), np.array([[100.0, 100.0]])).tolist() == [True, False]
    assert disagreements(S_JSD, np.array([[0.5, -1.0]]), np.array([[0.1, 1.0]])).tolist() == [False, True]


def test_roles_say_what_can_be_compared() -> None:
    assert [q.measure for q in quantities_for(["stereotype", "anti-stereotype", "unrelated"], [])] == [
        "SS",
        "LMS",
        "ICAT",
    ]
    assert [q.measure for q in quantities_for(["log_ratio"], ["occupation_gender"])] == ["log g_s"]
    assert quantities_for(["log_ratio"], []) == []
    assert named("S_JSD", BY_NAME) == "S_JSD x 1e3"
    assert named("log", BY_NAME) == "log g_s"
    assert named("S", BY_NAME) is None


def test_a_tie_is_no_preference_for_the_stereotype() -> None:
    values = SS.of_items({"stereotype": np.array([0.5, 0.6]), "anti-stereotype": np.array([0.5, 0.5])})
    assert values.tolist() == [[0.0, 100.0]]


# Power


def test_cohens_g() -> None:
    assert cohens_g(0, 0) == 0
    assert cohens_g(10, 0) == 0.5


@given(st.integers(1, 3000), st.data())
def test_the_detectable_share_is_a_share(n: int, data: st.DataObject) -> None:
    discordant = data.draw(st.integers(0, n))
    assert 0 < detectable_share(n, discordant) <= 1


def test_more_items_show_smaller_differences() -> None:
    shares = [detectable_share(n, n // 3) for n in (30, 100, 1000, 10000)]
    assert shares == sorted(shares, reverse=True)


@pytest.mark.slow
def test_a_detectable_difference_is_detected_four_times_in_five() -> None:
    rng = np.random.default_rng(11)
    n, discordant = 500, 0.3
    difference = detectable_share(n, int(n * discordant))
    found = 0
    for _ in range(1000):
        kinds = rng.multinomial(n, [(discordant + difference) / 2, (discordant - difference) / 2, 1 - discordant])
        found += stats.binomtest(int(kinds[0]), int(kinds[0] + kinds[1])).pvalue < 0.05
    assert 0.75 < found / 1000 < 0.85


# By simulation


def _covered(quantity: Quantity, truth: float, draw: "object", times: int = 1000) -> tuple[float, float]:
    """How often the interval holds the truth, and how often the test says that there is a difference."""
    rng = np.random.default_rng(2024)
    covers = alarms = 0
    for _ in range(times):
        left, right = draw(rng)  # type: ignore[operator]
        found = contrast(quantity, left, right, resamples=RESAMPLES if quantity.discrete else 1999)
        covers += found.low - 1e-9 <= truth <= found.high + 1e-9
        alarms += found.p_value < 0.05
    return covers / times, alarms / times


@pytest.mark.slow
@pytest.mark.parametrize(("n", "left", "right"), [(212, 0.56, 0.50), (2106, 0.59, 0.62), (200, 0.55, 0.55)])
def test_intervals_of_ss_cover_and_mcnemars_test_keeps_its_level(n: int, left: float, right: float) -> None:
    covered, alarms = _covered(SS, 100 * (left - right), lambda rng: two_binary(rng, n, left, right))
    assert 0.93 <= covered <= 0.97
    if left == right:
        assert alarms <= 0.06


def _two_skewed(rng: np.random.Generator, n: int, shift: float) -> tuple[Floats, Floats]:
    base = rng.standard_normal(n)
    return np.array([base + rng.standard_gamma(2, n) - 2 + shift]), np.array([base + rng.standard_normal(n)])


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_intervals_of_means_cover_and_the_permutation_test_keeps_its_level(shift: float) -> None:
    covered, alarms = _covered(S_JSD, shift, lambda rng: _two_skewed(rng, 120, shift))
    assert 0.93 <= covered <= 0.97
    if not shift:
        assert alarms <= 0.06


def _two_of_icat(rng: np.random.Generator, n: int, left: float, right: float) -> tuple[Floats, Floats]:
    first = rng.random((2, n))
    second = np.where(rng.random((2, n)) < 0.5, first, rng.random((2, n)))
    return 100.0 * np.array([first[0] < 0.85, first[1] < left]), 100.0 * np.array([second[0] < 0.85, second[1] < right])


@pytest.mark.slow
@pytest.mark.parametrize(("left", "right"), [(0.60, 0.55), (0.50, 0.50), (0.52, 0.48), (0.6, 0.4)])
def test_intervals_of_icat_cover_at_least_and_its_test_keeps_its_level(left: float, right: float) -> None:
    """Where ICAT is bent, at SS = 50, its intervals are wider than they need be, and never too narrow."""
    truth = 2 * 85 * (min(left, 1 - left) - min(right, 1 - right))
    covered, alarms = _covered(ICAT, truth, lambda rng: _two_of_icat(rng, 500, left, right), times=600)
    assert covered >= 0.93
    if not truth:
        assert alarms <= 0.06


def test_f_s_is_of_translations_with_a_gender() -> None:
    assert FS.may_be_blank


@pytest.mark.parametrize("module", [contrasts, quantities])
def test_examples(module: object) -> None:
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert found.attempted
    assert not found.failed
