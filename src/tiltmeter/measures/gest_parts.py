"""The masculine rates q_i of one template of GEST, and estimates from the rates: g_s, q_m, q_f, ranks, correlations."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiltmeter.measures.bootstrap import compute_percentile_intervals, draw_counts
from tiltmeter.measures.estimates import Interval, Mean, Ratio
from tiltmeter.measures.factors import Factors, build_factors
from tiltmeter.measures.gest_measures import IDEA
from tiltmeter.measures.ranks import compare_means, compute_comparison_level, compute_rank_intervals
from tiltmeter.measures.standard_errors import Floats, compute_standard_error
from tiltmeter.measures.stereotype_sides import MALE, compute_random_error, weigh_sides
from tiltmeter.measures.template_variation import TemplateVariation

# Minimum number of sentences of a stereotype for a percentile bootstrap; with fewer, its intervals are too narrow.
FEWEST_RESAMPLED = 100
# The logarithm of each rate is a weighted sum of the mean log q_i of stereotypes about men and of those about women.
# These are the weights.
RATES = {"g_s": (1, -1), "q_m": (1, 0), "q_f": (0, 1)}


def compute_masculine_rate(log_ratios: Floats) -> float:
    """Compute the geometric mean of ratios from their natural logarithms.

    >>> round(compute_masculine_rate(np.log([2.0, 8.0])), 12)
    4.0
    """
    return math.exp(float(np.mean(log_ratios)))


def compute_g_s(rates: Mapping[int, float], about_men: Collection[int] = MALE) -> float:
    """Compute g_s from the masculine rate of each stereotype; by default, stereotypes 8 to 16 are about men.

    >>> round(compute_g_s({1: 0.5, 2: 2.0, 8: 3.0}), 12)
    3.0
    """
    male, female = (
        [math.log(rate) for number, rate in rates.items() if (number in about_men) == side] for side in (True, False)
    )
    return math.exp(float(np.mean(male) - np.mean(female)))


@dataclass(frozen=True)
class GestPart:
    """The log ratios of one template, by stereotype and sub-stereotype.

    `ids` are the ids of the sentences of each stereotype, and `ideas` maps ids to an identifier of the English original
    (see `compute_sentence_digest`). `family` are the ids of sentences with family words, and `subs` those of the
    sentences of each sub-stereotype. `about_men` are the numbers of the stereotypes about men. If `resamples` is 0,
    there are no intervals.
    """

    name: str
    ratios: dict[int, Floats]
    ids: dict[int, list[str]]
    family: Sequence[str]
    resamples: int
    about_men: Collection[int] = MALE
    subs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ideas: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def log_rates(self) -> Floats:
        """The log q_i of each stereotype, in the order of `ratios`."""
        return np.array([np.mean(values) for values in self.ratios.values()])

    @cached_property
    def resampled_log_rates(self) -> dict[int, Floats | None]:
        """For each stereotype, log q_i in each resample; None if the stereotype has a single sentence."""
        return {number: resample_means(values, str(number), self.resamples) for number, values in self.ratios.items()}

    @cached_property
    def resampled_matrix(self) -> Floats | None:
        """The resampled log q_i: a row for each stereotype, a column for each resample; None if a row is missing."""
        rows = [row for row in self.resampled_log_rates.values() if row is not None]
        return np.stack(rows) if len(rows) == len(self.ratios) else None

    @property
    def male(self) -> NDArray[np.bool_]:
        """Whether each stereotype is about men, in the order of `ratios`."""
        return np.array([number in self.about_men for number in self.ratios])

    @cached_property
    def estimates(self) -> dict[int, Mean]:
        """The estimate of the log q_i of each stereotype with several sentences; empty if there are no intervals."""
        estimates = ((number, self.estimate_log_rate(ids)) for number, ids in self.ids.items())
        return {number: estimate for number, estimate in estimates if estimate is not None}

    @cached_property
    def _ratios_by_id(self) -> dict[str, float]:
        return {
            item: ratio
            for number, ids in self.ids.items()
            for item, ratio in zip(ids, self.ratios[number].tolist(), strict=True)
        }

    def get_ratios(self, ids: Sequence[str]) -> Floats:
        """Return the log ratios of the sentences with these ids."""
        return np.array([self._ratios_by_id[item] for item in ids], dtype=np.float64)

    def estimate_log_rate(self, ids: Sequence[str]) -> Mean | None:
        """Estimate the mean log ratio of sentences; None if `resamples` is 0 or there is a single sentence.

        Sentences with the same English original are correlated.
        """
        if not self.resamples or len(ids) < 2:
            return None
        factors = self.build_idea_factors(ids)
        return Mean.from_values(self.get_ratios(ids), factors if factors and factors.are_shared() else None)

    def build_idea_factors(self, ids: Sequence[str]) -> Factors | None:
        """Return the factor whose labels are the English originals of the sentences with these ids."""
        ideas = np.array([self.ideas.get(item) for item in ids], dtype=object)
        return build_factors({IDEA: ideas}, (IDEA,))

    def has_sentences_for(self, rate: str) -> bool:
        """Tell whether a rate is defined: q_m needs sentences about men, q_f about women, and g_s about both."""
        male, female = RATES[rate]
        return bool((not male or self.count_sentences(1, 0)) and (not female or self.count_sentences(0, 1)))

    def count_sentences(self, male_weight: int, female_weight: int) -> int:
        """Return the number of sentences in a rate with these weights of the two sides (see `RATES`)."""
        return sum(
            len(values)
            for number, values in self.ratios.items()
            if (male_weight if number in self.about_men else female_weight)
        )

    def compute_weights(self, male_weight: int, female_weight: int) -> Floats:
        """Return the weight of each log q_i in the logarithm of a rate with these weights of the two sides."""
        return weigh_sides(self.male, male_weight, female_weight)

    def compute_influence(self, male_weight: int, female_weight: int) -> "pd.Series[float]":
        """Compute the influence of each sentence on the logarithm of a rate; the index has stereotype and id."""
        rows = {
            (number, identifier): weight * change
            for (number, values), weight in zip(
                self.ratios.items(), self.compute_weights(male_weight, female_weight), strict=True
            )
            for identifier, change in zip(self.ids[number], (values - values.mean()) / len(values), strict=True)
        }
        return pd.Series(rows, dtype=float)


def estimate_fixed_rate(parts: Sequence[GestPart], rate: str = "g_s") -> Ratio | None:
    """Estimate g_s, q_m or q_f with fixed stereotypes, for one template (part) or as the mean over several templates.

    Return None if a stereotype has a single sentence, or if the sentences do not vary.
    """
    sides = RATES[rate]
    log_rate, shares = compute_log_rates(parts, rate)
    influences = [share * part.compute_influence(*sides) for part, share in zip(parts, shares, strict=True)]
    # A sentence is one sampling unit, even if it occurs in several templates.
    total = pd.concat(influences).groupby(level=[0, 1]).sum()
    if not all(sides):
        about_men = [number in parts[0].about_men for number in total.index.get_level_values(0)]
        total = total[np.array(about_men) == bool(sides[0])]
    strata = total.index.get_level_values(0).to_numpy(dtype=object)
    if min(pd.Series(strata).value_counts()) < 2:
        return None
    factors = parts[0].build_idea_factors(total.index.get_level_values(1).tolist())
    error = compute_standard_error(total.to_numpy(dtype=float), factors, strata)
    return Ratio(Mean(log_rate, error)) if error.value else None


def estimate_random_g_s(parts: Sequence[GestPart]) -> Ratio | None:
    """Estimate g_s if stereotypes are a random sample; None if there are too few or all have the same rate."""
    log_rate, shares = compute_log_rates(parts)
    if not have_same_stereotypes(parts):
        return None
    means = sum(share * part.log_rates for part, share in zip(parts, shares, strict=True))
    error = compute_random_error(np.asarray(means), parts[0].male)
    return Ratio(Mean(log_rate, error)) if error else None


def estimate_template_variation(parts: Sequence[GestPart]) -> TemplateVariation | None:
    """Estimate the variation of log g_s between templates that contain the same sentences."""
    logs = np.array([float(part.compute_weights(1, -1) @ part.log_rates) for part in parts])
    # A row for each sentence, with an influence of 0 on templates that do not contain it.
    influence = pd.concat([part.compute_influence(1, -1) for part in parts], axis=1).fillna(0.0)
    strata = influence.index.get_level_values(0).to_numpy(dtype=object)
    return TemplateVariation.from_influences(logs, influence.to_numpy(dtype=float), strata)


def compute_feminine_ranks(parts: Sequence[GestPart]) -> list[Interval] | None:
    """Return the interval of each stereotype's mean feminine rank; None if a stereotype has a single sentence."""
    if not parts[0].resamples or count_fewest_sentences(parts) < 2:
        return None
    level = compute_comparison_level(len(parts[0].ratios), len(parts))
    below = [compare_means([part.estimates[number] for number in part.ratios], level) for part in parts]
    return compute_rank_intervals(below, [part.log_rates for part in parts])


def compute_log_rates(parts: Sequence[GestPart], rate: str = "g_s") -> tuple[float, Floats]:
    """Return the logarithm of the mean rate over parts, and its derivative with respect to each part's log rate."""
    rates = np.exp([float(part.compute_weights(*RATES[rate]) @ part.log_rates) for part in parts])
    return math.log(float(rates.mean())), rates / rates.sum()


def resample_means(values: Floats, key: str, resamples: int) -> Floats | None:
    """Return the mean of the values in each resample; None if `resamples` is 0 or there is only one value."""
    if not resamples or len(values) < 2:
        return None
    means: Floats = values @ draw_counts(len(values), resamples, "gest", key).astype(float) / len(values)
    return means


def compute_rate_interval(ratio: Ratio | None, resampled: Floats | None, scale: float, n: int) -> Interval | None:
    """Return the interval of a rate of n sentences.

    The interval is Student's t; on the published scale (`scale` is not 1) and for large n, it is a bootstrap interval.
    Return None if no interval can be computed.
    """
    if scale != 1.0 and n >= FEWEST_RESAMPLED and resampled is not None:
        return compute_percentile_intervals(resampled[np.newaxis])[0]
    if ratio is None or not ratio.standard_error.value:
        return None
    low, high = ratio.interval()
    return low**scale, high**scale


def count_fewest_sentences(parts: Sequence[GestPart]) -> int:
    """Return the number of sentences of the stereotype with the fewest sentences, over all parts."""
    return min(len(values) for part in parts for values in part.ratios.values())


def have_same_stereotypes(parts: Sequence[GestPart]) -> bool:
    """Tell whether all parts have sentences for the same stereotypes."""
    return all(part.ratios.keys() == parts[0].ratios.keys() for part in parts)


def compute_mean_correlation(pairs: Sequence[tuple[GestPart, GestPart]]) -> tuple[float, int] | None:
    """Return the mean correlation of log q_i over pairs of parts, and the number of pairs; None without such a pair."""
    correlations = [
        float(np.corrcoef(first.log_rates, second.log_rates)[0, 1])
        for first, second in pairs
        if have_same_stereotypes((first, second)) and np.ptp(first.log_rates) > 0 and np.ptp(second.log_rates) > 0
    ]
    return (float(np.mean(correlations)), len(correlations)) if correlations else None
