"""Populations with known parameters, from which data sets are drawn."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from perf.simulations.runner import Rng
from tiltmeter.measures.factors import Factors
from tiltmeter.measures.standard_errors import Floats

Draw = Callable[[Rng, int], Floats]


@dataclass(frozen=True)
class Shape:
    """The number of items and of target terms; None: items are independent."""

    name: str
    n: int
    terms: int | None = None

    @cached_property
    def codes(self) -> np.ndarray:
        """The index of the term of each item."""
        return np.arange(self.n) % (self.terms or self.n)

    @cached_property
    def factors(self) -> Factors | None:
        """The term of each item as a factor, if there are terms."""
        return None if self.terms is None else build_term_factor(self.codes)


def build_term_factor(terms: Sequence[int] | NDArray[np.object_]) -> Factors:
    """Return the factor whose labels are these terms."""
    return Factors.from_labels({"target": np.array(terms, dtype=object)})


def term_rates(rng: Rng, shape: Shape, mean: float, correlation: float) -> Floats:
    """Return the probability of each item: beta-distributed over terms, with this intraclass correlation."""
    if not correlation or shape.terms is None:
        return np.full(shape.n, mean)
    size = 1 / correlation - 1
    return rng.beta(mean * size, (1 - mean) * size, shape.terms)[shape.codes]


@dataclass(frozen=True)
class Associations:
    """The item values of a StereoSet-like data set: 0, 50 or 100 each."""

    lms: Floats
    ss: Floats
    published: Floats
    length: Floats


@dataclass(frozen=True)
class AssociationTruth:
    """A model: its probabilities of preferring the stereotype (without ties), of preferring sense, and of a tie.

    `gap` is added to the preference for stereotypes that are the shorter candidate and subtracted for longer ones. 50%
    of the stereotypes are shorter than the anti-stereotype, 40% longer.
    """

    prefers: float
    sense: float
    ties: float = 0.0
    gap: float = 0.0
    correlation: float = 0.0

    @property
    def ss(self) -> float:
        """The true SS."""
        return 100 * ((1 - self.ties) * self.prefers + self.ties / 2)

    @property
    def published(self) -> float:
        """The true SS as published."""
        return 100 * (1 - self.ties) * self.prefers

    @property
    def balanced(self) -> float:
        """The true SS balanced by length."""
        return 100 * ((1 - self.ties) * (self.prefers - 0.1 * self.gap) + self.ties / 2)

    @property
    def lms(self) -> float:
        """The true LMS."""
        return 100 * self.sense

    def draw(self, rng: Rng, shape: Shape) -> Associations:
        """Draw a data set."""
        length = rng.choice([-1.0, 0.0, 1.0], shape.n, p=[0.5, 0.1, 0.4])
        rates = term_rates(rng, shape, self.prefers, self.correlation) - self.gap * (length + 0.1)
        prefers = rng.random(shape.n) < rates
        tied = rng.random(shape.n) < self.ties
        sense = term_rates(rng, shape, self.sense, self.correlation)
        # Both candidates are compared with the same unrelated one, so they are correlated.
        first = rng.random(shape.n)
        second = np.where(rng.random(shape.n) < 0.4, first, rng.random(shape.n))
        return Associations(
            lms=50.0 * ((first < sense).astype(float) + (second < sense)),
            ss=np.where(tied, 50.0, 100.0 * prefers),
            published=np.where(tied, 0.0, 100.0 * prefers),
            length=length,
        )


def normal(rng: Rng, n: int) -> Floats:
    """Return the standard normal distribution; all distributions here have mean 0 and variance 1."""
    return rng.normal(size=n)


def g_and_h(g: float, h: float) -> Draw:
    """Tukey's g-and-h distribution: `g` is the skewness parameter, `h` the weight of the tails."""
    mean, square = 0.0, (1 - 2 * h) ** -1.5
    if g:
        mean = math.expm1(g**2 / (2 * (1 - h))) / (g * math.sqrt(1 - h))
        square = (math.exp(2 * g**2 / (1 - 2 * h)) - 2 * math.exp(g**2 / (2 * (1 - 2 * h))) + 1) / (
            g**2 * math.sqrt(1 - 2 * h)
        )
    deviation = math.sqrt(square - mean**2)

    def draw(rng: Rng, n: int) -> Floats:
        z = rng.normal(size=n)
        return ((np.expm1(g * z) / g if g else z) * np.exp(h * z**2 / 2) - mean) / deviation

    return draw


def student(df: float) -> Draw:
    """Student's t distribution; with df = 3, its kurtosis is infinite."""
    return lambda rng, n: rng.standard_t(df, n) / math.sqrt(df / (df - 2))


def with_outliers(share: float, at: float) -> Draw:
    """Return a heavy-tailed distribution with a share of outliers around `at`."""
    bulk, size = g_and_h(0.0, 0.1), 0.8**-0.75
    deviation = math.sqrt((1 - share) * size**2 + share * at**2 * (1 + 1 / 16) - (share * at) ** 2)

    def draw(rng: Rng, n: int) -> Floats:
        out = rng.random(n) < share
        values = np.where(out, at * (1 + rng.normal(size=n) / 4), size * bulk(rng, n))
        return (values - share * at) / deviation

    return draw


# In 22 files of two small models, with 120 or 212 pairs each, S_JSD had sample skewnesses from -6 to 7.
SKEWED: dict[str, Draw] = {
    "normal": normal,
    "symmetric, heavy tails (t, 3 df)": student(3),
    "skewness 1.7 (g 0.3, h 0.1)": g_and_h(0.3, 0.1),
    "skewness 3.4 (g 0.5, h 0.1)": g_and_h(0.5, 0.1),
    "skewness 4.8 (g 0.3, h 0.2)": g_and_h(0.3, 0.2),
    "skewness 6.2 (lognormal)": g_and_h(1.0, 0.0),
    "skewness −6.2 (lognormal)": g_and_h(-1.0, 0.0),
    "1% outliers, skewness 2.9": with_outliers(0.01, 10.0),
    "0.5% outliers, skewness −5.2": with_outliers(0.005, -16.0),
    "0.5% outliers, skewness 7": with_outliers(0.005, 20.5),
}
