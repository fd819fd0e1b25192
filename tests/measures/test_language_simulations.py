"""Comparisons of languages on simulated data with known truth; perf/simulations/languages.py has more data sets."""

from dataclasses import replace

import numpy as np
import pytest

from perf.simulations.languages import EFFECTS, assess_invariance, estimate_variances, list_errors

DATA_SETS = 60
# A true rate of 5% exceeds this rate in one of a thousand simulations of 60 data sets.
HIGHEST = 9 / DATA_SETS


@pytest.mark.slow
@pytest.mark.parametrize("effects", ["words", "models, models × languages"])
def test_error_rates_of_languages_and_groups(effects: str) -> None:
    counts = list_errors(replace(EFFECTS[effects], items=150))(np.random.default_rng(5), DATA_SETS)
    for name, (errors, number) in counts.items():
        assert not number or errors / number <= HIGHEST, name


@pytest.mark.slow
def test_variance_components_are_recovered() -> None:
    population = replace(EFFECTS["models, models × languages"], binary=False, items=150, several=5)
    counts = estimate_variances(population)(np.random.default_rng(6), DATA_SETS)
    for name, (total, number) in counts.items():
        if not number:
            continue  # no data set has this component
        if name.endswith("coverage"):
            assert total / number >= 1 - HIGHEST, name
        else:
            assert total / number == pytest.approx(1.0, abs=0.25), name


@pytest.mark.slow
def test_planted_items_are_found_and_others_are_not() -> None:
    null, planted = (
        assess_invariance(replace(EFFECTS["items"], several=0, single=8, by_language=0.0, binary=False), count)(
            np.random.default_rng(7), 20
        )
        for count in (0, 8)
    )
    assert null["false discoveries"][0] / 20 <= 0.15
    assert planted["false discoveries"][0] / 20 <= 0.15
    assert planted["found"][0] / 20 > 0.5
