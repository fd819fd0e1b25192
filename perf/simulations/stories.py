"""Coverage and errors of type I of the feminine gap: stories about topics in several settings."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from perf.simulations.intervals import covered
from perf.simulations.runner import Rng, Setting, Simulate, Table, each
from tiltmeter.measures.factors import read_factors
from tiltmeter.measures.story import FACTORS, estimate_gap

TABLES = (
    Table(
        "stories",
        "The feminine gap, topics in two of sixteen settings, two stories each: coverage, and errors of type I",
        ("topics", "women's topics", "men's topics", "spread of topics", "spread of settings", "unread"),
        ("coverage", "type I", "significant"),
    ),
)
_SETTINGS, _EACH, _STORIES = 16, 2, 2
TOPICS = (16, 48)
# The true shares of feminine protagonists of both sides, the standard deviations of topics and settings, and the share
# of unread stories.
TRUTHS = (
    (0.5, 0.5, 0.0, 0.0, 0.0),
    (0.5, 0.5, 0.4, 0.1, 0.0),
    (0.9, 0.9, 0.1, 0.0, 0.0),
    (1.0, 1.0, 0.0, 0.0, 0.0),
    (0.6, 0.4, 0.3, 0.1, 0.1),
    (0.95, 0.3, 0.05, 0.0, 0.0),
)


@dataclass(frozen=True)
class Design:
    """Topics, half of them on each side, each in some of the settings."""

    topics: int

    def build_labels(self) -> pd.DataFrame:
        """Return a row for each item; the settings of a side rotate."""
        topic = np.repeat(np.arange(self.topics), _EACH)
        side = np.where(topic % 2 == 0, "feminine", "masculine")
        rank = pd.Series(side).groupby(side).cumcount().to_numpy()
        return pd.DataFrame({"concept": topic, "side": side, "setting": rank % _SETTINGS}).astype(str)


def stories(topics: int, women: float, men: float, by_topic: float, by_setting: float, unread: float) -> Simulate:
    """Simulate stories; the effects of topics and settings add to the probability of a feminine protagonist."""
    labels = Design(topics).build_labels()
    sides = labels["side"].to_numpy(dtype=object)
    factors = read_factors(labels, FACTORS)
    codes = {name: pd.factorize(labels[name])[0] for name in FACTORS}
    means = np.where(sides == "feminine", women, men)

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        rates = means.copy()
        for name, spread in (("concept", by_topic), ("setting", by_setting)):
            # Two values with equal probability keep the mean, so that the truth is known.
            rates += (spread * rng.choice([-1.0, 1.0], codes[name].max() + 1))[codes[name]]
        read = rng.random((len(labels), _STORIES)) >= unread
        masculine = rng.random((len(labels), _STORIES)) >= np.clip(rates, 0.0, 1.0)[:, np.newaxis]
        number = read.sum(axis=1)
        percentages = np.divide(
            100.0 * (masculine & read).sum(axis=1), number, out=np.full(len(labels), np.nan), where=number > 0
        )
        estimate = estimate_gap(percentages, sides, factors)
        truth = 100 * (women - men)
        return {
            "coverage": covered(estimate, truth),
            "type I": not covered(estimate, 0.0) if not truth else None,
            "significant": not covered(estimate, 0.0) if truth else None,
        }

    return each(draw_and_count)


def settings() -> Iterator[Setting]:
    """Yield the settings of all numbers of topics and truths."""
    for topics in TOPICS:
        for truth in TRUTHS:
            row = (str(topics), *(f"{number:g}" for number in truth))
            yield Setting("stories", row, stories(topics, *truth), most=1_000)
