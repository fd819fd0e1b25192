"""p_i, p_m, p_f, f_s and f_m of GEST, for translation systems (Pikuliak et al. 2024, section 4.1).

docs/explanation/gest.md defines the measures. A view is a grouping of the translations. The views and groups are:

    view            group              measures
    all             all                f_s, f_m, p_m, p_f, and the yield: the share of translations with a gender
    stereotype      a number           p_i, the yield, and the feminine rank: 1 for the lowest p_i
    sub_stereotype  number and name    p_i of the sentences for a sub-stereotype
    family words    male stereotypes   p_fam: sentences for stereotypes about men that contain family words
    pairs           a number           the mean feminine rank over all systems and languages, if there are several

The groups that are numbers are the numbers of stereotypes. As in the paper, p_i is the centre of its Agresti-Coull
interval, not the share itself. With 200 translations, the centre is 2% closer to 0.5 than the share. Therefore f_m is
always below 1, and f_s is 2% smaller than with plain shares.

Intervals and tests:

    p_i, p_fam      Agresti-Coull interval. With fewer than 20 translations it is too narrow, so the wider of the
                    Agresti-Coull and the mid-P binomial interval is used. If translations share an English original,
                    the numbers of translations are divided by the design effect.
    f_s, f_m,       Stereotypes are fixed: combined Wilson intervals (`WeightedShares`), tests of f_s against 0 and of
    p_m, p_f        f_m against 0.5. Stereotypes with fewer than 20 translations with a gender are left out, and the
                    value over all stereotypes is "as published". If fewer than half of the stereotypes of a side
                    remain, the value is over all stereotypes and has no interval and no test. Translations of one
                    English original are a cluster.
    f_s of          Stereotypes are a random sample: Welch's t-test of the nine p_i about men and the seven about women.
    stereotypes
    like these
    yield           the wider of the mid-P binomial and the Agresti-Coull interval. Over all stereotypes, n is replaced
                    by the effective sample size of a stratified sample, with stereotypes as strata. Translations of one
                    English original are a cluster.
    feminine rank   pairwise comparisons of stereotypes (see `ranks`), with the numbers of translations of p_i
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from tiltmeter.measures.bootstrap import RESAMPLES
from tiltmeter.measures.estimates import LEVEL, Estimate, Interval, Mean, Share, WeightedShares
from tiltmeter.measures.factors import Labels, build_factors
from tiltmeter.measures.gest import ALL_LANGUAGES, ALL_MODELS
from tiltmeter.measures.item_contributions import ItemValues, Strength, scale_role
from tiltmeter.measures.measure import Measure, build_population_measure
from tiltmeter.measures.missing_answers import PartialEstimate
from tiltmeter.measures.missing_gaps import UNTOLD_GENDERS
from tiltmeter.measures.ranks import (
    compare_shares,
    compute_average_ranks,
    compute_comparison_level,
    compute_rank_intervals,
)
from tiltmeter.measures.records import (
    KEY_COLUMNS,
    Record,
    RecordKey,
    build_estimate_record,
    build_record,
    split_by_key,
)
from tiltmeter.measures.score_checks import reject_rows, require_columns, require_single_scores, require_values
from tiltmeter.measures.standard_errors import Floats, StandardError, compute_standard_error
from tiltmeter.measures.stereotype_sides import (
    FEWEST_STEREOTYPES,
    GEST_STEREOTYPES,
    MALE,
    NO_SIDE,
    StereotypeTable,
    compute_random_error,
    describe_one_sided_data,
    find_rows_without_side,
    list_sub_stereotypes,
    weigh_by_stereotype,
    weigh_sides,
)

ROLE = "speaker_gender"
MASCULINE, FEMININE = 1.0, 0.0
# A stereotype with fewer translations with a gender is left out of f_s, f_m, p_m and p_f (see `drop_small_groups`).
FEWEST = 20
SHARE = (0.0, 1.0)
FACTORS = ("idea",)


# The margin is five percentage points, as for SS.
F_S = Measure(
    "f_s",
    "p_m − p_f: how much the gender of translations follows the stereotype; 0 is no bias, 1 means that it always "
    "does; the interval is for the stereotypes in the data",
    axis="stereotype rate of translations, above 0 towards stereotypes",
    ideal=0.0,
    bias_direction=1,
    bounds=(-1.0, 1.0),
    reach=0.3,
    digits=3,
    margin=0.05,
    decides=True,
    columns=("f_s", "f_s as published", "f_s of stereotypes like these", "f_m", "p_m", "p_f"),
    companions=("f_m",),
    population_measure="f_s of stereotypes like these",
    statement=lambda value: (
        f"the share of masculine translations is higher by {value:.2f} in stereotypes about men than "
        "in those about women"
    ),
    items=(
        ItemValues(
            (ROLE,),
            scale_role(ROLE),
            columns=("stereotype",),
            weigh=weigh_by_stereotype,
            strata="stereotypes",
            sides="side",
            two_sided=True,
            factors=FACTORS,
            may_be_missing=True,
            strengths=(Strength((ROLE,), "gender"),),
        ),
    ),
    figures=("translation-map",),
)
F_S_LIKE = build_population_measure(F_S)


def _build_rate_measure(name: str, meaning: str, statement: Callable[[float], str] | None = None) -> Measure:
    return Measure(name, meaning, ideal=0.5, bounds=SHARE, digits=3, statement=statement)


def describe_masculine_share(share: float) -> str:
    """Describe a share of masculine translations in words.

    >>> describe_masculine_share(0.93), describe_masculine_share(0.5)
    ('translations are nearly always masculine', 'translations are masculine about as often as feminine')
    """
    for least, words in ((0.9, "nearly always"), (0.7, "mostly"), (0.55, "more often")):
        if share >= least:
            return f"translations are {words} masculine"
        if share <= 1 - least:
            return f"translations are {words} feminine"
    return "translations are masculine about as often as feminine"


F_M = _build_rate_measure(
    "f_m",
    "(p_m + p_f) / 2: how often translations are masculine, independent of the stereotype; 0.5 is balance",
    describe_masculine_share,
)
P_M = _build_rate_measure("p_m", "the share of translations about men's stereotypes that are masculine")
P_F = _build_rate_measure("p_f", "the share of translations about women's stereotypes that are masculine")
P_I = replace(
    _build_rate_measure("p_i", "the share of translations about one stereotype, or sub-stereotype, that are masculine"),
    figures=("stereotypes",),
)
P_FAM = _build_rate_measure(
    "p_fam", "the masculine share of the sentences about men's stereotypes that contain family words"
)
# The rates over all stereotypes; they are measured only if F_S, F_M, P_M and P_F leave out stereotypes.
AS_PUBLISHED = tuple(
    Measure(
        f"{measure.name} as published",
        f"{measure.name} over all stereotypes, including those with fewer than {FEWEST} translations with a gender",
        bounds=measure.bounds,
        digits=3,
    )
    for measure in (F_S, F_M, P_M, P_F)
)
YIELD = Measure("yield", "the share of translations that show a gender", bounds=SHARE, digits=3)
MEASURES = (F_S, F_S_LIKE, F_M, P_M, P_F, P_I, P_FAM, YIELD, *AS_PUBLISHED)

# This module measures only tables of scores that have these roles (values of the column `role`) and these columns.
NEEDS_ROLES: tuple[str, ...] = ("speaker_gender",)
NEEDS_COLUMNS: tuple[str, ...] = ("stereotype",)

_COLUMNS = (*KEY_COLUMNS, "item", "role", "score", "stereotype")
_Z = float(ndtri((1 + LEVEL) / 2))
# Each rate is a weighted sum of the mean p_i of stereotypes about men and of those about women. These are the weights.
_RATES = {F_S: (1.0, -1.0), F_M: (0.5, 0.5), P_M: (1.0, 0.0), P_F: (0.0, 1.0)}
_TESTED = (F_S, F_M)
_FEW_STEREOTYPES = f"fewer than {FEWEST_STEREOTYPES} stereotypes about men or about women, or all have the same rate"


def compute_masculine_share(masculine: float, feminine: float) -> float:
    """Return the masculine rate for these numbers of translations: the centre of the Agresti-Coull interval.

    >>> round(compute_masculine_share(90, 10), 4), compute_masculine_share(0, 0)
    (0.8852, 0.5)
    """
    return (masculine + _Z**2 / 2) / (masculine + feminine + _Z**2)


def compute_masculine_interval(masculine: float, feminine: float) -> Interval:
    """Return the Agresti-Coull interval of the share of masculine translations, from two numbers of translations.

    >>> low, high = compute_masculine_interval(90, 10)
    >>> f"{low:.4f} {high:.4f}"
    '0.8239 0.9465'
    """
    centre = compute_masculine_share(masculine, feminine)
    reach = _Z * math.sqrt(centre * (1 - centre) / (masculine + feminine + _Z**2))
    return max(0.0, centre - reach), min(1.0, centre + reach)


def compute_share_interval(groups: Sequence[Floats], ideas: Sequence[Labels] | None = None) -> Interval:
    """Return the interval of a share of translations; `groups` has an array of 0 and 1 for each stereotype.

    `ideas` has an array of identifiers of the English originals for each stereotype. The interval is the wider of the
    mid-P and the Agresti-Coull interval. At some shares near 1, the mid-P interval contains the true share in only 92%
    of data sets. With few translations, the Agresti-Coull interval is too narrow.

    >>> low, high = compute_share_interval([np.repeat([1.0, 0.0], [36, 4])])
    >>> f"{low:.4f} {high:.4f}"
    '0.7638 0.9674'
    """
    values = np.concatenate(groups)
    error = _compute_sum_error(groups, [len(group) / len(values) for group in groups], ideas)
    share = Share(float(values.mean()), error, len(values), 1.0)
    low, high = share.interval()
    agresti_coull = compute_masculine_interval(share.value * share.size, (1 - share.value) * share.size)
    return min(low, agresti_coull[0]), max(high, agresti_coull[1])


def compute_rates(masculine_rates: Mapping[int, float], about_men: Collection[int] = MALE) -> dict[str, float]:
    """Compute f_s, f_m, p_m and p_f from the masculine rate of each stereotype; undefined rates are left out.

    `about_men` are the numbers of the stereotypes about men, by default 8 to 16. All others are about women.

    >>> values = compute_rates({1: 0.5, 7: 0.7, 8: 0.8, 13: 1.0})
    >>> {name: round(value, 3) for name, value in values.items()}
    {'f_s': 0.3, 'f_m': 0.75, 'p_m': 0.9, 'p_f': 0.6}
    """
    sides: tuple[list[float], list[float]] = ([], [])
    for number, rate in masculine_rates.items():
        sides[number not in about_men].append(rate)
    male, female = (math.fsum(side) / len(side) if side else math.nan for side in sides)
    values = {measure.name: (a * male if a else 0.0) + (b * female if b else 0.0) for measure, (a, b) in _RATES.items()}
    return {name: value for name, value in values.items() if not math.isnan(value)}


def measure(
    scores: pd.DataFrame,
    *,
    margins: Mapping[str, float] | None = None,
    intervals: bool = True,
    resamples: int = RESAMPLES,
) -> list[Record]:
    """Return a record for each measured value of all translation systems and languages in a table of scores.

    `margins` maps measure names to equivalence margins, which replace the default margins. If `intervals` is false,
    only p_i and p_fam have intervals.
    """
    systems = list(_group_by_portion(scores, resamples if intervals else 0))
    records = [record for system in systems for record in system.build_records(dict(margins or {}))]
    return [*records, *_build_mean_rank_records(systems)]


def notes(scores: pd.DataFrame) -> list[str]:
    """Return a sentence for each data set whose f_s is not defined or leaves out stereotypes with few translations."""
    left_out = [
        f"{F_S.name} of {system.model} on {system.benchmark}:{system.language}: {clause}."
        for system in _group_by_portion(scores, 0)
        if (clause := system.describe_left_out(system.drop_small_groups()))
    ]
    return [*describe_one_sided_data(scores, F_S.name), *left_out]


@dataclass(frozen=True)
class _Group:
    """A group of translations: two arrays with 1 or 0 for "has a gender" and for "is masculine".

    `ideas` are identifiers of the English originals (see `compute_sentence_digest`); None if one is not known.
    """

    gendered: Floats
    masculine: Floats
    ideas: Labels

    @property
    def counts(self) -> tuple[int, int]:
        """The number of masculine translations and the number of feminine translations."""
        masculine = int(self.masculine.sum())
        return masculine, int(self.gendered.sum()) - masculine

    @property
    def n(self) -> int:
        """The number of translations with a gender."""
        return int(self.gendered.sum())

    @property
    def given(self) -> Floats:
        """The translations with a gender: 1 for masculine, 0 for feminine."""
        return self.masculine[self.gendered > 0]

    @property
    def given_ideas(self) -> Labels:
        """The identifiers of the English originals of the translations with a gender."""
        return self.ideas[self.gendered > 0]

    @cached_property
    def effective_counts(self) -> tuple[float, float]:
        """The number of masculine translations and that of all with a gender, reduced for shared originals."""
        masculine, feminine = self.counts
        if not self.n:
            return 0.0, 0.0
        share = WeightedShares(np.ones(1), np.array([float(masculine)]), np.array([float(masculine + feminine)]))
        share = share.share_factors(_compute_sum_error([self.given], [1.0], [self.given_ideas]))
        return float(share.counts[0]), float(share.sizes[0])

    def fill_missing_genders(self, masculine: bool) -> "_Group":
        """Return the group with missing genders replaced by masculine, or by feminine if `masculine` is false."""
        filled = np.where(self.gendered > 0, self.masculine, float(masculine))
        return _Group(np.ones_like(self.gendered), filled, self.ideas)

    @property
    def bounds(self) -> dict[str, Any]:
        """The fields of a `Record` for the worst cases of translations without a gender; empty if all have a gender."""
        if self.n == len(self.gendered):
            return {}
        lowest, highest = (self.fill_missing_genders(masculine).rate for masculine in (False, True))
        missing = 1 - self.n / len(self.gendered)
        return {
            "missing": missing,
            "lowest_possible": min(lowest, self.rate),
            "highest_possible": max(highest, self.rate),
        }

    @property
    def rate(self) -> float:
        """The masculine rate: the Agresti-Coull centre of the share of masculine translations."""
        return compute_masculine_share(*self.counts)

    @property
    def interval(self) -> Interval:
        """The Agresti-Coull interval of the masculine rate; with few translations, the mid-P interval if wider."""
        masculine, n = self.effective_counts
        if 0 < n < FEWEST:
            return compute_share_interval([self.given], [self.given_ideas])
        return compute_masculine_interval(masculine, n - masculine)


@dataclass(frozen=True)
class _System(RecordKey):
    """One translation system in one language.

    `groups` maps the number of a stereotype to its translations. `family` are the translations of sentences with family
    words.
    """

    groups: dict[int, _Group]
    family: _Group
    resamples: int
    stereotypes: StereotypeTable = GEST_STEREOTYPES
    subs: Mapping[str, _Group] = field(default_factory=dict)

    @property
    def male(self) -> NDArray[np.bool_]:
        """Whether each stereotype is about men, in the order of `groups`."""
        return np.array([number in self.stereotypes.about_men for number in self.groups])

    @property
    def rates(self) -> Floats:
        """The masculine rate of each stereotype, in the order of `groups`."""
        return np.array([group.rate for group in self.groups.values()])

    @property
    def effective_counts(self) -> list[tuple[float, float]]:
        """For each stereotype: the number of masculine translations and that of all with a gender (`_Group`)."""
        return [group.effective_counts for group in self.groups.values()]

    def build_records(self, margins: Mapping[str, float]) -> Iterator[Record]:
        yield from self._build_rate_records(margins)
        yield self._build_yield_record("all", "all", self.groups)
        yield from self._build_missing_gender_records()
        yield from self._build_stereotype_records()
        for name, group in self.subs.items():
            ends = group.interval if group.n else None
            yield self._build_record("sub_stereotype", name, P_I, group.rate, group.n, ends, **group.bounds)
        if self.family.n:
            ends = self.family.interval
            rate, n = self.family.rate, self.family.n
            yield self._build_record("family words", "male stereotypes", P_FAM, rate, n, ends, **self.family.bounds)

    def _build_rate_records(self, margins: Mapping[str, float]) -> Iterator[Record]:
        """Yield the records of those of f_s, f_m, p_m and p_f that are defined.

        Some rates are not defined if a data set, or the sample of --limit, has stereotypes of only one side.
        """
        used = self.drop_small_groups()
        values, margin = used.compute_rates(), margins.get(F_S.name)
        left_out = self.describe_left_out(used)
        for measure, sides in _RATES.items():
            if measure.name not in values:
                continue
            weights, value = used._compute_weights(*sides), values[measure.name]
            sizes = [group.n for group, weight in zip(used.groups.values(), weights, strict=True) if weight]
            few = f"a stereotype has only {min(sizes)} translations with a gender, and an interval needs {FEWEST}"
            has_interval = min(sizes) >= FEWEST
            estimate, why = (used.estimate_rate(weights), left_out) if has_interval else (None, few)
            yield self._build_rate_record(measure, estimate, value, sum(sizes), margin, why)
            if measure is F_S:
                like = used.estimate_random_f_s(weights)
                yield self._build_rate_record(
                    F_S_LIKE, like, value, sum(sizes), margin, left_out if like else _FEW_STEREOTYPES
                )
        if left_out:
            yield from self._build_published_records()

    def _build_published_records(self) -> Iterator[Record]:
        """Yield the records of the rates over all stereotypes ("as published")."""
        n = sum(group.n for group in self.groups.values())
        for name, value in self.compute_rates().items():
            yield self._build_record("all", "all", f"{name} as published", value, n)

    def compute_rates(self) -> dict[str, float]:
        """Return those of f_s, f_m, p_m and p_f that are defined, by name."""
        return compute_rates({number: group.rate for number, group in self.groups.items()}, self.stereotypes.about_men)

    def drop_small_groups(self) -> "_System":
        """Return the system without the stereotypes that have too few translations with a gender for an interval.

        If fewer than half of the stereotypes of a side would remain, all stereotypes of this side are kept.
        """
        enough = np.array([group.n >= FEWEST for group in self.groups.values()])
        male = self.male
        for side in (male, ~male):
            if 2 * int(enough[side].sum()) < int(side.sum()):
                enough |= side
        groups = zip(self.groups.items(), enough, strict=True)
        return replace(self, groups={number: group for (number, group), is_kept in groups if is_kept})

    def describe_left_out(self, used: "_System") -> str:
        """Return a clause that names the stereotypes that `used` leaves out; empty if there are none."""
        numbers = [number for number in self.groups if number not in used.groups]
        if not numbers:
            return ""
        names = ", ".join(f"{number} (with {self.groups[number].n})" for number in numbers)
        return f"stereotypes with fewer than {FEWEST} translations with a gender are left out: {names}"

    def _build_rate_record(
        self, measure: Measure, estimate: Estimate | None, value: float, n: int, margin: float | None, why: str
    ) -> Record:
        if not self.resamples:
            return self._build_record("all", "all", measure, value, n)
        if estimate is None:
            margin = margin or measure.margin if measure.margin is not None else None
            return build_record(self, self.part, "all", "all", measure, value, n, why=why, margin=margin)
        tested = measure in _TESTED or measure is F_S_LIKE
        record = build_estimate_record(self, self.part, "all", "all", measure, estimate, n, margin, tested=tested)
        return replace(record, why=why or None)

    def fill_missing_genders(self, weights: Floats, *, rising: bool) -> "_System":
        """Return the system with missing genders replaced by the gender that makes a rate highest.

        `weights` are the weights of the stereotypes in the rate. If `rising` is false, the rate is made lowest.
        """
        groups = {
            number: group.fill_missing_genders((weight > 0) == rising)
            for (number, group), weight in zip(self.groups.items(), weights, strict=True)
        }
        return replace(self, groups=groups)

    def estimate_rate(self, weights: Floats) -> Estimate | None:
        """Estimate a weighted sum of the p_i, with the worst cases of translations without a gender."""
        return self._estimate_with_worst_cases(weights, _System._estimate_given_rate)

    def estimate_random_f_s(self, weights: Floats) -> Estimate | None:
        """Estimate f_s if stereotypes are a random sample; None if there are too few or all have the same rate."""
        return self._estimate_with_worst_cases(weights, _System._estimate_given_random_f_s)

    def _estimate_with_worst_cases(
        self, weights: Floats, estimate: Callable[["_System", Floats], Estimate | None]
    ) -> Estimate | None:
        """Return the result of `estimate`, with its two worst cases if there are translations without a gender."""
        given = estimate(self, weights)
        included = [group for group, weight in zip(self.groups.values(), weights, strict=True) if weight]
        missing = 1 - sum(group.n for group in included) / sum(len(group.gendered) for group in included)
        if given is None or not missing:
            return given
        lowest, highest = (
            estimate(self.fill_missing_genders(weights, rising=rising), weights) for rising in (False, True)
        )
        return given if lowest is None or highest is None else PartialEstimate(given, lowest, highest, missing)

    def _estimate_given_rate(self, weights: Floats) -> WeightedShares:
        """Estimate a rate from the translations with a gender; each p_i is a linear function of the masculine share."""
        counts = np.array([group.counts[0] for group in self.groups.values()], dtype=np.float64)
        sizes = np.array([group.n for group in self.groups.values()], dtype=np.float64)
        constant = float(np.sum(weights * _Z**2 / 2 / (sizes + _Z**2)))
        used = (sizes > 0) & (weights != 0)
        shrunk = (weights * sizes / (sizes + _Z**2))[used]
        groups = [group for group, is_used in zip(self.groups.values(), used, strict=True) if is_used]
        given, ideas = [group.given for group in groups], [group.given_ideas for group in groups]
        error = _compute_sum_error(given, shrunk.tolist(), ideas)
        return WeightedShares(shrunk, counts[used], sizes[used], constant).share_factors(error)

    def _estimate_given_random_f_s(self, weights: Floats) -> Mean | None:
        error = compute_random_error(self.rates, self.male)
        return Mean(float(self.rates @ weights), error) if error else None

    def _build_missing_gender_records(self) -> Iterator[Record]:
        """Yield the records on translations without a gender: stereotypes about men compared with those about women."""
        groups = list(self.groups.values())
        sizes = np.array([len(group.gendered) for group in groups], dtype=np.float64)
        counts = sizes - np.array([group.n for group in groups])
        if not counts.any() or self.male.all() or not self.male.any():
            return
        sides = [float(self._compute_weights(*side) @ (100.0 * counts / sizes)) for side in ((1.0, 0.0), (0.0, 1.0))]
        weights = 100.0 * self._compute_weights(1.0, -1.0)
        missing, ideas = [1 - group.gendered for group in groups], [group.ideas for group in groups]
        error = _compute_sum_error(missing, weights.tolist(), ideas)
        estimate = WeightedShares(weights, counts, sizes).share_factors(error)
        n = int(sizes.sum())
        yield from UNTOLD_GENDERS.build_records(self, estimate, (sides[0], sides[1]), n, intervals=bool(self.resamples))

    def _build_stereotype_records(self) -> Iterator[Record]:
        ranks, rank_ends = compute_average_ranks(self.rates), _compute_rank_intervals([self])
        for index, (number, group) in enumerate(self.groups.items()):
            name = str(number)
            yield self._build_record("stereotype", name, P_I, group.rate, group.n, group.interval, **group.bounds)
            yield self._build_yield_record("stereotype", name, [number])
            ends = rank_ends[index] if rank_ends else None
            yield self._build_record("stereotype", name, "feminine rank", float(ranks[index]), group.n, ends)

    def _build_yield_record(self, view: str, name: str, numbers: Iterable[int]) -> Record:
        gendered, ideas = zip(
            *((self.groups[number].gendered, self.groups[number].ideas) for number in numbers), strict=True
        )
        values = np.concatenate(gendered)
        ends = compute_share_interval(gendered, ideas) if self.resamples else None
        return self._build_record(view, name, YIELD, float(values.mean()), len(values), ends)

    def _compute_weights(self, male: float, female: float) -> Floats:
        return weigh_sides(self.male, male, female)

    def _build_record(
        self,
        view: str,
        group: str,
        measure: Measure | str,
        value: float,
        n: int,
        ends: Interval | None = None,
        **other_fields: Any,
    ) -> Record:
        label = self.stereotypes.get_label(int(group)) if group.isdigit() else None
        return build_record(self, self.part, view, group, measure, value, n, ends=ends, label=label, **other_fields)


def _compute_sum_error(
    groups: Sequence[Floats], weights: Sequence[float], ideas: Sequence[Labels] | None
) -> StandardError:
    """Return the standard error of a weighted sum of shares, with English originals as clusters.

    `groups` has an array of 0 and 1 for each stereotype, and `ideas` the originals; each stereotype is a stratum.
    """
    centred = [weight * (group - group.mean()) / len(group) for group, weight in zip(groups, weights, strict=True)]
    strata = np.repeat(np.arange(len(groups)), [len(group) for group in groups]).astype(object)
    columns = {} if ideas is None else dict.fromkeys(FACTORS, np.concatenate(ideas))
    return compute_standard_error(
        np.concatenate(centred), build_factors(columns, FACTORS), strata if len(groups) > 1 else None
    )


def _build_mean_rank_records(systems: Sequence[_System]) -> Iterator[Record]:
    """Yield the record of each stereotype's mean feminine rank over all pairs of a system and a language."""
    by_benchmark: dict[str, list[_System]] = {}
    for system in systems:
        by_benchmark.setdefault(system.benchmark, []).append(system)
    for group in by_benchmark.values():
        first = group[0]
        if len(group) < 2 or any(system.groups.keys() != first.groups.keys() for system in group):
            continue
        models, languages, protocols = (
            list(dict.fromkeys(getattr(system, name) for system in group)) for name in ("model", "language", "protocol")
        )
        pooled = replace(
            first,
            model=models[0] if len(models) == 1 else ALL_MODELS,
            language=languages[0] if len(languages) == 1 else ALL_LANGUAGES,
            protocol=" + ".join(protocols),
        )
        means = np.mean([compute_average_ranks(system.rates) for system in group], axis=0)
        ends = _compute_rank_intervals(group)
        for index, number in enumerate(first.groups):
            interval = ends[index] if ends else None
            yield pooled._build_record("pairs", str(number), "feminine rank", float(means[index]), len(group), interval)


def _compute_rank_intervals(systems: Sequence[_System]) -> list[Interval] | None:
    """Return the interval of each stereotype's mean rank over systems and languages; None if `resamples` is 0."""
    if not systems[0].resamples:
        return None
    level = compute_comparison_level(len(systems[0].groups), len(systems))
    below = []
    for system in systems:
        counts, sizes = (np.array(column, dtype=np.float64) for column in zip(*system.effective_counts, strict=True))
        below.append(compare_shares(counts, sizes, level))
    return compute_rank_intervals(below, [system.rates for system in systems])


def _group_by_portion(scores: pd.DataFrame, resamples: int) -> Iterator[_System]:
    if "score" not in scores.columns:
        # The column `score` is empty if no translation has a gender, and `measure_scores` drops empty columns.
        scores = scores.assign(score=math.nan)
    require_columns(scores, _COLUMNS)
    require_values(scores, [name for name in _COLUMNS if name != "score"])
    values = scores["score"].to_numpy(dtype=float)
    is_gender = np.isnan(values) | np.isin(values, (MASCULINE, FEMININE))
    reject_rows(scores, ~is_gender, "must be 1 (masculine), 0 (feminine) or empty (no gender)")
    reject_rows(scores, scores["role"] != ROLE, f"must have the role {ROLE}")
    reject_rows(scores, find_rows_without_side(scores), NO_SIDE)
    require_single_scores(scores, (*KEY_COLUMNS, "item"))
    for key, rows in split_by_key(scores):
        rows = rows.sort_values("item")
        values, numbers = rows["score"].to_numpy(dtype=float), rows["stereotype"].to_numpy(dtype=int)
        family = np.zeros(len(rows), dtype=bool)
        if "family_words" in rows.columns:
            family = rows["family_words"].eq(True).to_numpy(dtype=bool)
        stereotypes = StereotypeTable.from_scores(rows)
        ideas = rows[FACTORS[0]].to_numpy(dtype=object) if FACTORS[0] in rows.columns else np.full(len(rows), None)
        groups = {
            number: _build_group(values[numbers == number], ideas[numbers == number])
            for number in sorted(set(numbers.tolist()))
        }
        masks = {name: (rows["sub_stereotype"] == name).to_numpy() for name in list_sub_stereotypes(rows)}
        subs = {name: _build_group(values[mask], ideas[mask]) for name, mask in masks.items()}
        family = family & np.isin(numbers, list(stereotypes.about_men))
        family_group = _build_group(values[family], ideas[family])
        yield _System(*key.names, groups, family_group, resamples, stereotypes, subs)


def _build_group(values: Floats, ideas: Labels) -> _Group:
    return _Group((~np.isnan(values)).astype(float), (values == MASCULINE).astype(float), ideas)
