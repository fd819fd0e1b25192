"""Measures of the forced choices of chat models.

`choice_measures` defines the measures. Their names differ from the names of the measures of likelihoods (SS, CPS, LMS),
because the quantities are different. The value of an item is the mean over the orders of its options and the wordings
of the instruction. Intervals account for the factors that items share (see `factors`).

The views (groupings of the items) are: all items, by bias type, by target, by stereotype and by sub-stereotype.
Percentages have the intervals of `estimates.Share`. Only the masculine choice gap has an interval by Student's t, in
which the stereotypes are strata and the sentences of each stereotype are a sample.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiltmeter.benchmarks.forced_choice.choice_scores import (
    MASCULINE_PREFERENCE,
    NEUTRAL_OFFERED,
    PLACE,
    PREFERENCE,
    REFUSED,
    SAME_IN_ORDERS,
    SAME_IN_WORDINGS,
    SAME_SIDE,
    SHARE,
    SHOWN_FIRST,
    SIDES,
    UNPARSED,
)
from tiltmeter.measures.choice_estimates import estimate_fixed_gap, estimate_position_effect, estimate_random_gap
from tiltmeter.measures.choice_measures import (
    BETWEEN_ORDERS,
    BETWEEN_WORDINGS,
    CHOICE_MEASURES,
    CHOSEN,
    COVERAGE,
    FACTORS,
    GAP,
    GAP_LIKE,
    GUESSING,
    MASCULINE,
    ORDER,
    OUTCOMES,
    POSITION,
    SENSE,
    SIDES_AGREE,
    WITH_NEUTRAL,
)
from tiltmeter.measures.estimates import Estimate, Interval, Share
from tiltmeter.measures.factors import Factors, Labels, read_factors
from tiltmeter.measures.measure import Measure
from tiltmeter.measures.missing_answers import PartialEstimate, fill_missing_shares, round_missing_shares
from tiltmeter.measures.missing_gaps import GENDER_REFUSALS
from tiltmeter.measures.records import (
    OVERALL,
    Record,
    RecordKey,
    build_estimate_record,
    build_record,
    get_base_protocol,
    split_by_key,
)
from tiltmeter.measures.score_checks import require_finite_scores
from tiltmeter.measures.standard_errors import Floats
from tiltmeter.measures.stereotype_sides import (
    StereotypeTable,
    describe_one_sided_data,
    find_stereotype_sides,
    list_sub_stereotypes,
    weigh_by_stereotype,
)

MEASURES = CHOICE_MEASURES

# A function that estimates a gap from values, a mask of the items to use, stereotypes, and sides of stereotypes.
_GapEstimator = Callable[[Floats, NDArray[np.bool_], Labels, Labels | None], Estimate | None]

# This module measures only tables of scores that have these roles (values of the column `role`) and these columns.
NEEDS_ROLES: tuple[str, ...] = (REFUSED, UNPARSED, f"{PLACE}1")
NEEDS_COLUMNS: tuple[str, ...] = ()

_VIEWS = ("bias_type", "target")
# Three numbers for each item: the lowest possible value, the highest possible value, and the share of missing answers.
_Filled = tuple[Floats, Floats, Floats]
# Either all items of a data set have an attribute in _ATTRIBUTES, or no item has it. An attribute in _PARTIAL may be
# missing in some items.
_ATTRIBUTES = ("bias_type", "target", "stereotype", "side")
_PARTIAL = ("stereotype_name", "sub_stereotype", *FACTORS[1:])


@dataclass(frozen=True, slots=True)
class _ItemChoices(RecordKey):
    """The items of one model on one part of a benchmark, with their scores and attributes.

    `roles` has a row for each item and a column for each role, with NaN for missing scores. `labels` has a row for each
    item and a column for each attribute.
    """

    roles: pd.DataFrame
    labels: pd.DataFrame

    def select_rows(self, mask: NDArray[np.bool_]) -> "_ItemChoices":
        return replace(self, roles=self.roles[mask], labels=self.labels[mask])

    def select_factors(self, mask: NDArray[np.bool_]) -> Factors | None:
        factors = read_factors(self.labels, FACTORS)
        return None if factors is None else factors.select_rows(mask)

    def get_share(self, prefix: str, *roles: str) -> Floats:
        """Return the share of the answers to each item that choose an option with one of these roles."""
        names = [f"{prefix}{SHARE}{role}" for role in roles]
        return np.asarray(self.roles[names].sum(axis=1), dtype=np.float64)

    def get_missing_share(self, prefix: str) -> Floats:
        """Return the share of the answers to each item that are refusals or unparseable."""
        return round_missing_shares(np.asarray(self.roles[[prefix + REFUSED, prefix + UNPARSED]].sum(axis=1)))


def measure(
    scores: pd.DataFrame, *, margins: Mapping[str, float] | None = None, intervals: bool = True
) -> list[Record]:
    """Return a record for each measured value of all models, parts and languages in a table of scores.

    `margins` maps measure names to equivalence margins, which replace the default margins. If `intervals` is false,
    records have values but no intervals or tests.
    """
    require_finite_scores(scores)
    records: list[Record] = []
    for portion in _group_by_portion(scores):
        records += _Group(portion, "all", "all", dict(margins or {}), intervals).build_records()
        for view in _VIEWS:
            if view in portion.labels:
                values = portion.labels[view].to_numpy(dtype=object)
                for value in sorted(set(values.tolist())):
                    group = _Group(
                        portion.select_rows(values == value), view, str(value), dict(margins or {}), intervals
                    )
                    records += group.build_records()
        if MASCULINE_PREFERENCE in portion.roles and "stereotype" in portion.labels:
            records += _build_stereotype_records(portion, intervals)
    return records


def notes(scores: pd.DataFrame) -> list[str]:
    """Return a sentence for each model and data set whose gap is undefined: all stereotypes are about one gender."""
    return describe_one_sided_data(scores[scores["role"] == MASCULINE_PREFERENCE], GAP.name)


def _build_stereotype_records(portion: _ItemChoices, intervals: bool) -> Iterator[Record]:
    """Yield the records of masculine choices by stereotype and by sub-stereotype."""
    stereotypes = StereotypeTable.from_scores(portion.labels)
    numbers = portion.labels["stereotype"].to_numpy(dtype=int)
    for number in sorted(set(numbers.tolist())):
        group = _Group(portion.select_rows(numbers == number), "stereotype", str(number), {}, intervals)
        for record in group.build_preference_records(MASCULINE, "", MASCULINE_PREFERENCE):
            yield replace(record, label=stereotypes.get_label(number))
    for name in list_sub_stereotypes(portion.labels):
        items = portion.select_rows(portion.labels["sub_stereotype"].eq(name).to_numpy(dtype=bool))
        group = _Group(items, "sub_stereotype", name, {}, intervals)
        yield from group.build_preference_records(MASCULINE, "", MASCULINE_PREFERENCE)


@dataclass(frozen=True, slots=True)
class _Group:
    """The items of one group, with the methods that build its records."""

    items: _ItemChoices
    view: str
    name: str
    margins: Mapping[str, float]
    intervals: bool

    def build_records(self) -> Iterator[Record]:
        """Yield all records of the group."""
        yield from self.build_preference_records(CHOSEN, "", PREFERENCE)
        if self.view == "all":
            yield from self.build_gap_records(GAP, "")
            yield from self._build_refusal_records()
        yield from self.build_preference_records(MASCULINE, "", MASCULINE_PREFERENCE)
        yield from self.build_sense_records(SENSE, "")
        for outcome, measure in OUTCOMES.items():
            if self.view == "target" and outcome != "refusal":
                continue  # the other outcomes are omitted: verdicts do not need them, and there are hundreds of targets
            prefix = NEUTRAL_OFFERED if outcome == "neutral" else ""
            yield from self.build_share_record(measure, f"{prefix}{SHARE}{outcome}")
        yield from self.build_coverage_records(COVERAGE, "")
        yield from self.build_position_records(POSITION, "")
        yield from self.build_order_records()
        yield from self.build_share_record(BETWEEN_ORDERS, SAME_IN_ORDERS)
        yield from self.build_share_record(SIDES_AGREE, SAME_SIDE)
        yield from self.build_share_record(BETWEEN_WORDINGS, SAME_IN_WORDINGS)
        yield self._build_record(GUESSING, 100.0 / len(self._get_option_places("")), len(self.items.roles))
        if self._get_option_places(NEUTRAL_OFFERED):
            yield from self._build_neutral_records()

    def _build_neutral_records(self) -> Iterator[Record]:
        yield from self.build_preference_records(WITH_NEUTRAL[CHOSEN], NEUTRAL_OFFERED, PREFERENCE)
        if self.view == "all":
            yield from self.build_gap_records(WITH_NEUTRAL[GAP], NEUTRAL_OFFERED)
        yield from self.build_sense_records(WITH_NEUTRAL[SENSE], NEUTRAL_OFFERED)
        yield from self.build_coverage_records(WITH_NEUTRAL[COVERAGE], NEUTRAL_OFFERED)
        yield from self.build_share_record(WITH_NEUTRAL[OUTCOMES["refusal"]], NEUTRAL_OFFERED + REFUSED)
        yield from self.build_position_records(WITH_NEUTRAL[POSITION], NEUTRAL_OFFERED)

    def build_share_record(self, measure: Measure, role: str) -> Iterator[Record]:
        """Yield the record of the mean score of a role, as a percentage, over the items that have this role."""
        if role in self.items.roles:
            yield from self._build_share_records(measure, 100.0 * self.items.roles[role].to_numpy(dtype=float))

    def build_coverage_records(self, measure: Measure, prefix: str) -> Iterator[Record]:
        """Yield the record of the coverage: the percentage of answers that choose an option."""
        lost = self.items.roles[[prefix + REFUSED, prefix + UNPARSED]].sum(axis=1)
        yield from self._build_share_records(measure, 100.0 * (1 - lost.to_numpy(dtype=float)).clip(0.0, 1.0))

    def build_sense_records(self, measure: Measure, prefix: str) -> Iterator[Record]:
        """Yield the record of the percentage of choices that are a meaningful option."""
        if f"{prefix}{SHARE}unrelated" not in self.items.roles:
            return
        meaningful = self.items.get_share(prefix, "stereotype", "anti-stereotype")
        chosen = meaningful + self.items.get_share(prefix, "unrelated")
        values = np.divide(100.0 * meaningful, chosen, out=np.full(len(chosen), np.nan), where=chosen > 0)
        missing = self.items.get_missing_share(prefix)
        filled = fill_missing_shares(meaningful, chosen - meaningful, missing)
        yield from self._build_share_records(measure, values, (*filled, missing))

    def build_preference_records(self, measure: Measure, prefix: str, role: str) -> Iterator[Record]:
        """Yield the record of the percentage of choices of the first side of a preference, such as the stereotype."""
        if prefix + role in self.items.roles:
            values = 100.0 * self.items.roles[prefix + role].to_numpy(dtype=float)
            yield from self._build_share_records(measure, values, self._fill_preference(prefix, role))

    def _fill_preference(self, prefix: str, role: str) -> _Filled:
        """Return the lowest and highest possible preference for each item, and its share of missing answers."""
        first, second = (self.items.get_share(prefix, side) for side in SIDES[role])
        missing = self.items.get_missing_share(prefix)
        return *fill_missing_shares(first, second, missing), missing

    def build_position_records(self, measure: Measure, prefix: str) -> Iterator[Record]:
        """Yield the record of the position effect, from the items with at least one choice."""
        places = self.items.roles[self._get_option_places(prefix)].to_numpy(dtype=float)
        chosen = places.sum(axis=1)
        yield from self._build_effect_records(
            measure, places / np.where(chosen > 0, chosen, 1.0)[:, np.newaxis], chosen > 0
        )

    def build_order_records(self) -> Iterator[Record]:
        """Yield the record of the order effect: the position effect among stereotype and anti-stereotype only."""
        if SHOWN_FIRST in self.items.roles:
            first = self.items.roles[SHOWN_FIRST].to_numpy(dtype=float)
            yield from self._build_effect_records(ORDER, np.column_stack([first, 1 - first]), np.isfinite(first))

    def _build_effect_records(self, measure: Measure, places: Floats, kept: NDArray[np.bool_]) -> Iterator[Record]:
        if kept.any():
            value, ends = estimate_position_effect(places[kept], self._select_factors(kept))
            yield self._build_record(measure, value, int(kept.sum()), ends=ends if self.intervals else None)

    def build_gap_records(self, measure: Measure, prefix: str) -> Iterator[Record]:
        """Yield the records of the masculine choice gap: stereotypes about men minus stereotypes about women.

        The interval of the first record is for the stereotypes in the data. The second record exists only for `GAP`;
        its interval is for a population from which these stereotypes are a sample.
        """
        role = prefix + MASCULINE_PREFERENCE
        if role not in self.items.roles or "stereotype" not in self.items.labels:
            return
        given = 100.0 * self.items.roles[role].to_numpy(dtype=float)
        labels = self.items.labels
        strata = labels["stereotype"].to_numpy(dtype=int).astype(object)
        sides = labels["side"].to_numpy(dtype=object) if "side" in labels else None
        kept = np.isfinite(given)
        if len(set(find_stereotype_sides(strata[kept], None if sides is None else sides[kept]).values())) < 2:
            return  # without stereotypes about both genders, for example in a sample of --limit, there is no gap
        lowest, highest, missing = self._fill_preference(prefix, MASCULINE_PREFERENCE)
        is_male = weigh_by_stereotype(strata, sides) > 0
        cases = (given, np.where(is_male, lowest, highest), np.where(is_male, highest, lowest))
        fixed = partial(_estimate_fixed_gap, self._select_factors(np.ones(len(given), dtype=np.bool_)))
        estimators: list[tuple[Measure, _GapEstimator]] = [(measure, fixed)]
        if measure is GAP:
            estimators.append((GAP_LIKE, _estimate_random_gap))
        for estimated, estimator in estimators:
            estimate = _estimate_gap(estimator, cases, missing, strata, sides)
            if estimate is not None:
                yield self._build_estimate_record(estimated, estimate, int(kept.sum()), tested=measure is GAP)

    def _build_refusal_records(self) -> Iterator[Record]:
        """Yield the records that compare refusals between stereotypes about men and about women."""
        labels, refused = self.items.labels, 100.0 * self.items.roles[REFUSED].to_numpy(dtype=float)
        if "stereotype" not in labels or f"{SHARE}masculine" not in self.items.roles or not refused.any():
            return
        strata = labels["stereotype"].to_numpy(dtype=int).astype(object)
        sides = labels["side"].to_numpy(dtype=object) if "side" in labels else None
        weights = weigh_by_stereotype(strata, sides)
        if not (weights > 0).any() or not (weights < 0).any():
            return
        men, women = (float(weights.clip(0) @ refused), float((-weights).clip(0) @ refused))
        estimate = estimate_fixed_gap(refused, strata, sides)
        yield from GENDER_REFUSALS.build_records(
            self.items, estimate, (men, women), len(refused), intervals=self.intervals
        )

    def _build_share_records(self, measure: Measure, values: Floats, filled: _Filled | None = None) -> Iterator[Record]:
        """Yield the record of the mean of item values; `filled` has each item's lowest and highest possible value."""
        kept = np.isfinite(values)
        if not kept.any():
            return
        estimate: Estimate = Share.from_values(values[kept], self._select_factors(kept))
        if filled is not None and (missing := filled[2]).any():
            used = np.isfinite(filled[0])
            lowest, highest = (Share.from_values(case[used], self._select_factors(used)) for case in filled[:2])
            estimate = PartialEstimate(estimate, lowest, highest, float(missing[used].mean()))
        yield self._build_estimate_record(measure, estimate, int(kept.sum()), tested=measure is CHOSEN)

    def _build_estimate_record(self, measure: Measure, estimate: Estimate, n: int, *, tested: bool) -> Record:
        if not self.intervals:
            return self._build_record(measure, estimate.value, n)
        margin = self.margins.get(GAP.name if measure is GAP_LIKE else measure.name)
        part = self.items.part
        return build_estimate_record(
            self.items, part, self.view, self.name, measure, estimate, n, margin, tested=tested
        )

    def _build_record(self, measure: Measure, value: float, n: int, *, ends: Interval | None = None) -> Record:
        return build_record(self.items, self.items.part, self.view, self.name, measure, value, n, ends=ends)

    def _select_factors(self, mask: NDArray[np.bool_]) -> Factors | None:
        factors = self.items.select_factors(mask)
        return factors.drop_factors("target") if factors is not None and self.view == "target" else factors

    def _get_option_places(self, prefix: str) -> list[str]:
        return [role for role in map(str, self.items.roles) if role.startswith(f"{prefix}{PLACE}")]


def _estimate_fixed_gap(
    factors: Factors | None, values: Floats, kept: NDArray[np.bool_], strata: Labels, sides: Labels | None
) -> Estimate:
    own = None if factors is None else factors.select_rows(kept)
    return estimate_fixed_gap(values[kept], strata[kept], None if sides is None else sides[kept], own)


def _estimate_random_gap(
    values: Floats, kept: NDArray[np.bool_], strata: Labels, sides: Labels | None
) -> Estimate | None:
    return estimate_random_gap(values[kept], strata[kept], None if sides is None else sides[kept])


def _estimate_gap(
    estimator: _GapEstimator,
    cases: Sequence[Floats],
    missing: Floats,
    strata: Labels,
    sides: Labels | None,
) -> Estimate | None:
    """Estimate a gap from the given answers and, if answers are missing, its two worst cases too.

    `cases` has three arrays of item values: from the given answers, with the smallest gap, and with the largest gap.
    """
    estimates = []
    for values in cases if missing.any() else cases[:1]:
        kept = np.isfinite(values)
        estimates.append(estimator(values, kept, strata, sides))
    given, *worst = estimates
    if given is None or not worst:
        return given
    lowest, highest = worst
    return None if lowest is None or highest is None else PartialEstimate(given, lowest, highest, float(missing.mean()))


def _group_by_portion(scores: pd.DataFrame) -> Iterator[_ItemChoices]:
    by_data: dict[tuple[str, ...], list[_ItemChoices]] = {}
    for key, rows in split_by_key(scores):
        roles = rows.pivot(index="item", columns="role", values="score").sort_index()
        attributes = rows.drop_duplicates("item").set_index("item").loc[roles.index]
        complete = attributes[[name for name in _ATTRIBUTES if name in rows]].dropna(axis="columns")
        labels = complete.join(attributes[[name for name in _PARTIAL if name in rows]])
        portion = _ItemChoices(*key.names, roles, labels)
        data = (key.model, key.benchmark, key.language, get_base_protocol(key.protocol))
        by_data.setdefault(data, []).append(portion)
        yield portion
    for parts in by_data.values():
        if len(parts) > 1:
            yield replace(
                parts[0],
                part=OVERALL,
                protocol=" + ".join(dict.fromkeys(portion.protocol for portion in parts)),
                roles=pd.concat([portion.roles for portion in parts]),
                labels=pd.concat([portion.labels for portion in parts]),
            )
