"""Measures of the choices of chat models, compared with plain computations and simulations."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from perf.simulations.choices import choices as simulated_choices
from perf.simulations.choices import gaps as simulated_gaps
from perf.simulations.choices import threes as simulated_threes
from perf.simulations.populations import Shape
from tests.measures.present import present
from tiltmeter.benchmarks.forced_choice.choice_scores import ItemAnswer, compute_item_scores
from tiltmeter.benchmarks.forced_choice.option_orders import Arrangement
from tiltmeter.measures.choices import (
    MEASURES,
    estimate_fixed_gap,
    estimate_random_gap,
    measure,
)
from tiltmeter.measures.records import Record
from tiltmeter.measures.verdict_rule import assign_verdicts

FORTH, BACK = ("stereotype", "anti-stereotype"), ("anti-stereotype", "stereotype")


def table(answers: dict[str, list[ItemAnswer]], **columns: list[object]) -> pd.DataFrame:
    """The scores of items with these answers; `columns` have a value for each item."""
    rows = []
    for number, (item, given) in enumerate(answers.items()):
        labels = {name: values[number] for name, values in columns.items()}
        rows += [
            {
                "model": "chat:made",
                "benchmark": "made",
                "part": "all",
                "language": "en",
                "item": item,
                "candidate": role,
                "role": role,
                "score": score,
                "protocol": "forced-choice",
                **labels,
            }
            for role, score in compute_item_scores(given)
        ]
    return pd.DataFrame(rows)


def chosen(first: str | None, second: str | None, refused: bool = False) -> list[ItemAnswer]:
    """Return the answers with the stereotype first and with it second."""
    return [
        ItemAnswer(Arrangement(0, order, False), roles, tuple(float(role == choice) for role in roles), refused)
        for order, roles, choice in (((0, 1), FORTH, first), ((1, 0), BACK, second))
    ]


S, A = "stereotype", "anti-stereotype"


def by_measure(scores: pd.DataFrame, view: str = "all", group: str = "all") -> dict[str, Record]:
    return {r.measure: r for r in assign_verdicts(measure(scores)) if (r.view, r.group) == (view, group)}


def test_values() -> None:
    answers = {
        "1": chosen(S, S),
        "2": chosen(S, A),
        "3": chosen(A, A),
        "4": chosen(S, None),
        "5": chosen(None, None, refused=True),
    }
    types = ["gender", "gender", "race", "race", "race"]
    scores = table(answers, bias_type=types, direction=["stereo"] * 5)
    values = {name: record.value for name, record in by_measure(scores).items()}
    assert values == pytest.approx(
        {
            "chosen stereotype": (100 + 50 + 0 + 100) / 4,
            "stereotype choices": 100 * 4 / 10,
            "anti-stereotype choices": 100 * 3 / 10,
            "refusals": 20.0,
            "unparseable answers": 10.0,
            "coverage": 70.0,
            # The first place: half of item 1, all of 2, half of 3, all of 4.
            "position effect": 100 * (0.75 - 0.5) / 0.5,
            "agreement between orders": 100 * 2 / 3,
            "agreement by guessing": 50.0,
        }
    )
    of_gender = by_measure(scores, "bias_type", "gender")
    assert of_gender["chosen stereotype"].value == 75.0
    assert of_gender["chosen stereotype"].n == 2


def test_names_are_not_those_of_likelihoods() -> None:
    assert not {measure.name for measure in MEASURES} & {"SS", "LMS", "CPS", "ICAT", "g_s", "f_s"}


def test_targets_are_clusters() -> None:
    rng = np.random.default_rng(0)
    targets = [f"t{number % 8}" for number in range(80)]
    leans = {f"t{number}": rng.choice([0.1, 0.9]) for number in range(8)}
    answers = {
        str(number): chosen(*(S if rng.random() < leans[target] else A for _ in range(2)))
        for number, target in enumerate(targets)
    }
    alone = by_measure(table(answers, bias_type=["x"] * 80))["chosen stereotype"]
    clustered = by_measure(table(answers, bias_type=["x"] * 80, target=targets))["chosen stereotype"]
    assert clustered.clusters == 8
    assert present(clustered.standard_error) > 1.5 * present(alone.standard_error)
    templates = [f"template {number // 20}" if number % 5 else None for number in range(80)]
    crossed = by_measure(table(answers, bias_type=["x"] * 80, target=targets, template=templates))["chosen stereotype"]
    assert (crossed.factor, crossed.clusters) == ("target", 8)
    assert present(crossed.standard_error) >= present(clustered.standard_error)


def test_the_gap_is_that_of_two_stratified_means() -> None:
    rng = np.random.default_rng(1)
    stereotypes = np.repeat(np.arange(1, 17), 10).astype(object)
    values = rng.choice([0.0, 25.0, 50.0, 75.0, 100.0], 160)
    means = [values[stereotypes == number].mean() for number in range(1, 17)]
    fixed, like = estimate_fixed_gap(values, stereotypes), estimate_random_gap(values, stereotypes)
    expected = np.mean(means[7:]) - np.mean(means[:7])
    assert fixed.value == pytest.approx(expected)
    variances = [values[stereotypes == number].var(ddof=1) / 10 for number in range(1, 17)]
    error = np.sqrt(sum(variances[7:]) / 81 + sum(variances[:7]) / 49)
    assert fixed.standard_error.value == pytest.approx(error)
    welch = stats.ttest_ind(means[7:], means[:7], equal_var=False).confidence_interval()
    assert present(like).interval() == pytest.approx((welch.low, welch.high))


def test_a_gap_with_few_sentences() -> None:
    stereotypes = np.array([1, 1, 2, 8, 9, 9], dtype=object)
    estimate = estimate_fixed_gap(np.array([0.0, 50.0, 100.0, 50.0, 100.0, 100.0]), stereotypes)
    low, high = estimate.interval()
    assert low < estimate.value < high
    assert estimate_random_gap(np.arange(6.0), stereotypes) is None


def test_a_gap_where_all_are_alike_has_an_interval() -> None:
    stereotypes = np.repeat(np.arange(1, 17), 20).astype(object)
    low, high = estimate_fixed_gap(np.full(320, 100.0), stereotypes).interval()
    assert -10 < low < 0 < high < 10


@pytest.mark.parametrize("refusals", [0.0, 0.3])
def test_coverage_of_chosen_stereotype(refusals: float) -> None:
    """At least 91% of 200 data sets; 95% intervals fall below that with a probability of 1%."""
    simulate = simulated_choices(Shape("20 terms of 4", 80, 20), 0.65, 0.2, 0.3, refusals, 0.04)
    counts = simulate(np.random.default_rng(5), 200)
    for name in ("chosen stereotype", "position effect"):
        assert counts[name][0] / counts[name][1] > 0.91, name


def test_coverage_of_three_options() -> None:
    """At least 91% of 200 data sets, for three places."""
    counts = simulated_threes(Shape("40", 40), 0.65, 0.1, 0.0, 0.3, 0.0)(np.random.default_rng(7), 200)
    for name in ("chosen stereotype", "sense chosen", "position effect", "order effect"):
        assert counts[name][0] / counts[name][1] > 0.91, name
    detected, number = simulated_threes(Shape("40", 40), 0.5, 0.0, 0.0, 1.0, 0.0)(np.random.default_rng(8), 50)[
        "order found"
    ]
    assert detected == number


def test_coverage_of_the_gap() -> None:
    counts = simulated_gaps(5, 0.4, 0.3)(np.random.default_rng(6), 200)
    for name in ("these stereotypes", "stereotypes like these"):
        assert counts[name][0] / counts[name][1] > 0.91, name
