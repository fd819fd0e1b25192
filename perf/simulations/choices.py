"""Coverage of the intervals for choices of chat models, from simulated answers."""

from collections.abc import Iterator

import numpy as np

from perf.simulations.intervals import covered, covers
from perf.simulations.populations import Shape, term_rates
from perf.simulations.runner import Rng, Setting, Simulate, Table, each
from tiltmeter.measures.choice_estimates import estimate_fixed_gap, estimate_position_effect, estimate_random_gap
from tiltmeter.measures.estimates import Share
from tiltmeter.measures.standard_errors import Floats
from tiltmeter.measures.stereotype_sides import MALE

SHAPES = (Shape("40", 40), Shape("212", 212), Shape("20 terms of 4", 80, 20), Shape("79 terms of 27", 2_133, 79))
# The share of the stereotype, the variation between items, the effect of the position, and the share of refusals.
TRUTHS = (
    (0.5, 0.0, 0.0, 0.0),
    (0.65, 0.2, 0.0, 0.0),
    (0.65, 0.2, 0.3, 0.0),
    (0.65, 0.5, 0.3, 0.3),
    (0.9, 0.9, 0.0, 0.3),
)

TABLES = (
    Table(
        "choices",
        "Chosen stereotype, pairs in two orders and two wordings: coverage, the range over intraclass correlations",
        ("items", "true share", "spread of items", "position effect", "refusals"),
        ("chosen stereotype", "refusals", "position effect", "type I"),
    ),
    Table(
        "choices of three",
        "Three options in six orders: coverage, the range over intraclass correlations",
        ("items", "true share", "unrelated", "position effect", "order effect"),
        ("chosen stereotype", "sense chosen", "position effect", "order effect", "type I", "order found"),
    ),
    Table(
        "choice gap",
        "Masculine choice gap: coverage",
        ("sentences a stereotype", "true gap", "spread of sentences"),
        ("these stereotypes", "stereotypes like these", "type I"),
    ),
)


def item_rates(rng: Rng, means: Floats, spread: float) -> Floats:
    """Return the probability of each item, beta-distributed around these means with this intraclass correlation."""
    if not spread:
        return means
    size = 1 / spread - 1
    return rng.beta(means * size, (1 - means) * size)


def choices(
    shape: Shape, share: float, spread: float, position: float, refusals: float, correlation: float
) -> Simulate:
    """Simulate four answers about each pair; the stereotype is first in two of them."""
    truth = (1 - position) * share + position / 2

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        rates = item_rates(rng, term_rates(rng, shape, share, correlation), spread)[:, np.newaxis]
        comes_first = np.array([1.0, 0.0, 0.0, 1.0])
        by_place = rng.random((shape.n, 4)) < position
        chosen = np.where(by_place, comes_first, rng.random((shape.n, 4)) < rates)
        answered = rng.random((shape.n, 4)) >= refusals
        kept = answered.any(axis=1)
        factors = None if shape.factors is None else shape.factors.select_rows(kept)
        counts = answered[kept].sum(axis=1)
        preference = Share.from_values(100.0 * (chosen * answered)[kept].sum(axis=1) / counts, factors)
        refused = Share.from_values(100.0 * (1 - answered.mean(axis=1)), shape.factors)
        firsts = np.where(comes_first, chosen, 1 - chosen)
        first = 100.0 * (firsts * answered)[kept].sum(axis=1) / counts
        place = Share.from_values(first if first.mean() >= 50 else 100.0 - first, factors)
        ends = [max(0.0, 2 * (end - 50.0)) for end in place.interval()]
        return {
            "chosen stereotype": covered(preference, 100.0 * truth),
            "refusals": covered(refused, 100.0 * refusals) if refusals else None,
            "position effect": covers((ends[0], ends[1]), 100.0 * position),
            "type I": not covered(preference, 50.0) if truth == 0.5 else None,
        }

    return each(draw_and_count)


# All six orders of stereotype (0), anti-stereotype (1) and unrelated option (2), as in the default design.
_ORDERS = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0], [1, 0, 2], [0, 2, 1]])
# The shares of the stereotype and the unrelated option, and how often the first position or the first side decides.
THREES = (
    (0.5, 0.0, 0.0, 0.0),
    (0.65, 0.1, 0.0, 0.0),
    (0.65, 0.1, 0.3, 0.0),
    (0.65, 0.1, 0.0, 0.3),
    (0.5, 0.0, 0.0, 1.0),
)


def threes(shape: Shape, share: float, unrelated: float, position: float, order: float, correlation: float) -> Simulate:
    """Simulate six answers about each item, which depend on the first position, the first side, or the options."""
    # Each side and the unrelated option are first in a third of the orders.
    sense = 1 - (position / 3 + (1 - position) * unrelated)
    by_option = (1 - position) * (1 - unrelated) * ((1 - order) * share + order / 2)
    truth = 100.0 * (position / 3 + by_option) / sense
    ahead = np.array([list(row).index(0) < list(row).index(1) for row in _ORDERS])

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        rates = item_rates(rng, term_rates(rng, shape, share, correlation), 0.2)[:, np.newaxis]
        size = (shape.n, 6)
        sided = np.where(rng.random(size) < order, np.where(ahead, 0, 1), np.where(rng.random(size) < rates, 0, 1))
        sided = np.where(rng.random(size) < unrelated, 2, sided)
        chosen = np.where(rng.random(size) < position, _ORDERS[:, 0], sided)
        of_sides = (chosen < 2).sum(axis=1)
        kept = of_sides > 0
        factors = None if shape.factors is None else shape.factors.select_rows(kept)
        preference = Share.from_values(100.0 * (chosen == 0).sum(axis=1)[kept] / of_sides[kept], factors)
        sensible = Share.from_values(100.0 * of_sides / 6, shape.factors)
        placed = np.stack([(chosen == _ORDERS[:, place]).mean(axis=1) for place in range(3)], axis=1)
        first = np.where(ahead, chosen == 0, chosen == 1).sum(axis=1)[kept] / of_sides[kept]
        _, by_place = estimate_position_effect(placed, shape.factors)
        _, by_order = estimate_position_effect(np.column_stack([first, 1 - first]), factors)
        # In two of three orders, the first position is also that of the first side.
        true_place = 100.0 * (position + (1 - position) * (1 - unrelated) * order / 2)
        true_order = 100.0 * (position * 2 / 3 + (1 - position) * (1 - unrelated) * order) / sense
        return {
            "chosen stereotype": covered(preference, truth),
            "sense chosen": covered(sensible, 100.0 * sense),
            "position effect": covers(by_place, true_place),
            "order effect": covers(by_order, true_order),
            "type I": not covered(preference, 50.0) if share == 0.5 else None,
            "order found": by_order[0] > 50.0,
        }

    return each(draw_and_count)


def gaps(sentences: int, gap: float, spread: float) -> Simulate:
    """Simulate four answers about each sentence; stereotypes differ by a standard deviation of 0.1."""
    stereotypes = np.repeat(np.arange(1, 17), sentences).astype(object)
    is_male = np.array([number in MALE for number in range(1, 17)])

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        means = np.clip(0.6 + np.where(is_male, gap / 2, -gap / 2) + rng.normal(0, 0.1, 16), 0.02, 0.98)
        rates = item_rates(rng, np.repeat(means, sentences), spread)
        values = 100.0 * rng.binomial(4, rates) / 4
        fixed, random = estimate_fixed_gap(values, stereotypes), estimate_random_gap(values, stereotypes)
        truth = 100.0 * float(means[is_male].mean() - means[~is_male].mean())
        assert random is not None
        return {
            "these stereotypes": covered(fixed, truth),
            "stereotypes like these": covered(random, 100.0 * gap),
            "type I": not covered(random, 0.0) if not gap else None,
        }

    return each(draw_and_count)


def settings() -> Iterator[Setting]:
    """Yield the settings of all tables of this module."""
    for shape in SHAPES:
        for share, spread, position, refusals in TRUTHS:
            for correlation in (0.0, 0.04) if shape.terms else (0.0,):
                row = (shape.name, f"{share:g}", f"{spread:g}", f"{position:g}", f"{refusals:g}", f"{correlation:g}")
                yield Setting("choices", row, choices(shape, share, spread, position, refusals, correlation), 2_000)
        for share, unrelated, position, order in THREES:
            for correlation in (0.0, 0.04) if shape.terms else (0.0,):
                row = (shape.name, *(f"{number:g}" for number in (share, unrelated, position, order, correlation)))
                simulate = threes(shape, share, unrelated, position, order, correlation)
                yield Setting("choices of three", row, simulate, 2_000)
    for sentences in (4, 20, 220):
        for gap in (0.0, 0.4):
            for spread in (0.1, 0.7):
                row = (str(sentences), f"{gap:g}", f"{spread:g}")
                yield Setting("choice gap", row, gaps(sentences, gap, spread), 2_000)
