"""The tests of all pairs of models at once have the p-values of `compute_contrast`, pair by pair."""

import numpy as np
import pytest

from tests.measures.simulated import labels, target_factor
from tiltmeter.measures.contrasts import compute_contrast
from tiltmeter.measures.factors import Factors
from tiltmeter.measures.measure import Quantity, list_quantities
from tiltmeter.measures.pairwise_tests import SharedItems, compute_difference_p_values, compute_distance_p_values

RNG = np.random.default_rng(5)
SS = list_quantities(["stereotype", "anti-stereotype"], [])[0]
S_JSD = list_quantities(["s_jsd"], [])[0]
LOG_G = list_quantities(["log_ratio"], ["stereotype"])[0]


def preferences(models: int, items: int, levels: tuple[float, ...] = (0.0, 100.0)) -> np.ndarray:
    difficulty = RNG.normal(size=items)
    chosen = RNG.normal(size=(models, items)) + difficulty + np.linspace(-0.8, 0.8, models)[:, None]
    return np.asarray(levels)[np.digitize(chosen, np.linspace(-0.3, 0.3, len(levels) - 1))]


def one_by_one(quantity: Quantity, left: np.ndarray, right: np.ndarray, items: SharedItems) -> np.ndarray:
    return np.array(
        [
            [
                compute_contrast(
                    quantity, row[None], other[None], items.labels, items.factors, sides=items.sides
                ).p_value
                for other in right
            ]
            for row in left
        ]
    )


def crossed(n: int, **counts: int) -> Factors:
    """Crossed factors with these numbers of clusters of unequal sizes; some items have no label."""
    columns = {}
    for name, count in counts.items():
        codes = RNG.choice(count, n, p=RNG.dirichlet(np.full(count, 2.0))).astype(object)
        codes[RNG.random(n) < 0.05] = None if count > 5 else 0
        columns[name] = codes
    return Factors.from_labels(columns)


CASES = {
    "preferences": (SS, preferences(6, 80), SharedItems()),
    "preferences with ties": (SS, preferences(6, 80, (0.0, 50.0, 100.0)), SharedItems()),
    "clusters": (
        SS,
        preferences(6, 120, (0.0, 50.0, 100.0)),
        SharedItems(factors=target_factor(15, 8)),
    ),
    "crossed factors": (SS, preferences(5, 150), SharedItems(factors=crossed(150, target=14, word=25))),
    "three crossed factors of means": (
        S_JSD,
        RNG.normal(size=(5, 150)) * np.linspace(1, 2, 5)[:, None],
        SharedItems(factors=crossed(150, target=14, word=25, template=8)),
    ),
    "a factor with few clusters": (S_JSD, RNG.normal(size=(5, 90)), SharedItems(factors=crossed(90, word=20, part=3))),
    "items that share nothing": (SS, preferences(4, 60), SharedItems(factors=target_factor(60, 1))),
    "a factor without shared labels": (
        S_JSD,
        RNG.exponential(size=(4, 60)),
        SharedItems(
            factors=Factors.from_labels({"idea": labels(60, 1), "target": labels(10, 6)}),
        ),
    ),
    "crossed factors and strata": (
        LOG_G,
        RNG.normal(size=(5, 160)) + np.linspace(0, 1, 5)[:, None] * (np.arange(160) % 16 >= 7),
        SharedItems(
            labels=np.asarray(np.arange(160) % 16 + 1, dtype=object), factors=crossed(160, idea=40, template=9)
        ),
    ),
    "skewed means": (S_JSD, RNG.exponential(size=(5, 60)), SharedItems()),
    "strata": (
        LOG_G,
        RNG.normal(size=(5, 64)) + np.linspace(0, 1, 5)[:, None] * (np.arange(64) % 16 >= 7),
        SharedItems(labels=np.asarray(np.arange(64) % 16 + 1, dtype=object)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_they_are_those_of_single_pairs(name: str) -> None:
    quantity, values, items = CASES[name]
    off = ~np.eye(len(values), dtype=bool)  # a model and itself are never tested
    assert np.allclose(
        compute_difference_p_values(quantity, values, values, items)[off],
        one_by_one(quantity, values, values, items)[off],
        rtol=1e-6,
        atol=1e-12,
    )
    mirrored = 2 * quantity.ideal - values
    assert np.allclose(
        compute_difference_p_values(quantity, values, mirrored, items),
        one_by_one(quantity, values, mirrored, items),
        rtol=1e-6,
        atol=1e-12,
    )


def test_equally_far_on_two_sides_is_not_told_apart() -> None:
    towards = np.array([100.0] * 70 + [0.0] * 30)
    values = np.array([towards, 100.0 - towards, np.array([100.0, 0.0] * 50)])
    assert compute_difference_p_values(SS, values, values, SharedItems())[0, 1] < 1e-3
    tested = compute_distance_p_values(SS, values, SharedItems())
    assert tested[0, 1] == 1.0
    assert tested[0, 2] < 0.05
    assert np.allclose(tested, tested.T)


def test_strata_with_single_items_tell_nothing_apart() -> None:
    strata = np.asarray(np.arange(16) + 1, dtype=object)
    assert (
        compute_difference_p_values(
            LOG_G, RNG.normal(size=(3, 16)), RNG.normal(size=(2, 16)), SharedItems(labels=strata)
        )
        == 1
    ).all()


def test_equal_models_are_not_told_apart() -> None:
    values = np.array([[100.0, 0.0, 100.0, 100.0]] * 2)
    assert (compute_distance_p_values(SS, values, SharedItems()) == 1.0).all()
