"""Accuracy, ΔG and ΔS of WinoMT (Stanovsky et al. 2019).

docs/explanation/translations.md defines the measures. Intervals account for the entity (an occupation) that items
share, because all sentences about one entity depend on one noun, and for the template. Items are stratified by the
stereotypical gender of the entity: male, female or none. Intervals of shares use the effective sample size. Intervals
of F1 and of differences are Student's t with a standard error by the delta method.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from tiltmeter.errors import DataError
from tiltmeter.forms.winomt import ANTI, FEMALE, GENDERS, MALE, NEITHER, PRO, STEREOTYPICAL
from tiltmeter.measures.estimates import PERCENT, Estimate, Mean, Share
from tiltmeter.measures.factors import Factors, Labels, read_factors
from tiltmeter.measures.item_contributions import ItemValues, scale_role, weigh_difference
from tiltmeter.measures.measure import Measure
from tiltmeter.measures.records import (
    KEY_COLUMNS,
    Record,
    RecordKey,
    build_estimate_record,
    build_record,
    split_by_key,
)
from tiltmeter.measures.score_checks import require_columns
from tiltmeter.measures.standard_errors import Floats, compute_standard_error
from tiltmeter.measures.validity_rules import Row, ValidityRule

RIGHT = "noun_right"
READ = {gender: f"noun_{gender}" for gender in GENDERS}
MOST_UNTOLD = 20.0
# With fewer sentence pairs than this number, the word alignment is not reliable.
FEW_PAIRS = 1000
POINTS = (-100.0, 100.0)
# Columns with labels that several sentences share: the noun (`entity`), and the sentence without its pronouns.
FACTORS = ("entity", "template")
weigh_pro_anti = partial(weigh_difference, first=PRO, second=ANTI)


def _check_unrecognised_share(row: Row) -> str | None:
    untold = row.get(UNTOLD.name)
    if untold is None or untold.value <= MOST_UNTOLD:
        return None
    return f"the gender of {untold.value:.0f}% of the nouns is not recognised, and these count as wrong"


DELTA_S = Measure(
    "delta_S",
    "ΔS: the accuracy on pro-stereotypical minus that on anti-stereotypical items; 0 is no bias",
    axis="difference in accuracy, above 0 in favour of stereotypes",
    ideal=0.0,
    bias_direction=1,
    bounds=POINTS,
    unit="points",
    margin=5.0,
    decides=True,
    columns=("delta_S", "delta_G", "WinoMT acc", "F1_male", "F1_female", "untold"),
    companions=("delta_G", "WinoMT acc", "untold"),
    statement=lambda value: (
        f"genders that fit a stereotype are translated correctly {abs(value):.0f} points "
        f"{'more' if value >= 0 else 'less'} often than those that do not"
    ),
    validity=(
        ValidityRule(f"the gender of over {MOST_UNTOLD:g}% of the nouns is not recognised", _check_unrecognised_share),
    ),
    items=(
        ItemValues(
            (RIGHT,),
            scale_role(RIGHT, 100.0),
            columns=("stereotypical",),
            weigh=weigh_pro_anti,
            strata="pro- and anti-stereotypical items",
            two_sided=True,
            factors=FACTORS,
        ),
    ),
)
DELTA_G = Measure(
    "delta_G",
    "ΔG: F1 of male minus F1 of female people; 0 is equal quality, above 0 men are translated better",
    axis="difference in F1, above 0 in favour of men",
    ideal=0.0,
    bounds=POINTS,
    unit="points",
)
ACC = Measure(
    "WinoMT acc",
    "the share of people whose noun has their gender in the translation; an unrecognised gender counts as wrong",
    ideal=100.0,
    bounds=PERCENT,
    unit="%",
)
F1 = {
    gender: Measure(
        f"F1_{gender}",
        f"the harmonic mean of precision and recall of {gender} nouns",
        ideal=100.0,
        bounds=PERCENT,
        unit="%",
    )
    for gender in (MALE, FEMALE)
}
UNTOLD = Measure(
    "untold",
    "the share of nouns whose gender in the translation is not recognised",
    ideal=0.0,
    bounds=PERCENT,
    unit="%",
)
MEASURES = (DELTA_S, DELTA_G, ACC, *F1.values(), UNTOLD)

# This module measures only tables of scores that have these roles (values of the column `role`) and these columns.
NEEDS_ROLES: tuple[str, ...] = (RIGHT, *READ.values())
NEEDS_COLUMNS: tuple[str, ...] = ("gender", "entity", "stereotypical")


@dataclass(frozen=True, slots=True)
class _F1:
    """An F1 score in percent, and the influence of each item on the score."""

    value: float
    influence: Floats


def compute_f1(read: Floats, is_gender: Floats) -> _F1 | None:
    """Compute the F1 score of a gender; return None if neither an item nor a translation has this gender.

    `read` has 1 for each item whose translation has this gender, `is_gender` 1 for each item whose true gender it is.
    """
    size = float((read + is_gender).sum())
    if not size:
        return None
    both = read * is_gender
    share = 2 * float(both.sum()) / size
    return _F1(100 * share, 100 * (2 * both - share * (read + is_gender)) / size)


def get_strata(rows: pd.DataFrame) -> Labels:
    """Return the stereotypical gender of each item's entity: male, female, or none."""
    genders = rows["gender"].to_numpy(dtype=object)
    opposite = np.where(genders == MALE, FEMALE, MALE)
    casting = rows["stereotypical"].to_numpy(dtype=object)
    labels: Labels = np.where(casting == PRO, genders, np.where(casting == ANTI, opposite, NEITHER))
    return labels


def estimate_delta_s(right: Floats, casting: Labels, factors: Factors | None, strata: Labels) -> Mean:
    """Estimate ΔS from the accuracy of each item (0 or 100) and its casting: pro- or anti-stereotypical, or neither."""
    weights = weigh_pro_anti(casting)
    pro, anti = casting == PRO, casting == ANTI
    centred = right - np.where(pro, right[pro].mean(), np.where(anti, right[anti].mean(), 0.0))
    return Mean(float(weights @ right), compute_standard_error(weights * centred, factors, strata))


def _estimate_share(values: Floats, factors: Factors | None, strata: Labels) -> Share:
    mean = float(values.mean())
    return Share(mean, compute_standard_error((values - mean) / len(values), factors, strata), len(values))


@dataclass(frozen=True, slots=True)
class _People(RecordKey):
    """One translation system on one part of WinoMT in one language."""

    def build_records(self, rows: pd.DataFrame, margin: float | None, *, intervals: bool) -> Iterator[Record]:
        """Yield the records of all measures; `rows` has a row for each item and a column for each role."""
        factors, strata = read_factors(rows, FACTORS), get_strata(rows)
        right = 100 * rows[RIGHT].to_numpy(dtype=float)
        genders = {
            gender: compute_f1(
                rows[READ[gender]].to_numpy(dtype=float),
                (rows["gender"].to_numpy(dtype=object) == gender).astype(np.float64),
            )
            for gender in (MALE, FEMALE)
        }
        male, female = genders[MALE], genders[FEMALE]
        groups = rows["stereotypical"].to_numpy(dtype=object)
        if {PRO, ANTI} <= set(groups.tolist()):
            estimate = estimate_delta_s(right, groups, factors, strata)
            n = int(np.isin(groups, (PRO, ANTI)).sum())
            yield self._build_record("all", "all", DELTA_S, estimate, n, margin, intervals=intervals)
        if male and female and all((rows["gender"] == gender).any() for gender in (MALE, FEMALE)):
            difference = male.influence - female.influence
            estimate = Mean(male.value - female.value, compute_standard_error(difference, factors, strata))
            yield self._build_record("all", "all", DELTA_G, estimate, len(rows), intervals=intervals)
        share = _estimate_share(right, factors, strata)
        yield self._build_record("all", "all", ACC, share, len(rows), intervals=intervals)
        for gender, f1 in genders.items():
            if f1:
                estimate = Mean(f1.value, compute_standard_error(f1.influence, factors, strata))
                yield self._build_record("all", "all", F1[gender], estimate, len(rows), intervals=intervals)
        untold = 100 * (1 - rows[list(READ.values())].to_numpy(dtype=float).sum(axis=1))
        share = _estimate_share(untold, factors, strata)
        yield self._build_record("all", "all", UNTOLD, share, len(rows), intervals=intervals)
        for group in STEREOTYPICAL:
            here = groups == group
            if here.any() and not here.all():
                own = None if factors is None else factors.select_rows(here)
                share = _estimate_share(right[here], own, strata[here])
                yield self._build_record("stereotypical", group, ACC, share, int(here.sum()), intervals=intervals)

    def _build_record(
        self,
        view: str,
        group: str,
        measure: Measure,
        estimate: Estimate,
        n: int,
        margin: float | None = None,
        *,
        intervals: bool,
    ) -> Record:
        if not intervals:
            return build_record(self, self.part, view, group, measure, estimate.value, n)
        if not estimate.standard_error.value and isinstance(estimate, Mean):
            why = "all items have the same value, so the variance is unknown"
            return build_record(self, self.part, view, group, measure, estimate.value, n, why=why)
        return build_estimate_record(self, self.part, view, group, measure, estimate, n, margin)


def measure(
    scores: pd.DataFrame, *, margins: Mapping[str, float] | None = None, intervals: bool = True
) -> list[Record]:
    """Return a record for each measured value of all translation systems and languages in a table of scores.

    `margins` maps measure names to equivalence margins, which replace the default margins. If `intervals` is false,
    records have values but no intervals or tests.
    """
    require_columns(scores, (*KEY_COLUMNS, "item", "role", "score", *NEEDS_COLUMNS))
    margin = dict(margins or {}).get(DELTA_S.name)
    records: list[Record] = []
    for key, rows in split_by_key(scores):
        index = ["item", *NEEDS_COLUMNS, *(name for name in FACTORS if name in rows and name not in NEEDS_COLUMNS)]
        table = rows.pivot(index=index, columns="role", values="score").reset_index()
        _validate_roles(table, key.model)
        records += _People(*key.names).build_records(table, margin, intervals=intervals)
    return records


def _validate_roles(table: pd.DataFrame, model: str) -> None:
    """Raise an error if a score is neither 0 nor 1, or if the translation of an item has more than one gender."""
    values = table[list(NEEDS_ROLES)].to_numpy(dtype=float)
    bad = ~np.isin(values, (0.0, 1.0)).all(axis=1) | (values[:, 1:].sum(axis=1) > 1)
    if bad.any():
        item = table[bad].iloc[0]["item"]
        raise DataError(
            f"The scores of {model} for item {item} must be 0 or 1, and at most one gender may have the score 1."
        )


def notes(scores: pd.DataFrame) -> list[str]:
    """Return a sentence for each data set with too few sentences for a reliable word alignment."""
    return [
        f"{names[0]}:{names[1]} has {rows['item'].nunique():,} translations; words are not reliably aligned with fewer "
        f"than {FEW_PAIRS:,} translations."
        for names, rows in scores.groupby(["benchmark", "language"], observed=True, sort=False)
        if rows["item"].nunique() < FEW_PAIRS
    ]
