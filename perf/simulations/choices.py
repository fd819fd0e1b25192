"""Coverage of the intervals of what chat models choose, from simulated answers."""

from collections.abc import Iterator

import numpy as np

from perf.simulations.intervals import covered, covers
from perf.simulations.populations import Shape, term_rates
from perf.simulations.runner import Rng, Setting, Simulate, Table, each
from tiltmeter.measures.choices import gap_fixed_stereotypes, gap_random_stereotypes
from tiltmeter.measures.estimates import Share
from tiltmeter.measures.gest import MALE
from tiltmeter.measures.standard_errors import Floats

SHAPES = (Shape("40", 40), Shape("212", 212), Shape("20 terms of 4", 80, 20), Shape("79 terms of 27", 2_133, 79))
# The share of the stereotype, how items differ around it, what the place decides, and the share of refusals.
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
        "choice gap",
        "Masculine choice gap: coverage",
        ("sentences a stereotype", "true gap", "spread of sentences"),
        ("these stereotypes", "stereotypes like these", "type I"),
    ),
)


def item_rates(rng: Rng, means: Floats, spread: float) -> Floats:
    """The probability of each item, beta-distributed around these means with this intraclass correlation."""
    if not spread:
        return means
    size = 1 / spread - 1
    return rng.beta(means * size, (1 - means) * size)


def choices(
    shape: Shape, share: float, spread: float, position: float, refusals: float, correlation: float
) -> Simulate:
    """Four answers about each pair: the stereotype comes first in two of them."""
    truth = (1 - position) * share + position / 2

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        rates = item_rates(rng, term_rates(rng, shape, share, correlation), spread)[:, np.newaxis]
        comes_first = np.array([1.0, 0.0, 0.0, 1.0])
        by_place = rng.random((shape.n, 4)) < position
        chosen = np.where(by_place, comes_first, rng.random((shape.n, 4)) < rates)
        answered = rng.random((shape.n, 4)) >= refusals
        kept = answered.any(axis=1)
        clusters = None if shape.labels is None else shape.labels[kept]
        counts = answered[kept].sum(axis=1)
        preference = Share.from_values(100.0 * (chosen * answered)[kept].sum(axis=1) / counts, clusters)
        refused = Share.from_values(100.0 * (1 - answered.mean(axis=1)), shape.labels)
        firsts = np.where(comes_first, chosen, 1 - chosen)
        first = 100.0 * (firsts * answered)[kept].sum(axis=1) / counts
        place = Share.from_values(first if first.mean() >= 50 else 100.0 - first, clusters)
        ends = [max(0.0, 2 * (end - 50.0)) for end in place.interval()]
        return {
            "chosen stereotype": covered(preference, 100.0 * truth),
            "refusals": covered(refused, 100.0 * refusals) if refusals else None,
            "position effect": covers((ends[0], ends[1]), 100.0 * position),
            "type I": not covered(preference, 50.0) if truth == 0.5 else None,
        }

    return each(draw_and_count)


def gaps(sentences: int, gap: float, spread: float) -> Simulate:
    """Four answers about each sentence; stereotypes differ by a standard deviation of 0.1."""
    stereotypes = np.repeat(np.arange(1, 17), sentences).astype(object)
    is_male = np.array([number in MALE for number in range(1, 17)])

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        means = np.clip(0.6 + np.where(is_male, gap / 2, -gap / 2) + rng.normal(0, 0.1, 16), 0.02, 0.98)
        rates = item_rates(rng, np.repeat(means, sentences), spread)
        values = 100.0 * rng.binomial(4, rates) / 4
        fixed, random = gap_fixed_stereotypes(values, stereotypes), gap_random_stereotypes(values, stereotypes)
        truth = 100.0 * float(means[is_male].mean() - means[~is_male].mean())
        assert random is not None
        return {
            "these stereotypes": covered(fixed, truth),
            "stereotypes like these": covered(random, 100.0 * gap),
            "type I": not covered(random, 0.0) if not gap else None,
        }

    return each(draw_and_count)


def settings() -> Iterator[Setting]:
    """The settings of all tables of this module."""
    for shape in SHAPES:
        for share, spread, position, refusals in TRUTHS:
            for correlation in (0.0, 0.04) if shape.terms else (0.0,):
                row = (shape.name, f"{share:g}", f"{spread:g}", f"{position:g}", f"{refusals:g}", f"{correlation:g}")
                yield Setting("choices", row, choices(shape, share, spread, position, refusals, correlation), 2_000)
    for sentences in (4, 20, 220):
        for gap in (0.0, 0.4):
            for spread in (0.1, 0.7):
                row = (str(sentences), f"{gap:g}", f"{spread:g}")
                yield Setting("choice gap", row, gaps(sentences, gap, spread), 2_000)
