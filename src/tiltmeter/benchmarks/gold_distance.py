"""How far a distribution is from the truth: the distance that S_JSD is made of (Steinborn et al. 2022)."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray


def gold_distance(log_prob: ArrayLike) -> NDArray[np.float64]:
    """The Jensen-Shannon distance, base 2, of a distribution to the one that gives the true token everything.

    It depends on the true token's probability p alone: the square root of Eq. 3 of the paper,
    (p log2 p - (1 + p) log2(1 + p) + 2) / 2. As written that is a difference of numbers near 2, of which nothing is
    left for p near 1. With r = 1 - p it becomes (p log2 p + r - (2 - r) log2(1 - r/2)) / 2, with terms as small as r.

    >>> gold_distance([math.log(0.5), 0.0, -1000.0]).round(4).tolist()
    [0.5579, 0.0, 1.0]
    >>> float(gold_distance(-1e-12).round(9))  # p = 1 - 1e-12; the distance is near sqrt(r / 2)
    7.07e-07
    """
    log_p = np.asarray(log_prob, dtype=np.float64)
    rest = -np.expm1(log_p)
    nats = np.exp(log_p) * log_p - (2 - rest) * np.log1p(-rest / 2)
    divergence = (nats / math.log(2) + rest) / 2
    distance: NDArray[np.float64] = np.sqrt(divergence)
    return distance


def s_jsd(more: ArrayLike, less: ArrayLike) -> float:
    """S_JSD of a pair: the mean over its shared tokens of the difference of their distances to the truth.

    Negative where the model is nearer to the truth in the more stereotypical sentence. The arguments are the
    log-probabilities of the shared tokens in the two sentences.

    >>> round(s_jsd(np.log([0.6, 0.2]), np.log([0.5, 0.2])), 4)
    -0.0358
    """
    return float(np.mean(gold_distance(more) - gold_distance(less)))
