"""The quality of items: each number against a naive derivation, and intervals by simulation."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr
from statsmodels.stats.inter_rater import cohens_kappa

from tests.runs.made import association_scores, pair_scores, run
from tests.support.command import command
from tests.support.messages import raises_mentioning
from tiltmeter.comparing.cells import build_cells
from tiltmeter.comparing.contribution_tables import ContributionTable, build_contribution_tables
from tiltmeter.comparing.item_quality import assess_item_quality
from tiltmeter.comparing.item_statistics import (
    compute_item_statistics,
    compute_language_agreement,
    estimate_lowest_reliability,
    estimate_reliability,
    find_all_wrong,
)
from tiltmeter.errors import UsageError
from tiltmeter.making.source_corrections import CORRECTION_COLUMNS
from tiltmeter.measures.factors import Factors
from tiltmeter.runs.result import Result


def pairs_run(model: str, prefers: np.ndarray, language: str = "en") -> Result:
    """A run of a model that prefers the first sentence of the pairs that say so."""
    scores = pair_scores(model, n=len(prefers), seed=1, language=language)
    order = {item: number for number, item in enumerate(dict.fromkeys(scores["item"]))}
    chosen = scores["item"].map(order).map(lambda number: float(prefers[number]))
    scores.loc[scores["role"] == "more", "score"] = chosen[scores["role"] == "more"]
    scores.loc[scores["role"] == "less", "score"] = 0.5
    return run(scores, family="pairs")


def panel_of(results: list[Result], measure: str = "CPS") -> ContributionTable:
    cells = [cell for number, result in enumerate(results) for cell in build_cells(str(number), result)]
    (found,) = (panel for panel in build_contribution_tables(cells) if panel.quantity.name == measure)
    return found


def drawn(models: int, items: int, spread: float, seed: int) -> list[np.ndarray]:
    """Models that prefer the first sentence with probabilities that differ between models with this spread."""
    random = np.random.default_rng(seed)
    shares = np.clip(random.normal(0.5, spread, models), 0.02, 0.98)
    return [random.random(items) < share for share in shares]


def test_values_are_those_of_the_measure() -> None:
    results = [pairs_run(f"m{n}", prefers) for n, prefers in enumerate(drawn(4, 50, 0.2, 1))]
    panel = panel_of(results)
    wanted = [next(r.value for r in result.records if r.measure == "CPS" and r.view == "all") for result in results]
    assert panel.compute_model_values().tolist() == pytest.approx(wanted)
    half = np.arange(50) < 25
    assert panel.compute_model_values(half).tolist() == pytest.approx(
        [100 * row[:25].mean() for row in panel.contributions / 100]
    )


def test_separation_is_the_correlation_with_the_other_items() -> None:
    panel = panel_of([pairs_run(f"m{n}", prefers) for n, prefers in enumerate(drawn(8, 30, 0.3, 2))])
    table = panel.contributions
    for number, found in enumerate(compute_item_statistics(panel)):
        own, rest = table[:, number], np.delete(table, number, axis=1).mean(axis=1)
        if len(set(own)) == 1:
            assert found.separation is None
        else:
            assert found.separation == pytest.approx(pearsonr(own, rest).statistic)
        assert found.mean == pytest.approx(own.mean())


def test_an_item_against_the_rest_is_found() -> None:
    prefers = drawn(14, 60, 0.3, 3)
    order = np.argsort([row.mean() for row in prefers])
    for place, model in enumerate(order):
        prefers[model][7] = place < 7  # those that prefer the first sentence least often prefer it here
    statistics = compute_item_statistics(panel_of([pairs_run(f"m{n}", row) for n, row in enumerate(prefers)]))
    suspect = [one.item[1] for one in statistics if one.p_negative is not None and one.p_negative < 0.05]
    assert suspect == ["7"]


def test_reliability_is_what_the_spread_of_the_models_implies() -> None:
    """The variance of the models' true values over that of their scores."""
    items, spread = 80, 0.12
    implied = spread**2 / (spread**2 + (0.25 - spread**2) / items)
    panel = panel_of([pairs_run(f"m{n}", row) for n, row in enumerate(drawn(40, items, spread, 0))])
    found = [
        estimate_reliability(replace(panel, contributions=100.0 * np.array(drawn(40, items, spread, seed))), splits=20)
        for seed in range(6)
    ]
    assert np.mean([one.value for one in found if one]) == pytest.approx(implied, abs=0.03)


def test_the_interval_of_reliability_covers() -> None:
    """In at least 90% of data sets of twelve models; Fisher's interval is that of two halves with normal values."""
    items, spread, sets = 60, 0.12, 60
    implied = spread**2 / (spread**2 + (0.25 - spread**2) / items)
    panel = panel_of([pairs_run(f"m{n}", row) for n, row in enumerate(drawn(12, items, spread, 0))])
    covered = 0
    for seed in range(sets):
        table = 100.0 * np.array(drawn(12, items, spread, seed + 100))
        found = estimate_reliability(replace(panel, contributions=table), splits=20)
        assert found is not None
        assert found.interval is not None
        covered += found.interval[0] <= implied <= found.interval[1]
    assert covered >= 0.9 * sets


def test_no_reliability_where_models_do_not_differ_or_are_few() -> None:
    same = [np.arange(40) % 2 == 0] * 4
    assert estimate_reliability(panel_of([pairs_run(f"m{n}", row) for n, row in enumerate(same)])) is None
    assert (
        estimate_reliability(panel_of([pairs_run(f"m{n}", row) for n, row in enumerate(drawn(2, 40, 0.3, 1))])) is None
    )
    few = estimate_reliability(panel_of([pairs_run(f"m{n}", row) for n, row in enumerate(drawn(4, 40, 0.3, 1))]))
    assert few is not None
    assert few.interval is None


def test_reliability_over_clusters_is_the_lowest_over_all_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models differ in their preference for words, so halves with different words agree less than random halves."""
    random, models, items = np.random.default_rng(5), 30, 120
    words, targets = np.arange(items) % 12, np.arange(items) // 2
    shares = np.clip(0.5 + random.normal(0, 0.05, (models, 1)) + random.normal(0, 0.25, (models, 12))[:, words], 0, 1)
    panel = panel_of([pairs_run(f"m{n}", row) for n, row in enumerate(drawn(models, items, 0.1, 0))])
    panel = replace(panel, contributions=100.0 * (random.random((models, items)) < shares))
    labels = {"target": targets.astype(str).astype(object), "word": words.astype(str).astype(object)}
    monkeypatch.setattr(ContributionTable, "build_factors", lambda _: Factors.from_labels(labels))
    over_items, lowest = estimate_reliability(panel, splits=40), estimate_lowest_reliability(panel, splits=40)
    assert over_items is not None
    assert lowest is not None
    assert lowest.factor == "word"
    assert lowest.value < over_items.value - 0.2
    monkeypatch.setattr(ContributionTable, "build_factors", lambda _: None)
    assert estimate_lowest_reliability(panel) is None


def test_items_that_all_models_get_wrong() -> None:
    results = []
    for seed in range(3):
        scores = association_scores(f"m{seed}", seed=seed, n=20, parts=["intrasentence"])
        for item, best in (("intra-003", "unrelated"), ("intra-004", "stereotype")):
            scores.loc[scores["item"] == item, "score"] = 0.1
            scores.loc[(scores["item"] == item) & (scores["role"] == best), "score"] = 0.9
        results.append(run(scores))
    assert ("intrasentence", "intra-003") in find_all_wrong(panel_of(results, "LMS"))
    assert ("intrasentence", "intra-004") not in find_all_wrong(panel_of(results, "LMS"))
    assert find_all_wrong(panel_of(results, "SS")) == []


def test_languages_agree_as_kappa_says() -> None:
    one, two = drawn(3, 80, 0.2, 5), drawn(3, 80, 0.2, 6)
    english = panel_of([pairs_run(f"m{n}", row) for n, row in enumerate(one)])
    german = panel_of([pairs_run(f"m{n}", row, "de") for n, row in enumerate(two)])
    (found,) = compute_language_agreement([english, german])
    tables = [pd.crosstab(left, right).to_numpy() for left, right in zip(one, two, strict=True)]
    assert found.kappa == pytest.approx(np.mean([cohens_kappa(table).kappa for table in tables]))
    assert found.agreement == pytest.approx(100 * np.mean([np.mean(a == b) for a, b in zip(one, two, strict=True)]))
    assert found.correlation == pytest.approx(pearsonr(np.mean(one, axis=0), np.mean(two, axis=0)).statistic)
    assert (found.items, found.models) == (80, 3)


def test_too_few_models() -> None:
    with raises_mentioning(UsageError, "at least 3 models"):
        assess_item_quality([("a", run(association_scores("a")))])
    three = [(name, run(association_scores(name, seed=n))) for n, name in enumerate("abc")]
    german = run(association_scores("a", language="de"))
    quality = assess_item_quality([*three, ("d", german)])
    assert any("stereoset/intrasentence:de: fewer than 3" in note for note in quality.notes)
    assert {one.panel.location for one in quality.panels} == {
        "stereoset/intrasentence:en",
        "stereoset/intersentence:en",
    }


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    folders = []
    for seed in range(3):
        scores = association_scores(f"m{seed}", seed=seed, n=20)
        wrong = (scores["item"] == "intra-003") & (scores["role"] == "unrelated")
        scores.loc[wrong, "score"] = 9.0
        folders.append(str(run(scores).save(tmp_path / f"run{seed}")))
    assert command(monkeypatch, "items", *folders, "--top", "2", "--suspects", str(tmp_path / "suspects.csv")) == 0
    assert "Strongest items of stereoset/intrasentence:en" in capsys.readouterr().out
    with (tmp_path / "suspects.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(CORRECTION_COLUMNS)
    assert any(row["item"] == "intra-003" and "all 3 models" in row["problem"] for row in rows)
    assert command(monkeypatch, "items", *folders, "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert {panel["measure"] for panel in listed["panels"]} == {"LMS", "SS"}
    assert all(len(panel["statistics"]) == panel["items"] for panel in listed["panels"])
    assert command(monkeypatch, "items") == 2
    assert "--predictions" in capsys.readouterr().err
