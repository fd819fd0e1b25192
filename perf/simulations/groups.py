"""Type I error and coverage of differences between groups of models, and of slopes by size.

Models of a group differ, items have different effects in the two groups, and answers are noisy. Intervals over items
are for these models; intervals over models and items are for similar models. Each is compared with its own true value,
and the first also with that of the second, to show its limits.
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr

from perf.simulations.comparisons import ALPHA, quantity
from perf.simulations.populations import build_term_factor
from perf.simulations.runner import Rng, Setting, Simulate, Table, each
from tiltmeter.measures.group_contrasts import compute_group_contrast
from tiltmeter.measures.size_regression import estimate_slope
from tiltmeter.measures.standard_errors import Floats

_COLUMNS = ("these models", "models like these", "these models' test, taken for others")

TABLES = (
    Table(
        "groups",
        "Differences of SS between groups of models of the same mean: how often they are significant, at 5%",
        ("models", "items", "how models differ", "items by group"),
        _COLUMNS,
    ),
    Table(
        "sizes",
        "Slopes of SS by size within two families, truly none: how often they are significant, at 5%",
        ("models a family", "items", "how models differ", "items by size"),
        _COLUMNS,
    ),
)


def groups(
    counts: tuple[int, int],
    n: int,
    terms: int | None,
    spread: tuple[float, float],
    by_group: float,
    relatives: int = 1,
) -> Simulate:
    """Simulate two groups of models: probits with normal effects of models, items, and items by group (and by term).

    `relatives` models each are a model family, whose effects have a correlation of 0.9.
    """
    ss = quantity("SS")
    factors = None if terms is None else build_term_factor(np.repeat(np.arange(terms), n // terms))

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        item = rng.normal(0, 0.5, n)
        own = [rng.normal(0, spread[at], count) for at, count in enumerate(counts)]
        if relatives > 1:
            shared = [rng.normal(0, spread[at], count).repeat(relatives)[:count] for at, count in enumerate(counts)]
            own = [np.sqrt(0.1) * one + np.sqrt(0.9) * family for one, family in zip(own, shared, strict=True)]
        shift = rng.normal(0, by_group, (2, n))
        if factors is not None:
            shift += np.repeat(rng.normal(0, by_group, (2, terms or 1)), n // (terms or 1), axis=1)
        sides = [
            100.0 * (effects[:, None] + item + shift[at] + rng.normal(size=(len(effects), n)) > 0)
            for at, effects in enumerate(own)
        ]
        result, over = compute_group_contrast(ss, *sides, factors=factors)
        # The true difference of these models over all items, whose effects are normal.
        scale = np.sqrt(1 + 0.25 + by_group**2 * (2 if factors is not None else 1))
        truth = float(np.subtract(*(100 * ndtr(effects / scale).mean() for effects in own)))
        return {
            _COLUMNS[0]: not result.low <= truth <= result.high,
            _COLUMNS[1]: None if over is None else over.p_value < ALPHA,
            _COLUMNS[2]: result.p_value < ALPHA,
        }

    return each(draw_and_count)


def sizes(each_family: int, n: int, spread: float, by_size: float) -> Simulate:
    """Simulate two model families of increasing sizes; `by_size` is the variation of slopes between items."""
    size = np.tile(np.linspace(7, 10, each_family), 2)
    families = np.repeat(np.array(["a", "b"], dtype=object), each_family)
    weights = np.full(n, 1 / n)

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        own = rng.normal(0, spread, 2 * each_family)
        latent = rng.normal(0, 0.5, n) + np.outer(size - 8.5, rng.normal(0, by_size, n))
        answers: Floats = 100.0 * (own[:, None] + latent + rng.normal(size=latent.shape) > 0)
        estimate = estimate_slope(answers, size, families, weights, preference=True)
        assert estimate is not None
        scales = np.sqrt(1.25 + by_size**2 * (size - 8.5) ** 2)
        expected = 100 * ndtr(own / scales)
        centred = size - 8.5
        truth = float(centred @ expected / np.sum(centred**2))
        over = estimate.over_members
        return {
            _COLUMNS[0]: not estimate.low <= truth <= estimate.high,
            _COLUMNS[1]: None if over is None else over.p_value < ALPHA,
            _COLUMNS[2]: estimate.p_value < ALPHA,
        }

    return each(draw_and_count)


def settings() -> Iterator[Setting]:
    """Yield the settings of both tables."""
    for counts, n, terms, spread, by_group in (
        ((5, 5), 200, None, (0.0, 0.0), 0.0),
        ((5, 5), 200, None, (0.1, 0.1), 0.3),
        ((5, 5), 2_000, None, (0.2, 0.2), 0.5),
        ((5, 12), 400, None, (0.2, 0.2), 0.5),
        ((20, 20), 400, None, (0.1, 0.1), 0.5),
        ((5, 5), 450, 30, (0.1, 0.1), 0.3),
        ((5, 10), 450, 30, (0.6, 0.2), 0.3),
        ((10, 5), 450, 30, (0.6, 0.2), 0.3),
    ):
        items = f"{n:,}" if terms is None else f"{terms} terms of {n // terms}"
        row = (f"{counts[0]} and {counts[1]}", items, f"{spread[0]:g} and {spread[1]:g}", f"{by_group:g}")
        yield Setting("groups", row, groups(counts, n, terms, spread, by_group))
    for relatives in (2, 3):
        row = (f"6 and 6, in families of {relatives}", "400", "0.2 and 0.2", "0.3")
        yield Setting("groups", row, groups((6, 6), 400, None, (0.2, 0.2), 0.3, relatives))
    for each_family, n, spread_of_models, by_size in (
        (4, 200, 0.0, 0.0),
        (4, 400, 0.1, 0.2),
        (4, 2_000, 0.2, 0.1),
        (8, 400, 0.1, 0.2),
    ):
        row = (str(each_family), f"{n:,}", f"{spread_of_models:g}", f"{by_size:g}")
        yield Setting("sizes", row, sizes(each_family, n, spread_of_models, by_size))
