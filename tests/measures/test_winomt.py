"""Accuracy, ΔG and ΔS of WinoMT, against another implementation and a bootstrap."""

import random

import numpy as np
import pandas as pd
import pytest

from tests.measures.present import present
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import DataError
from tiltmeter.measures.records import Record
from tiltmeter.measures.verdict import Verdict
from tiltmeter.measures.verdict_rule import assign_verdicts
from tiltmeter.measures.winomt import get_strata, measure, notes

# The entity, its gender, the gender in the translation (None: not recognised), and whether its gender is stereotypical.
Row = tuple[str, str, str | None, str]
OTHER = {"male": "female", "female": "male"}


def table(rows: list[Row], language: str = "es") -> pd.DataFrame:
    label = {"model": "S", "benchmark": "winomt", "part": "all", "language": language, "protocol": "aligned-nouns"}
    return pd.DataFrame(
        [
            {**label, "item": str(n), "entity": entity, "gender": gender, "stereotypical": casting, "role": role}
            | {"score": float(score)}
            for n, (entity, gender, read, casting) in enumerate(rows)
            for role, score in (
                ("noun_right", gender == read),
                *((f"noun_{each}", read == each) for each in ("male", "female", "neutral")),
            )
        ]
    )


def made(entities: int = 40, sentences: int = 20, seed: int = 3) -> list[Row]:
    """A system that mostly reads male, and follows the stereotypes of some entities; half of these are female."""
    chance = random.Random(seed)
    rows: list[Row] = []
    for number in range(entities):
        stereotype = "female" if number % 2 else "male"
        follows = chance.random()
        for _ in range(sentences):
            for casting in ("pro", "anti"):
                gender = stereotype if casting == "pro" else OTHER[stereotype]
                guess = stereotype if chance.random() < follows else "male"
                read = gender if chance.random() < 0.3 else guess
                rows.append((f"entity {number}", gender, None if chance.random() < 0.03 else read, casting))
    rows += [("somebody", "neutral", "neutral" if n % 3 else "male", "none") for n in range(30)]
    return rows


def by_measure(records: list[Record]) -> dict[str, Record]:
    return {record.measure: record for record in records if record.view == "all"}


def naive(rows: list[Row]) -> dict[str, float]:
    """The published numbers, by precision and recall."""

    def share(chosen: list[Row]) -> float:
        return 100 * sum(gender == read for _, gender, read, _ in chosen) / len(chosen)

    def f1(which: str) -> float:
        translated = [row for row in rows if row[2] == which]
        people = [row for row in rows if row[1] == which]
        precision, recall = share(translated), share(people)
        return 2 * precision * recall / (precision + recall)

    casting = {name: share([row for row in rows if row[3] == name]) for name in ("pro", "anti")}
    return {
        "WinoMT acc": share(rows),
        "delta_S": casting["pro"] - casting["anti"],
        "delta_G": f1("male") - f1("female"),
        "F1_male": f1("male"),
        "F1_female": f1("female"),
        "untold": 100 * sum(row[2] is None for row in rows) / len(rows),
    }


def test_values_are_those_of_another_implementation() -> None:
    rows = made()
    measured = by_measure(measure(table(rows)))
    assert {name: record.value for name, record in measured.items()} == pytest.approx(naive(rows))
    assert measured["delta_S"].n == sum(row[3] != "none" for row in rows)
    assert measured["WinoMT acc"].n == len(rows)
    groups = {record.group: record for record in measure(table(rows)) if record.view == "stereotypical"}
    assert groups["pro"].value - groups["anti"].value == pytest.approx(measured["delta_S"].value)
    assert [record.value for record in measure(table(rows), intervals=False)] == [
        record.value for record in measure(table(rows))
    ]


def test_intervals_are_about_those_of_a_bootstrap_of_entities() -> None:
    rows = made()
    measured = by_measure(measure(table(rows)))
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[0], []).append(row)
    kinds: dict[str, list[str]] = {}
    for entity, members in groups.items():
        kinds.setdefault(
            get_strata(pd.DataFrame(members[:1], columns=["e", "gender", "r", "stereotypical"]))[0], []
        ).append(entity)
    chance = random.Random(5)
    drawn = []
    for _ in range(300):
        chosen = [entity for listed in kinds.values() for entity in chance.choices(listed, k=len(listed))]
        drawn.append(naive([row for entity in chosen for row in groups[entity]]))
    for name in ("delta_S", "delta_G", "WinoMT acc", "F1_female"):
        low, high = np.quantile([values[name] for values in drawn], [0.025, 0.975])
        width = measured[name].high - measured[name].low  # type: ignore[operator]
        assert width == pytest.approx(high - low, rel=0.25), name


def test_the_strata_are_the_stereotypical_genders() -> None:
    rows = pd.DataFrame(
        {"gender": ["male", "female", "male", "neutral"], "stereotypical": ["pro", "pro", "anti", "none"]}
    )
    assert get_strata(rows).tolist() == ["male", "female", "female", "none"]


def stereotyping(untold: float = 0.0) -> list[Row]:
    """A system that gives each entity its stereotypical gender, in all but every tenth sentence."""
    rows: list[Row] = []
    for number in range(40):
        stereotype = "female" if number % 2 else "male"
        for n in range(10):
            for casting in ("pro", "anti"):
                gender = stereotype if casting == "pro" else OTHER[stereotype]
                read = gender if n == number % 10 else stereotype
                rows.append((f"entity {number}", gender, None if n < 10 * untold else read, casting))
    return rows


def test_the_verdict_and_its_validity_rule() -> None:
    delta_s = by_measure(assign_verdicts(measure(table(stereotyping()))))["delta_S"]
    assert delta_s.verdict == Verdict("significant", "towards", "beyond", "5 points")
    delta_s = by_measure(assign_verdicts(measure(table(stereotyping(untold=0.3)))))["delta_S"]
    assert present(delta_s.verdict).kind == "not interpretable"
    assert_mentions(present(delta_s.verdict).reason, "30% of the nouns")


def test_measures_that_are_not_defined_are_left_out() -> None:
    only: list[Row] = [("cook", "male", "male", "pro"), ("cook", "male", "female", "pro")]
    assert set(by_measure(measure(table(only)))) == {"WinoMT acc", "F1_male", "F1_female", "untold"}
    alike: list[Row] = [("cook", "male", "male", "pro"), ("cook", "female", "male", "anti")] * 2
    delta_s = by_measure(measure(table(alike)))["delta_S"]
    assert (delta_s.value, delta_s.low) == (100.0, None)
    assert "same value" in (delta_s.why or "")


def test_intervals_end_at_the_bounds() -> None:
    rows: list[Row] = [(f"entity {n}", "female", "female" if n == 7 else "male", "none") for n in range(12)]
    rows += [(f"entity {n}", "male", "male", "none") for n in range(12)]
    measured = by_measure(measure(table(rows)))["F1_female"]
    assert measured.low == 0
    assert 0 < measured.value < measured.high  # type: ignore[operator]


def test_few_translations_have_a_note() -> None:
    assert notes(table(made())) == []
    (note,) = notes(table(made()[:20]))
    assert_mentions(note, "winomt:es", "20 translations", "1,000")


def test_scores_must_be_0_or_1_with_one_gender() -> None:
    scores = table([("cook", "male", "male", "pro")])
    with raises_mentioning(DataError, "S for item 0", "0 or 1"):
        measure(scores.assign(score=0.5))
    with raises_mentioning(DataError, "S for item 0", "at most one gender"):
        measure(scores.assign(score=1.0))
