"""Item statistics: reliability of a measure, separation of models by items, and agreement of languages.

As in test theory, items are the questions of a test and models are the test takers. Reliability is the correlation over
models between the values on two halves of the items, corrected to the length of the whole test (Spearman-Brown). With
fewer than five models, there is no interval.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import ndtri, stdtr

from tiltmeter.comparing.contribution_tables import ContributionTable
from tiltmeter.comparing.correlation_interval import compute_correlation_interval
from tiltmeter.measures.estimates import LEVEL, Interval
from tiltmeter.measures.factors import Codes
from tiltmeter.measures.multiple_testing import adjust_holm
from tiltmeter.measures.standard_errors import Floats

FEWEST_MODELS = 3
# Minimum number of models for an interval; Fisher's interval is not defined for three or fewer.
FEWEST_FOR_INTERVAL = 5
SPLITS = 200
_SEED = 20_231


@dataclass(frozen=True, slots=True)
class Reliability:
    """The split-half reliability of a measure: the mean over random splits of items, or of clusters of items.

    `factor` is the factor whose clusters are split; it is empty if items are split.
    """

    value: float
    interval: Interval | None
    models: int
    factor: str = ""


@dataclass(frozen=True, slots=True)
class ItemStatistics:
    """The statistics of one item; `mean` is the mean contribution over models.

    `strength` is the preference for the stereotype (`ContributionTable.compute_strengths`), or None. `separation` is
    the correlation over models between the contribution of this item and the measure on all other items; it is None if
    all models have the same outcome. `p_negative` is the p-value of the test for a negative separation, corrected for
    the number of items (Holm).
    """

    item: tuple[str, str]
    mean: float
    strength: float | None
    separation: float | None
    p_negative: float | None


@dataclass(frozen=True, slots=True)
class LanguageAgreement:
    """The agreement of two languages on the same items.

    `correlation` is the correlation, over items, between the mean contribution of all models in one language and that
    in the other. Its interval takes the clusters of items, such as targets, into account. `agreement` and
    `kappa` are means over the models that were measured in both languages; `models` is the number of these models.
    """

    first: str
    second: str
    items: int
    correlation: float | None
    interval: Interval | None
    models: int
    agreement: float | None
    kappa: float | None


def compute_spearman_brown(correlation: float) -> float:
    """Return the reliability of a test from the correlation of its halves.

    >>> compute_spearman_brown(0.5)
    0.6666666666666666
    """
    return 2 * correlation / (1 + correlation) if correlation > -1 else -math.inf


def estimate_reliability(panel: ContributionTable, *, splits: int = SPLITS) -> Reliability | None:
    """Return the split-half reliability; None if there are too few models or items, or all models have the same value.

    Each of the `splits` random splits divides the items into two halves.
    """
    return _estimate_split_half(panel, np.arange(len(panel.items)), "", splits)


def estimate_lowest_reliability(panel: ContributionTable, *, splits: int = SPLITS) -> Reliability | None:
    """Return the lowest reliability for other labels of a factor, such as other targets; None if there is no factor.

    For each factor, the labels are split instead of the items, so that the halves have different labels.
    """
    factors = panel.build_factors()
    if factors is None:
        return None
    found = [_estimate_split_half(panel, codes, name, splits) for name, codes in factors.codes.items()]
    return min((one for one in found if one is not None), key=lambda one: one.value, default=None)


def _estimate_split_half(panel: ContributionTable, codes: Codes, factor: str, splits: int) -> Reliability | None:
    """Estimate the reliability from halves that divide no cluster; `codes` has the index of each item's cluster."""
    count = int(codes.max(initial=-1)) + 1
    if len(panel.cells) < FEWEST_MODELS or count < 4:
        return None
    random = np.random.default_rng(_SEED)
    correlations = []
    for _ in range(splits):
        first = np.zeros(count, dtype=bool)
        first[random.permutation(count)[: count // 2]] = True
        chosen = first[codes]
        correlation = _compute_correlation(panel.compute_model_values(chosen), panel.compute_model_values(~chosen))
        if correlation is not None:
            correlations.append(correlation)
    if len(correlations) < splits / 2:
        return None
    # Fisher's z of the correlations is averaged, because the scale of correlations is compressed near 1.
    mean = math.tanh(float(np.mean(np.arctanh(np.clip(correlations, -0.999999, 0.999999)))))
    return Reliability(
        compute_spearman_brown(mean), _compute_reliability_interval(mean, len(panel.cells)), len(panel.cells), factor
    )


def _compute_reliability_interval(correlation: float, models: int) -> Interval | None:
    interval = compute_fisher_interval(correlation, models)
    return None if interval is None else (compute_spearman_brown(interval[0]), compute_spearman_brown(interval[1]))


def compute_fisher_interval(correlation: float, n: int) -> Interval | None:
    """Return Fisher's interval of a correlation of `n` pairs of values; None for fewer than five pairs.

    >>> low, high = compute_fisher_interval(0.5, 28)
    >>> round(low, 3), round(high, 3)
    (0.156, 0.736)
    """
    if n < FEWEST_FOR_INTERVAL:
        return None
    z, half = math.atanh(max(-0.999999, min(0.999999, correlation))), float(ndtri(0.5 + LEVEL / 2)) / math.sqrt(n - 3)
    return math.tanh(z - half), math.tanh(z + half)


def compute_item_statistics(panel: ContributionTable) -> list[ItemStatistics]:
    """Return the statistics of all items of a panel (contributions of items to one measure), in the panel's order."""
    table = panel.contributions
    models, count = table.shape
    weights = panel.compute_weights()
    # In a weighted mean, an item adds its contribution times its weight.
    added = table if weights is None else table * weights
    total = added.sum(axis=1, keepdims=True)
    rest = (total - added) / max(1, count - 1)
    own, others = added - added.mean(axis=0), rest - rest.mean(axis=0)
    spread = np.sqrt((own**2).sum(axis=0) * (others**2).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        separation = np.where(spread > 1e-9, (own * others).sum(axis=0) / spread, np.nan)
    p_values = _adjust_holm(_compute_lower_tail_p(separation, models))
    strengths = panel.compute_strengths()
    strong: list[float | None] = [None] * count if strengths is None else strengths.tolist()
    return [
        ItemStatistics(
            (str(item[0]), str(item[1])),
            float(mean),
            strength,
            None if np.isnan(value) else float(value),
            None if np.isnan(p) else float(p),
        )
        for item, mean, strength, value, p in zip(
            panel.items, table.mean(axis=0), strong, separation, p_values, strict=True
        )
    ]


def _compute_lower_tail_p(separation: Floats, models: int) -> Floats:
    """Return one-sided p-values: the probability of at most `separation` if the true correlation is 0."""
    if models < FEWEST_FOR_INTERVAL:
        return np.full(len(separation), np.nan)
    clipped = np.clip(separation, -0.999999, 0.999999)
    return np.asarray(stdtr(models - 2, clipped * np.sqrt((models - 2) / (1 - clipped**2))))


def _adjust_holm(p_values: Floats) -> Floats:
    known = ~np.isnan(p_values)
    corrected = np.full(len(p_values), np.nan)
    corrected[known] = adjust_holm(p_values[known].tolist())
    return corrected


def find_all_wrong(panel: ContributionTable) -> list[tuple[str, str]]:
    """Return the (part, id) of items to which all models give the worst answer, if the measure has a best value."""
    bounds = panel.quantity.measure.bounds
    if not panel.measures_quality or bounds is None or len(panel.cells) < FEWEST_MODELS:
        return []
    worst = bounds[0] if panel.quantity.measure.higher_is_better else bounds[1]
    wrong = np.flatnonzero((np.abs(panel.contributions - worst) < 1e-9).all(axis=0))
    return [(str(part), str(item)) for part, item in panel.items[wrong]]


def compute_language_agreement(panels: Sequence[ContributionTable]) -> Iterator[LanguageAgreement]:
    """Yield the agreement of each pair of languages; the panels have the same benchmark, part and measure."""
    for one, two in combinations(panels, 2):
        items = one.items[one.items.isin(two.items)]
        if not len(items):
            continue
        first, second = (panel.contributions[:, panel.items.get_indexer(items)] for panel in (one, two))
        means = first.mean(axis=0), second.mean(axis=0)
        correlation = _compute_correlation(*means)
        factors = one.build_factors()
        shared = None if factors is None else factors.select_rows(one.items.get_indexer(items))
        both = [
            (first[one.models.index(model)], second[two.models.index(model)])
            for model in one.models
            if model in two.models
        ]
        kappas = [kappa for left, right in both if (kappa := _compute_kappa(left, right)) is not None]
        yield LanguageAgreement(
            one.language,
            two.language,
            len(items),
            correlation,
            None if correlation is None else compute_correlation_interval(*means, shared),
            len(both),
            100 * float(np.mean([np.mean(left == right) for left, right in both])) if both else None,
            float(np.mean(kappas)) if kappas else None,
        )


def _compute_kappa(left: Floats, right: Floats) -> float | None:
    """Return Cohen's kappa between the preferences of a model in two languages; None if all preferences are equal."""
    outcomes = np.unique(np.concatenate([left, right]))
    agreed = float(np.mean(left == right))
    expected = float(sum(np.mean(left == one) * np.mean(right == one) for one in outcomes))
    return None if expected >= 1 - 1e-12 else (agreed - expected) / (1 - expected)


def _compute_correlation(left: Floats, right: Floats) -> float | None:
    """Return Pearson's correlation of two arrays; None if one array does not vary, or if a value is missing."""
    if len(left) < FEWEST_MODELS or np.isnan(left).any() or np.isnan(right).any():
        return None
    left, right = left - left.mean(), right - right.mean()
    spread = math.sqrt(float((left**2).sum() * (right**2).sum()))
    return float((left * right).sum() / spread) if spread > 1e-12 else None
