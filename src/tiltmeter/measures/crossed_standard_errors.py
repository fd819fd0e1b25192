"""Standard errors of combinations of languages, in which items share other words in each language.

The rule is that of `standard_errors`: the variance for independent items, plus the excess of each factor's
cluster-robust variance over it. The part of a combination that belongs to a language is clustered by the labels of this
language. If all languages have the same labels, the result is that of `standard_errors`.
"""

from collections.abc import Mapping

import numpy as np

from tiltmeter.measures.factors import Codes, Factors
from tiltmeter.measures.standard_errors import (
    Floats,
    StandardError,
    combine_factor_errors,
    compute_cluster_df,
    compute_standard_error,
)


def compute_crossed_error(influences: Mapping[str, Floats], factors: Mapping[str, Factors | None]) -> StandardError:
    """Compute the standard error of a combination from the influence of each item, by language.

    >>> influences = {"en": np.array([0.5, -0.5, 0.5, -0.5]), "de": np.array([0.1, 0.2, -0.1, -0.2])}
    >>> compute_crossed_error(influences, {}) == compute_standard_error(sum(influences.values()))
    True
    """
    total = np.sum(list(influences.values()), axis=0)
    independent = compute_standard_error(total)
    clustered = []
    for name in dict.fromkeys(name for one in factors.values() if one is not None for name in one.codes):
        codes = {language: one.codes[name] for language, one in factors.items() if one and name in one.codes}
        used = {language: codes[language] for language in influences if language in codes}
        if any(int(one.max()) + 1 < len(one) for one in used.values()):
            clustered.append(_compute_factor_error(name, used, influences, total, independent))
    return combine_factor_errors(independent.value**2, independent.df, clustered) if clustered else independent


def _compute_factor_error(
    name: str, codes: Mapping[str, Codes], influences: Mapping[str, Floats], total: Floats, independent: StandardError
) -> StandardError:
    """Return the standard error for the clusters of one factor; it is at least that of independent items."""
    variance = 0.0
    for language, influence in influences.items():
        variance += _compute_cluster_product(influence, total, codes.get(language))
    effect = max(1.0, variance / independent.value**2) if independent.value > 0 else 1.0
    counts = [np.bincount(one).astype(np.float64) for one in codes.values()]
    df = min(float(compute_cluster_df(sizes, np.array([effect]))[0]) for sizes in counts)
    clusters = min(len(sizes) for sizes in counts)
    return StandardError(independent.value * float(np.sqrt(effect)), max(1.0, df), clusters, effect, name)


def _compute_cluster_product(influence: Floats, total: Floats, codes: Codes | None) -> float:
    """Return the cluster-robust covariance of the sums of two influences; without labels, items are clusters."""
    labels = np.arange(len(total)) if codes is None else codes
    count = int(labels.max()) + 1
    if count < 2:
        return 0.0
    left, right = (np.bincount(labels, numbers, count) for numbers in (influence, total))
    return float(count / (count - 1) * np.sum((left - left.mean()) * (right - right.mean())))
