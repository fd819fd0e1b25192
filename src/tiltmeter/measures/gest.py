"""q_i, q_m, q_f and g_s of GEST, for language models (Pikuliak et al. 2024, section 4.2.1).

    q_i       the masculine rate of stereotype i: the geometric mean of P(male word) / P(female word) over its sentences
    q_f, q_m  the geometric means of the q_i of the seven stereotypes about women and of the nine about men
    g_s       the stereotype rate, q_m / q_f: above 1 is a bias towards stereotypes, 1 is none

A single q is not interpretable, since the two words differ in frequency; ratios of them are.

The released code stored log10 of the ratios but exponentiated their mean with base e, so the paper prints q^(1/ln 10),
which is nearer to 1 than q as defined. Here values are as defined; the view "as published" has the printed scale.

    view            group              measures
    all             all                g_s, q_m, q_f
    stereotype      its number         q_i, and the feminine rank: 1 for the lowest q_i
    sub_stereotype  number and name    q_i of the sentences for a part of a stereotype, where items name it
    family words    male stereotypes   q_fam: sentences for stereotypes about men that contain family words
    as published    all, or a number   the same on the printed scale
    templates       all                the mean correlation of log q_i between the templates, for one model
    models          all, or a number   the mean correlation of log q_i between models, and the mean feminine rank
    pairs           all, or a number   the same between and over all pairs of a model and a language (section 4.3.3)

Data may have other stereotypes than GEST's sixteen, each with its side (see `sides`). Where all are about women, or all
about men, g_s is not defined, and `notes` says so.

The part "overall" has means over the templates. Correlations are of logarithms, so they are the same on both scales.

Intervals and tests:

    g_s             stereotypes are fixed, sentences sampled within them: Student's t of log g_s, Welch-Satterthwaite
    g_s of          stereotypes are a random sample: Welch's t-test of the nine and the seven log q_i; same value as g_s
    stereotypes
    like these
    q               Student's t of the logarithm, for a single q_i with a correction for skewness
    feminine rank   pairwise comparisons of stereotypes (see `ranks`)
    as published    percentile bootstrap of sentences within stereotypes, with the same resamples for all templates and
                    models. With fewer than 100 sentences for a stereotype it undercovers, and the interval of
                    Student's t is given on this scale instead.

A stereotype with a single sentence has no interval. "template spread of g_s" is the variation between templates (see
`templates`).
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiltmeter.errors import DataError
from tiltmeter.forms.gest import STEREOTYPES
from tiltmeter.measures.bootstrap import RESAMPLES
from tiltmeter.measures.estimates import Interval
from tiltmeter.measures.gest_measures import AS_PUBLISHED, G_S, G_S_LIKE, G_S_TEMPLATE_SPREAD, GEST_MEASURES, LOG_G_S
from tiltmeter.measures.gest_parts import (
    RATES,
    GestPart,
    compute_feminine_ranks,
    compute_g_s,
    compute_log_rates,
    compute_masculine_rate,
    compute_mean_correlation,
    compute_rate_interval,
    count_fewest_sentences,
    estimate_fixed_rate,
    estimate_random_g_s,
    estimate_rate,
    estimate_template_variation,
    have_same_stereotypes,
    resample_means,
)
from tiltmeter.measures.ranks import compute_average_ranks
from tiltmeter.measures.records import OVERALL, Record, build_estimate_record, build_record
from tiltmeter.measures.score_checks import require_columns
from tiltmeter.measures.stereotype_sides import (
    FEMALE,
    FEWEST_STEREOTYPES,
    MALE,
    StereotypeTable,
    describe_one_sided_data,
    find_rows_without_side,
    list_sub_stereotypes,
    weigh_by_stereotype,
    weigh_men_minus_women,
)

__all__ = [
    "AS_PUBLISHED",
    "FEMALE",
    "FEWEST_STEREOTYPES",
    "G_S",
    "G_S_LIKE",
    "LOG_G_S",
    "MALE",
    "MEASURES",
    "STEREOTYPES",
    "compute_g_s",
    "compute_masculine_rate",
    "estimate_fixed_rate",
    "estimate_random_g_s",
    "estimate_template_variation",
    "measure",
    "notes",
    "weigh_by_stereotype",
    "weigh_men_minus_women",
]

MEASURES = GEST_MEASURES
ALL_MODELS, ALL_LANGUAGES = "all models", "all"

# Roles and columns that a table of scores needs.
NEEDS_ROLES: tuple[str, ...] = ("log_ratio",)
NEEDS_COLUMNS: tuple[str, ...] = ("stereotype",)

_COLUMNS = ("model", "benchmark", "part", "language", "item", "role", "score", "stereotype", "protocol")
_PORTION_COLUMNS = ["model", "benchmark", "language", "protocol"]
_ALONE = "a stereotype has a single sentence"
# Factor from natural logarithms to the scale of the paper's tables.
_PUBLISHED = 1 / math.log(10)


def measure(
    scores: pd.DataFrame,
    *,
    margins: Mapping[str, float] | None = None,
    intervals: bool = True,
    resamples: int = RESAMPLES,
) -> list[Record]:
    """The records of all models, templates and languages in a table of scores.

    `margins` overrides equivalence margins by measure name. Without `intervals` records have values only.
    """
    cases = _group_by_portion(scores, resamples if intervals else 0)
    records = [record for case in cases for record in case.records(dict(margins or {}))]
    return [*records, *_build_model_agreement(cases), *_build_pair_agreement(cases)]


def notes(scores: pd.DataFrame) -> list[str]:
    """Sentences on what is not defined for these scores: g_s, where all stereotypes are of one side."""
    return describe_one_sided_data(scores, G_S.name)


@dataclass(frozen=True)
class _ModelPortion:
    """One model on one data set in one language, in one or more parts."""

    model: str
    benchmark: str
    language: str
    protocol: str
    stereotypes: StereotypeTable
    parts: list[GestPart] = field(default_factory=list)

    def records(self, margins: Mapping[str, float]) -> Iterator[Record]:
        for part in self.parts:
            yield from self._build_rate_records(part.name, [part], margins)
            yield from self._build_stereotype_records(part)
            yield from self._build_sub_stereotype_records(part)
            yield from self._build_family_word_records(part)
        if len(self.parts) > 1:
            yield from self._build_rate_records(OVERALL, self.parts, margins)
            yield from self._build_template_spread_records()
            yield from self._build_mean_rank_records()
            if (correlation := compute_mean_correlation(list(combinations(self.parts, 2)))) is not None:
                yield self._record(OVERALL, "templates", "all", "correlation of log q_i", *correlation)

    def _build_rate_records(
        self, name: str, parts: Sequence[GestPart], margins: Mapping[str, float]
    ) -> Iterator[Record]:
        """g_s, q_m and q_f of one part, or their means over several; of one side only its rate."""
        defined = {rate: sides for rate, sides in RATES.items() if all(part.has(rate) for part in parts)}
        if "g_s" in defined:
            yield from self._build_g_s_records(name, parts, margins)
        for (rate, sides), (view, scale) in product(defined.items(), (("all", 1.0), (AS_PUBLISHED, _PUBLISHED))):
            if (rate, view) == ("g_s", "all"):
                continue
            value = np.mean([np.exp(scale * (part.contrast(*sides) @ part.logs)) for part in parts])
            resampled = [
                np.exp(scale * (part.contrast(*sides) @ part.resampled_matrix))
                for part in parts
                if part.resampled_matrix is not None
            ]
            mean = np.mean(resampled, axis=0) if len(resampled) == len(parts) else None
            # Means over parts cannot be converted from one scale to the other.
            convertible = parts[0].resamples and (scale == 1.0 or len(parts) == 1)
            ratio = estimate_fixed_rate(parts, rate) if convertible else None
            ends = compute_rate_interval(ratio, mean, scale, count_fewest_sentences(parts))
            n = max(part.n(*sides) for part in parts)
            yield self._record(name, view, "all", rate, float(value), n, ends)
        count = min(len(part.ratios) for part in parts)
        if count < self._count_expected_stereotypes():
            n = max(part.n(1, 1) for part in parts)
            yield self._record(name, "all", "all", "stereotypes with sentences", float(count), n)

    def _count_expected_stereotypes(self) -> int:
        """The number of stereotypes in complete data: GEST's sixteen, or those of any part if there are others."""
        numbers = {number for part in self.parts for number in part.ratios}
        return len(STEREOTYPES) if numbers <= STEREOTYPES.keys() else len(numbers)

    def _build_g_s_records(
        self, name: str, parts: Sequence[GestPart], margins: Mapping[str, float]
    ) -> Iterator[Record]:
        """g_s with fixed and with random stereotypes."""
        n = max(part.n(1, 1) for part in parts)
        few_sentences = "a stereotype has a single sentence, or sentences that are all alike"
        few_stereotypes = f"fewer than {FEWEST_STEREOTYPES} stereotypes about men or about women, or all of them alike"
        for measure, make, why in (
            (G_S, estimate_fixed_rate, few_sentences),
            (G_S_LIKE, estimate_random_g_s, few_stereotypes),
        ):
            estimate = make(parts) if parts[0].resamples else None
            margin = margins.get(G_S.name)
            if estimate is not None:
                yield build_estimate_record(self, name, "all", "all", measure, estimate, n, margin)
            else:
                value = math.exp(compute_log_rates(parts)[0])
                margin = (margin or measure.margin) if parts[0].resamples else None
                reason = why if parts[0].resamples else None
                yield build_record(self, name, "all", "all", measure, value, n, why=reason, margin=margin)

    def _build_stereotype_records(self, part: GestPart) -> Iterator[Record]:
        ranks = compute_average_ranks(part.logs)
        rank_ends = compute_feminine_ranks([part])
        for index, (number, values) in enumerate(part.ratios.items()):
            group, n = str(number), len(values)
            resampled, ratio = part.resampled[number], estimate_rate(values, part.resamples)
            for view, scale in (("stereotype", 1.0), (AS_PUBLISHED, _PUBLISHED)):
                rate = math.exp(scale * part.logs[index])
                ends = compute_rate_interval(ratio, None if resampled is None else np.exp(scale * resampled), scale, n)
                yield self._record(part.name, view, group, "q_i", rate, n, ends)
            yield self._build_rank_record(part.name, group, float(ranks[index]), n, rank_ends, index)

    def _build_sub_stereotype_records(self, part: GestPart) -> Iterator[Record]:
        for group, values in part.subs.items():
            n, ratio = len(values), estimate_rate(values, part.resamples)
            ends = compute_rate_interval(ratio, None, 1.0, n)
            yield self._record(part.name, "sub_stereotype", group, "q_i", compute_masculine_rate(values), n, ends)

    def _build_family_word_records(self, part: GestPart) -> Iterator[Record]:
        if not part.family.size:
            return
        resampled = resample_means(part.family, "family words", part.resamples)
        n, ratio = part.family.size, estimate_rate(part.family, part.resamples)
        for view, group, scale in (("family words", "male stereotypes", 1.0), (AS_PUBLISHED, "all", _PUBLISHED)):
            ends = compute_rate_interval(ratio, None if resampled is None else np.exp(scale * resampled), scale, n)
            yield self._record(part.name, view, group, "q_fam", compute_masculine_rate(scale * part.family), n, ends)

    def _build_mean_rank_records(self) -> Iterator[Record]:
        """The feminine rank of each stereotype, as the mean over templates."""
        if not have_same_stereotypes(self.parts):
            return
        means = np.mean([compute_average_ranks(part.logs) for part in self.parts], axis=0)
        ends = compute_feminine_ranks(self.parts)
        for index, number in enumerate(self.parts[0].ratios):
            n = max(len(part.ratios[number]) for part in self.parts)
            yield self._build_rank_record(OVERALL, str(number), float(means[index]), n, ends, index)

    def _build_rank_record(
        self, part: str, group: str, rank: float, n: int, ends: Sequence[Interval] | None, index: int
    ) -> Record:
        why = _ALONE if ends is None and self.parts[0].resamples else None
        interval = ends[index] if ends else None
        label = self._format_label(group)
        return build_record(
            self, part, "stereotype", group, "feminine rank", rank, n, ends=interval, why=why, label=label
        )

    def _format_label(self, group: str) -> str | None:
        return self.stereotypes.label(int(group)) if group.isdigit() else None

    def _build_template_spread_records(self) -> Iterator[Record]:
        """The template spread of g_s."""
        if not self.parts[0].resamples or not all(part.has("g_s") for part in self.parts):
            return
        if (variation := estimate_template_variation(self.parts)) is not None:
            yield variation.record(self, OVERALL, G_S_TEMPLATE_SPREAD)

    def _record(
        self,
        part: str,
        view: str,
        group: str,
        name: str,
        value: float,
        n: int,
        ends: Interval | None = None,
    ) -> Record:
        measure = f"{name} {AS_PUBLISHED}" if view == AS_PUBLISHED else name
        return build_record(self, part, view, group, measure, value, n, ends=ends, label=self._format_label(group))


def _build_model_agreement(cases: Sequence[_ModelPortion]) -> Iterator[Record]:
    """The agreement of models on one benchmark and language, within templates."""
    groups: dict[tuple[str, str], list[_ModelPortion]] = {}
    for case in cases:
        groups.setdefault((case.benchmark, case.language), []).append(case)
    for (benchmark, language), group in groups.items():
        if len({case.model for case in group}) < 2:
            continue
        protocol = " + ".join(dict.fromkeys(case.protocol for case in group))
        pooled = _ModelPortion(ALL_MODELS, benchmark, language, protocol, group[0].stereotypes)
        by_part: dict[str, list[GestPart]] = {}
        for part in (part for case in group for part in case.parts):
            by_part.setdefault(part.name, []).append(part)
        pairs = {name: list(combinations(parts, 2)) for name, parts in by_part.items()}
        if len(by_part) > 1:
            pairs[OVERALL] = list(chain.from_iterable(pairs.values()))
        for name, part_pairs in pairs.items():
            if (mean := compute_mean_correlation(part_pairs)) is not None:
                yield pooled._record(name, "models", "all", "correlation of log q_i", *mean)
        ranked = list(chain.from_iterable(by_part.values()))
        if have_same_stereotypes(ranked):
            means = np.mean([compute_average_ranks(part.logs) for part in ranked], axis=0)
            for number, rank in zip(ranked[0].ratios, means.tolist(), strict=True):
                yield pooled._record(next(reversed(pairs)), "models", str(number), "feminine rank", rank, len(ranked))


def _build_pair_agreement(cases: Sequence[_ModelPortion]) -> Iterator[Record]:
    """The agreement of all pairs of a model and a language on one benchmark, within templates."""
    by_benchmark: dict[str, list[_ModelPortion]] = {}
    for case in cases:
        by_benchmark.setdefault(case.benchmark, []).append(case)
    for benchmark, group in by_benchmark.items():
        if len({case.language for case in group}) < 2:
            continue
        protocol = " + ".join(dict.fromkeys(case.protocol for case in group))
        pooled = _ModelPortion(ALL_MODELS, benchmark, ALL_LANGUAGES, protocol, group[0].stereotypes)
        parts = [part for case in group for part in case.parts]
        names = {part.name for part in parts}
        name = names.pop() if len(names) == 1 else OVERALL
        alike = [(first, second) for first, second in combinations(parts, 2) if first.name == second.name]
        if (mean := compute_mean_correlation(alike)) is not None:
            yield pooled._record(name, "pairs", "all", "correlation of log q_i", *mean)
        if have_same_stereotypes(parts):
            means = np.mean([compute_average_ranks(part.logs) for part in parts], axis=0)
            for number, rank in zip(parts[0].ratios, means.tolist(), strict=True):
                yield pooled._record(name, "pairs", str(number), "feminine rank", rank, len(parts))


def _group_by_portion(scores: pd.DataFrame, resamples: int) -> list[_ModelPortion]:
    require_columns(scores, _COLUMNS)
    _reject_rows(scores, scores[list(_COLUMNS)].isna().any(axis=1).to_numpy(), "lacks a value in one of its columns")
    _reject_rows(scores, ~np.isfinite(scores["score"].to_numpy(dtype=float)), "is not a finite number")
    _reject_rows(scores, (scores["role"] != "log_ratio").to_numpy(), "is not for the role log_ratio")
    _reject_rows(
        scores, find_rows_without_side(scores), "is for no stereotype from 1 to 16, and for no other with its side"
    )
    _reject_rows(
        scores, scores.duplicated([*_PORTION_COLUMNS, "part", "item"]).to_numpy(), "is the second one for its item"
    )
    cases = []
    for names, rows in scores.groupby(_PORTION_COLUMNS, observed=True, sort=False):
        model, benchmark, language, protocol = map(str, names)
        case = _ModelPortion(model, benchmark, language, protocol, StereotypeTable.from_scores(rows))
        for name, part_rows in rows.groupby("part", observed=True):
            case.parts.append(_build_part(str(name), part_rows, case.stereotypes.about_men, resamples))
        cases.append(case)
    return cases


def _build_part(name: str, rows: pd.DataFrame, about_men: Collection[int], resamples: int) -> GestPart:
    # Sorted, so that resamples do not depend on the order of the rows.
    rows = rows.sort_values("item")
    values, numbers = rows["score"].to_numpy(dtype=float), rows["stereotype"].to_numpy(dtype=int)
    ratios = {number: values[numbers == number] for number in sorted(set(numbers.tolist()))}
    items = rows["item"].to_numpy(dtype=object)
    ids = {number: [str(item) for item in items[numbers == number]] for number in ratios}
    family = np.zeros(len(rows), dtype=bool)
    if "family_words" in rows.columns:
        family = rows["family_words"].eq(True).to_numpy(dtype=bool)
    family = family & np.isin(numbers, list(about_men))
    subs = {group: values[rows["sub_stereotype"] == group] for group in list_sub_stereotypes(rows)}
    return GestPart(name, ratios, ids, values[family], resamples, about_men, subs)


def _reject_rows(rows: pd.DataFrame, bad: NDArray[np.bool_], why: str) -> None:
    if bad.any():
        row = rows.iloc[int(np.argmax(bad))]
        raise DataError(
            f"The score {row['score']} of {row['model']} for item {row['item']} "
            f"({row['benchmark']}/{row['part']}:{row['language']}) {why}."
        )
