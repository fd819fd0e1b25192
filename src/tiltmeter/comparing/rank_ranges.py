"""Confidence sets of ranks, from tests of all pairs of models.

The rank of a model is 1 plus the number of models that are closer to the ideal. The first rank in its confidence set is
1 plus the number of models that are significantly closer; the last rank is the number of all models minus the number of
models that are significantly farther (Mogstad, Romano, Shaikh and Wilhelm 2024). The tests are corrected by Holm's
method over all pairs, so the confidence of 95% is for all sets together.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from tiltmeter.measures.multiple_testing import adjust_holm
from tiltmeter.measures.standard_errors import Floats
from tiltmeter.measures.verdict_rule import ALPHA


@dataclass(frozen=True, slots=True)
class RankRange:
    """The first and the last possible rank of a model."""

    first: int
    last: int


def adjust_pairs_holm(p_values: Floats) -> Floats:
    """Correct the p-values of all pairs of models by Holm's method.

    `p_values` and the result are symmetric matrices with ones on the diagonal.
    """
    upper = np.triu_indices(len(p_values), 1)
    corrected = np.ones_like(p_values)
    corrected[upper] = adjust_holm(p_values[upper].tolist())
    return np.minimum(corrected, corrected.T)


def compute_rank_ranges(distances: Floats, corrected: Floats) -> list[RankRange]:
    """Return the range of ranks of each model, from distances from the ideal and corrected p-values of all pairs.

    >>> p_values = np.array([[1.0, 0.5, 0.01], [0.5, 1.0, 0.3], [0.01, 0.3, 1.0]])
    >>> compute_rank_ranges(np.array([1.0, 2.0, 6.0]), p_values)
    [RankRange(first=1, last=2), RankRange(first=1, last=3), RankRange(first=2, last=3)]
    """
    apart: NDArray[np.bool_] = corrected < ALPHA
    closer = distances[:, None] > distances[None, :]
    first = 1 + (apart & closer).sum(axis=1)
    last = len(distances) - (apart & closer.T).sum(axis=1)
    return [RankRange(int(low), int(high)) for low, high in zip(first, last, strict=True)]


def compute_unpaired_p_values(values: Floats, ideal: float, errors: Floats, df: Floats) -> Floats:
    """Return a matrix with the p-value of each pair of models for equal distances from the ideal; items are not paired.

    The correlation between two estimates on the same items is unknown, so the maximum standard error of their
    difference is used: the sum of both standard errors. As a result, two models differ significantly if,
    approximately, their corrected intervals do not overlap.
    """
    error = errors[:, None] + errors[None, :]
    freedom = np.minimum(df[:, None], df[None, :])
    centred = values - ideal
    gaps = (centred[:, None] - centred[None, :], centred[:, None] + centred[None, :])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        tests = [np.where(error > 0, 2 * stdtr(freedom, -np.abs(gap) / error), 1.0) for gap in gaps]
    return np.minimum(1.0, np.maximum(tests[0], tests[1]))
