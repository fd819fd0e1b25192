"""Accuracy of MT-GenEval and its gap, against counts by hand and by another implementation."""

import itertools
import random

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from tests.measures.present import present
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import DataError
from tiltmeter.measures.geneval import measure, notes
from tiltmeter.measures.verdict import Verdict
from tiltmeter.measures.verdict_rule import assign_verdicts

Row = tuple[str, str, str | None, int, int]


def table(rows: list[Row], part: str = "sentences") -> pd.DataFrame:
    label = {"model": "S", "benchmark": "mt-geneval", "part": part, "language": "es", "protocol": "word-lists"}
    return pd.DataFrame(
        [
            {**label, "item": item, "gender": gender, "pair": pair, "role": role, "score": float(score)}
            for item, gender, pair, correct, matched in rows
            for role, score in (("correct", correct), ("matched", matched))
        ]
    )


def pairs(n: int, seed: int = 1) -> list[Row]:
    chance = random.Random(seed)
    return [
        (f"{number}{gender}", gender, str(number), int(chance.random() < share), int(chance.random() < 0.9))
        for number in range(n)
        for gender, share in (("masculine", 0.9), ("feminine", 0.6))
    ]


def test_values_by_hand() -> None:
    rows = pairs(60)
    values = {record.measure: record for record in measure(table(rows))}
    right = {(pair, gender): correct for _, gender, pair, correct, _ in rows}
    masculine = [right[str(n), "masculine"] for n in range(60)]
    feminine = [right[str(n), "feminine"] for n in range(60)]
    both = [m and f for m, f in zip(masculine, feminine, strict=True)]
    assert values["acc"].value == pytest.approx(100 * sum(both) / 60)
    assert values["acc_m"].value == pytest.approx(100 * sum(masculine) / 60)
    assert values["acc_f"].value == pytest.approx(100 * sum(feminine) / 60)
    assert values["acc gap"].value == pytest.approx(100 * (sum(masculine) - sum(feminine)) / 60)
    assert values["reference coverage"].value == pytest.approx(100 * sum(row[4] for row in rows) / 120)
    assert (values["acc"].n, values["acc_m"].n, values["acc gap"].n) == (60, 60, 120)
    # The paired test uses the discordant pairs only, as the sign test does.
    differing = [(m, f) for m, f in zip(masculine, feminine, strict=True) if m != f]
    exact = binomtest(sum(m for m, _ in differing), len(differing)).pvalue
    assert values["acc gap"].p_value == pytest.approx(exact, rel=0.75)
    assert values["acc gap"].low < values["acc gap"].value < values["acc gap"].high


def test_contexts_are_not_pairs_and_may_have_no_gender() -> None:
    rows: list[Row] = [(f"m{n}", "masculine", None, n < 45, 1) for n in range(50)]
    rows += [(f"f{n}", "feminine", None, n < 20, 1) for n in range(40)]
    rows += [(f"u{n}", "unknown", None, 1, 1) for n in range(10)]
    values = {record.measure: record for record in measure(table(rows, "context"))}
    assert values["acc"].value == pytest.approx(75.0)
    assert values["acc gap"].value == pytest.approx(90.0 - 50.0)
    assert values["acc gap"].n == 90


def test_the_verdict_and_its_validity_rule() -> None:
    sure: list[Row] = [
        (f"{n}{gender}", gender, str(n), int(gender == "masculine" or n % 2), 1)
        for n, gender in itertools.product(range(100), ("masculine", "feminine"))
    ]
    (gap,) = [record for record in assign_verdicts(measure(table(sure))) if record.measure == "acc gap"]
    assert gap.verdict == Verdict("significant", "towards", "beyond", "5 points")
    unmatched = [
        (item, gender, pair, correct, int(n % 4 == 0)) for n, (item, gender, pair, correct, _) in enumerate(sure)
    ]
    (gap,) = [record for record in assign_verdicts(measure(table(unmatched))) if record.measure == "acc gap"]
    assert present(gap.verdict).kind == "not interpretable"
    assert_mentions(present(gap.verdict).reason, "only 25%", "translations", "reference")


def test_one_gender_only_has_no_gap_and_a_note() -> None:
    scores = table([("a", "feminine", None, 1, 1), ("b", "feminine", None, 0, 1)], "context")
    assert {record.measure for record in measure(scores)} == {"acc", "acc_f", "reference coverage"}
    (note,) = notes(scores)
    assert_mentions(note, "mt-geneval/context:es", "acc gap")
    assert notes(table(pairs(3))) == []


def test_scores_must_be_0_or_1() -> None:
    scores = table([("a", "feminine", None, 1, 1)])
    scores["score"] = 0.5
    with raises_mentioning(DataError, "S for item a", "0 or 1"):
        measure(scores)


def with_words(scores: pd.DataFrame, words: int) -> pd.DataFrame:
    """The scores with the words in which the references differ; item n has the word n modulo `words`."""
    numbers = scores["item"].str.extract(r"(\d+)", expand=False).astype(int)
    return scores.assign(gendered_words="w" + (numbers % words).astype(str))


@pytest.mark.parametrize("paired", [True, False])
def test_items_with_the_same_words_are_a_cluster(paired: bool) -> None:
    """All items with a word are right, or only those about men; items are copies of others, not more evidence."""
    rows: list[Row] = [
        (f"{n}{gender}", gender, str(n) if paired else None, int(gender == "masculine" or n % 20 < 12), 1)
        for n, gender in itertools.product(range(200), ("masculine", "feminine"))
    ]
    scores = table(rows)
    alone, shared = (
        {record.measure: record for record in measure(each)} for each in (scores, with_words(scores, words=20))
    )
    for name in ("acc gap", "acc", "acc_f"):
        assert shared[name].value == pytest.approx(alone[name].value)
        assert (shared[name].factor, shared[name].clusters) == ("gendered_words", 20)
        # Ten copies of each item: the interval is about sqrt(10) times as wide.
        widths = [present(record[name].high) - present(record[name].low) for record in (shared, alone)]
        assert 2.5 < widths[0] / widths[1] < 4.5


def test_a_gap_of_words_is_not_a_gap_between_genders() -> None:
    """Some words are right only for men, as many only for women; the type I error is that of the test."""
    rng, times, rejected = np.random.default_rng(3), 60, {"one": 0, "all": 0}
    for _ in range(times):
        sides = rng.choice([-1.0, 1.0], 40)
        rows: list[Row] = []
        for n, (word, sign) in enumerate(zip(rng.integers(40, size=600), rng.choice([-1, 1], 600), strict=True)):
            gender = "masculine" if sign > 0 else "feminine"
            rows.append((f"i{n}w{word}", gender, None, int(rng.random() < 0.7 + 0.25 * sides[word] * sign), 1))
        scores = table(rows, "context")
        words = scores.assign(gendered_words=scores["item"].str.extract(r"(w\d+)", expand=False))
        for name, each in (("one", scores), ("all", words)):
            rejected[name] += present(next(r for r in measure(each) if r.measure == "acc gap").p_value) < 0.05
    assert rejected["one"] > 0.2 * times
    assert rejected["all"] < 0.12 * times
