"""Intervals of correlations over clustered items: a naive jackknife, and coverage by simulation."""

import numpy as np
import pytest
from scipy import stats

from tests.runs.made import association_scores, run
from tiltmeter.comparing.cells import build_cells
from tiltmeter.comparing.contribution_tables import build_contribution_tables
from tiltmeter.comparing.correlation_interval import compute_correlation_interval
from tiltmeter.comparing.item_statistics import compute_fisher_interval, compute_language_agreement
from tiltmeter.measures.factors import Factors


def clustered(rng: np.random.Generator, clusters: int, per: int, share: float) -> np.ndarray:
    """Values whose variance is between clusters by this share."""
    effects = np.repeat(rng.normal(size=clusters), per)
    return np.sqrt(share) * effects + np.sqrt(1 - share) * rng.normal(size=clusters * per)


def factors_of(*codes: np.ndarray) -> Factors:
    """Factors with these cluster indexes."""
    return Factors.from_labels({f"factor {number}": labels.astype(object) for number, labels in enumerate(codes)})


def test_independent_items_have_the_interval_of_fisher() -> None:
    rng = np.random.default_rng(1)
    left = rng.normal(size=60)
    right = left + rng.normal(size=60)
    r = float(stats.pearsonr(left, right).statistic)
    found = compute_correlation_interval(left, right)
    assert found == pytest.approx(compute_fisher_interval(r, 60))
    assert found == pytest.approx(tuple(stats.pearsonr(left, right).confidence_interval()))


def test_clusters_have_the_interval_of_the_jackknife() -> None:
    rng = np.random.default_rng(2)
    left, right, codes = clustered(rng, 12, 9, 0.6), clustered(rng, 12, 9, 0.6), np.repeat(np.arange(12), 9)
    kept = [codes != code for code in range(12)]
    z = np.arctanh([stats.pearsonr(left[chosen], right[chosen]).statistic for chosen in kept])
    half = stats.t.ppf(0.975, 11) * np.sqrt(11 / 12 * np.sum((z - z.mean()) ** 2))
    centre = np.arctanh(stats.pearsonr(left, right).statistic)
    found = compute_correlation_interval(left, right, factors_of(codes))
    assert found == pytest.approx((np.tanh(centre - half), np.tanh(centre + half)))
    independent = compute_correlation_interval(left, right)
    assert independent is not None
    assert found is not None
    assert found[1] - found[0] > independent[1] - independent[0]


@pytest.mark.parametrize("factors", [1, 2])
def test_coverage_with_shared_targets_and_words(factors: int) -> None:
    """The values of two languages are independent, but items with the same target, or the same word, are alike."""
    rng = np.random.default_rng(3)
    target, word = np.repeat(np.arange(30), 20), np.tile(np.arange(20), 30)
    covered, naive, times = 0, 0, 400
    for _ in range(times):
        left, right = (
            rng.normal(size=600) + rng.normal(size=30)[target] + (factors > 1) * 1.5 * rng.normal(size=20)[word]
            for _ in range(2)
        )
        found = compute_correlation_interval(left, right, factors_of(*(target, word)[:factors]))
        plain = compute_correlation_interval(left, right)
        assert found is not None
        assert plain is not None
        covered += found[0] < 0 < found[1]
        naive += plain[0] < 0 < plain[1]
    assert covered / times > 0.92
    assert naive / times < 0.75


def test_few_clusters_and_constant_values_have_no_interval() -> None:
    values = np.arange(40.0)
    assert compute_correlation_interval(values, values % 7, factors_of(np.arange(40) % 4)) is None
    assert compute_correlation_interval(values, np.ones(40)) is None
    assert compute_correlation_interval(values[:4], values[:4] % 2) is None


def test_the_agreement_of_languages_takes_targets_into_account() -> None:
    panels = {}
    for language in ("en", "de"):
        results = [
            run(association_scores(name, seed=seed, language=language, targets=8)) for seed, name in enumerate("abc")
        ]
        cells = [cell for number, result in enumerate(results) for cell in build_cells(str(number), result)]
        panels[language] = next(
            panel
            for panel in build_contribution_tables(cells)
            if panel.quantity.name == "SS" and panel.cells[0].part == "intrasentence"
        )
    (found,) = compute_language_agreement(list(panels.values()))
    means = [panel.contributions.mean(axis=0) for panel in panels.values()]
    factors = panels["en"].build_factors()
    assert factors is not None
    assert len(set(factors.labels["target"])) == 8
    assert found.interval == compute_correlation_interval(*means, factors)
