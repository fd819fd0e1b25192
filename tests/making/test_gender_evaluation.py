"""Accuracy of the gender rules and of the pair filter, against the figures of GEST's paper and against simulations."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.command import Run
from tests.support.messages import assert_mentions
from tiltmeter.gender import SpeakerGender
from tiltmeter.making.rating.gender_evaluation import (
    NO_POPULATION,
    Stratum,
    estimate_accuracy,
    estimate_filter_gain,
    estimate_rules_gain,
    evaluate_samples,
)
from tiltmeter.making.rating.gender_sample import FILTERED, build_gender_units, open_sample, write_sample
from tiltmeter.making.rating.rating_tables import RatingUnit

# GEST's Table 6: 96,505 translations with a gender, of 32 pairs of system and language with 3,565 sentences each. The
# split by gender is that of the counts behind its Table 8.
POPULATION = {"masculine": 77_292, "feminine": 19_213, "none": 32 * 3565 - 96_505}


def test_table_4_of_gest(tmp_path: Path) -> None:
    """The counts of the published confusion matrix give its percentages, with exact intervals."""
    published = {"masculine": (179, 0, 1), "feminine": (3, 177, 0), "none": (30, 10, 140)}
    true: dict[str, int] = {}
    results = []
    for label, counts in published.items():
        for step, count in enumerate(counts, start=1):
            for number in range(count):
                text = f"{label} {step} {number}"
                true[text] = step
                results.append((text, SpeakerGender(None if label == "none" else label)))  # type: ignore[arg-type]
    write_sample(tmp_path / "sample", build_gender_units(results, "sk"), "gender", POPULATION)
    session = open_sample(tmp_path / "sample")
    with session.store, session.store.begin_transaction():
        for unit in session.store.list_units():
            step = true[unit.texts["sentence"]]
            session.store.add_rating(unit, "gender", "Ana", step, "")
            if step not in unit.fitting:
                session.store.add_rating(unit, "error", "Ana", 3 if unit.label == "none" else 6, "")
    found = evaluate_samples([tmp_path / "sample"])
    assert {row: tuple(found.counts[row, column] for column in found.columns) for row in found.rows} == published
    assert found.shown_gender is not None
    assert found.shown_gender.value == pytest.approx(100 * 356 / 360)
    assert found.right["none"].value == pytest.approx(77.8, abs=0.05)
    low, high = found.right["none"].interval
    assert 71 < low < 72
    assert 83 < high < 84
    assert found.errors == {"a rule is missing": 40, "false positive": 4}
    assert (found.undecided, found.unrated) == (0, 0)
    # Weighted by Table 6: the accuracy of all translations, and how many more could have a gender.
    assert found.overall is not None
    assert found.gain is not None
    total = sum(POPULATION.values())
    shares = {"masculine": 179 / 180, "feminine": 177 / 180, "none": 140 / 180}
    assert found.overall.value == pytest.approx(100 * sum(POPULATION[row] * shares[row] for row in shares) / total)
    assert found.overall.value == pytest.approx(95.9, abs=0.05)
    assert found.gain.value == pytest.approx(100 * POPULATION["none"] * 40 / 180 / 96_505)
    assert found.gain.value == pytest.approx(4.05, abs=0.005)


def test_table_5_of_gest(tmp_path: Path) -> None:
    """One of 80 accepted pairs is wrong, none of 80 rejected: 1.3% and 0% in the paper."""
    published = {"accepted": (0, 1, 79), "rejected": (61, 19, 0)}
    units = [
        RatingUnit(f"{label}-{case}-{number}", {"male": "a", "female": "b"}, label, FILTERED[label])
        for label, counts in published.items()
        for case, count in enumerate(counts, start=1)
        for number in range(count)
    ]
    write_sample(tmp_path / "sample", units, "pairs", {"accepted": 900, "rejected": 100})
    session = open_sample(tmp_path / "sample")
    with session.store, session.store.begin_transaction():
        for unit in units:
            session.store.add_rating(unit, "case", "Ana", int(unit.id.split("-")[1]), "")
    found = evaluate_samples([tmp_path / "sample"])
    assert 100 - found.right["accepted"].value == pytest.approx(1.25)
    assert found.right["rejected"].value == 100
    assert found.gain is not None
    # Of all pairs 90% x 79/80 are right, of accepted ones 79/80.
    assert found.gain.value == pytest.approx(100 * (79 / 80 - 0.9 * 79 / 80))
    assert found.shown_gender is None


def test_without_frequencies_there_is_a_reason(tmp_path: Path, run: Run) -> None:
    units = build_gender_units([("a", SpeakerGender("masculine")), ("b", SpeakerGender(None))], "sk")
    for name, population in (("old", None), ("new", {"masculine": 5, "none": 7})):
        write_sample(tmp_path / name, units, "gender", population)
        session = open_sample(tmp_path / name)
        with session.store, session.store.begin_transaction():
            session.store.add_rating(units[0], "gender", "Ana", 1, "")
    assert evaluate_samples([tmp_path / "old"]).reason == NO_POPULATION
    assert evaluate_samples([tmp_path / "new", tmp_path / "old"]).overall is None
    assert_mentions(run("gender", "evaluate", str(tmp_path / "new")), "outcome 'none'", "the data has 7")


def test_samples_of_several_languages_are_strata() -> None:
    one, other = Stratum("masculine", 900, 10, 10), Stratum("masculine", 100, 10, 0)
    assert estimate_accuracy([one, other]).value == pytest.approx(90)
    assert estimate_accuracy([one, other, Stratum("none", 0, 0, 0)]).value == pytest.approx(90)


def test_no_gain_without_anything_to_compare_with() -> None:
    assert estimate_rules_gain([Stratum("none", 5, 2, 1)]) is None
    assert estimate_filter_gain([Stratum("rejected", 5, 2, 1)]) is None
    gain = estimate_rules_gain([Stratum("masculine", 5, 2, 1), Stratum("none", 0)])
    assert gain is not None
    assert gain.value == 0


@pytest.mark.parametrize(("size", "highest"), [(20, 1.0), (180, 0.99)])
def test_intervals_cover_the_true_value(size: int, highest: float) -> None:
    """Simulated samples: at least 94% of the intervals have the true value; with few of each outcome, nearly all."""
    random = np.random.default_rng(3)
    population = {"masculine": 700, "feminine": 150, "none": 150}
    truth = {"masculine": 0.97, "feminine": 0.9, "none": 0.75}
    true_overall = 100 * sum(population[name] * truth[name] for name in truth) / 1000
    true_gain = 100 * 150 * 0.25 / 850
    rounds, hits, gain_hits = 600, 0, 0
    for _ in range(rounds):
        strata = [Stratum(name, population[name], size, int(random.binomial(size, truth[name]))) for name in truth]
        overall, gain = estimate_accuracy(strata), estimate_rules_gain(strata)
        assert gain is not None
        hits += overall.interval[0] <= true_overall <= overall.interval[1]
        gain_hits += gain.interval[0] <= true_gain <= gain.interval[1]
    assert 0.94 <= hits / rounds <= highest
    assert 0.925 <= gain_hits / rounds <= 0.985
