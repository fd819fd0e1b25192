"""The sampling covariance of cell means (one model in one language each), which all have the same items.

The covariance of two cells is the covariance for independent items, plus the excess of each factor's cluster-robust
covariance over it. Single covariances are noisy with few clusters, so they are averaged over pairs of cells of the same
two languages.
"""

import numpy as np

from tiltmeter.measures.crossed_answers import CrossedAnswers
from tiltmeter.measures.factors import Factors
from tiltmeter.measures.standard_errors import Floats


def estimate_sampling_covariance(crossed: CrossedAnswers) -> Floats:
    """Return the covariance matrix of the cell means, if only the items are a sample.

    It is the sum of three parts: one for each pair of languages, one that the cells of a model share, and one for
    each cell. Each part is averaged over the cells to which it applies, and negative parts are set to 0.
    """
    raw = _compute_raw_covariance(crossed)
    names = crossed.language_names
    indicators = np.array([crossed.languages == name for name in names], dtype=np.float64).T
    same_model = crossed.models[:, None] == crossed.models[None, :]
    same_cell = np.eye(len(raw), dtype=bool)
    of_languages = _average_blocks(raw, indicators, ~same_model)
    expanded = indicators @ _project_positive(of_languages) @ indicators.T
    shared = _average(raw - expanded, same_model & ~same_cell)
    own = _average(raw - expanded - shared * same_model, same_cell)
    return np.asarray(expanded + shared * same_model + max(own, 1e-6 * np.trace(raw) / len(raw)) * same_cell)


def _compute_raw_covariance(crossed: CrossedAnswers) -> Floats:
    """Return the covariances without averaging; those of two languages use the mean over the factors of both."""
    influence = crossed.centre_answers() * crossed.weights
    independent = influence @ influence.T
    raw = np.zeros_like(independent)
    for language in crossed.language_names:
        excess = _compute_excess_covariance(influence, independent, crossed.factors.get(language))
        inside = (crossed.languages == language).astype(np.float64)
        raw += (independent + excess) * (inside[:, None] + inside[None, :]) / 2
    return np.asarray(raw)


def _compute_excess_covariance(influence: Floats, independent: Floats, factors: Factors | None) -> Floats:
    """Return the sum over factors of the cluster-robust covariance minus the covariance for independent items."""
    total = np.zeros_like(independent)
    for codes in factors.codes.values() if factors is not None else ():
        count = int(codes.max()) + 1
        if 1 < count < len(codes):
            sums = np.array([np.bincount(codes, row, count) for row in influence])
            sums -= sums.mean(axis=1, keepdims=True)
            total += count / (count - 1) * sums @ sums.T - independent
    return total


def _average_blocks(raw: Floats, indicators: Floats, used: Floats) -> Floats:
    """Return the mean covariance of different models for each pair of languages.

    For a language with a single model, the mean over the other pairs of languages is used, because its covariance with
    another model in the same language is not known.
    """
    counts = indicators.T @ used @ indicators
    sums = indicators.T @ (raw * used) @ indicators
    known = counts > 0
    means = np.where(known, sums / np.where(known, counts, 1.0), 0.0)
    overall = float(means[known].mean()) if known.any() else 0.0
    return np.where(known, means, overall)


def _average(values: Floats, used: Floats) -> float:
    return max(0.0, float(values[used].mean())) if used.any() else 0.0


def _project_positive(matrix: Floats) -> Floats:
    """Return the nearest matrix without negative eigenvalues."""
    eigenvalues, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray(vectors * eigenvalues.clip(0.0) @ vectors.T)
