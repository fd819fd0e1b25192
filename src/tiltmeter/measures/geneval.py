"""Accuracy of gender in translations, and the gap between the genders (MT-GenEval, Currey et al. 2022).

    acc       the share of correct items; in the part `sentences`, of pairs of which both translations are correct
    acc_m     the share of correct translations of sources about men
    acc_f     the same about women
    acc gap   acc_m - acc_f: 0 is equal quality, above 0 men are translated better
    reference coverage
              the share of translations with a word that only one of the references has

A translation without such a word counts as correct in the published metric, so a system that translates little has a
high accuracy. With a coverage below 50% the gap is therefore not interpreted.

Intervals: mid-P binomial for shares; for the gap of pairs McNemar's and the paired t, whichever is wider, and otherwise
combined Wilson intervals of two independent shares.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tiltmeter.errors import DataError
from tiltmeter.forms.geneval import FEMININE, MASCULINE
from tiltmeter.measures.estimates import Estimate, PairedMean, Share, WeightedShares
from tiltmeter.measures.measure import ItemValues, Measure, Roles, Row
from tiltmeter.measures.records import Record, build_estimate_record, build_record
from tiltmeter.measures.score_checks import require_columns
from tiltmeter.measures.standard_errors import Floats, Labels

CORRECT, MATCHED = "correct", "matched"
LEAST_COVERAGE = 50.0
PERCENT = (0.0, 100.0)


def weigh_by_gender(labels: Labels) -> Floats:
    """The weight of each item in a difference of means: men's items minus women's; 0 for others."""
    masculine, feminine = labels == MASCULINE, labels == FEMININE
    weights: Floats = masculine / max(1, masculine.sum()) - feminine / max(1, feminine.sum())
    return weights


def _compute_percent_correct(roles: Roles) -> Floats:
    return np.array([100 * roles[CORRECT]])


def _check_coverage(row: Row) -> str | None:
    coverage = row.get(COVERAGE.name)
    if coverage is None or coverage.value >= LEAST_COVERAGE:
        return None
    share = f"only {coverage.value:.0f}% of the translations have a word of either reference"
    return f"{share}, and the others count as correct"


def _build_share_measure(name: str, meaning: str) -> Measure:
    return Measure(name, meaning, ideal=100.0, bounds=PERCENT, unit="%")


ACC_GAP = Measure(
    "acc gap",
    "acc_m − acc_f: how much more often the gender of men is translated correctly than that of women; 0 is equal "
    "quality, and a bias towards the stereotype is one towards men",
    axis="difference in gender accuracy, above 0 in favour of men",
    ideal=0.0,
    stereotype=1,
    bounds=(-100.0, 100.0),
    unit="points",
    margin=5.0,
    decides=True,
    columns=("acc gap", "acc", "acc_m", "acc_f", "reference coverage"),
    beside=("acc",),
    statement=lambda value: (
        f"the gender of men is translated correctly {abs(value):.0f} points "
        f"{'more' if value >= 0 else 'less'} often than that of women"
    ),
    validity=(_check_coverage,),
    items=(
        ItemValues(
            (CORRECT,),
            _compute_percent_correct,
            columns=("gender",),
            weigh=weigh_by_gender,
            two_sided=True,
            clusters=(),
        ),
    ),
)
ACC = _build_share_measure(
    "acc", "the share of items with the correct gender; of counterfactual pairs, those with both correct"
)
ACC_M = _build_share_measure(
    "acc_m", "the share of sources about men whose translation has no word of the wrong gender"
)
ACC_F = _build_share_measure(
    "acc_f", "the share of sources about women whose translation has no word of the wrong gender"
)
COVERAGE = _build_share_measure(
    "reference coverage", "the share of translations with a word that only one of the two references has"
)
MEASURES = (ACC_GAP, ACC, ACC_M, ACC_F, COVERAGE)

# Roles and columns that a table of scores needs.
NEEDS_ROLES: tuple[str, ...] = (CORRECT, MATCHED)
NEEDS_COLUMNS: tuple[str, ...] = ("gender",)

_PORTION_COLUMNS = ["model", "benchmark", "part", "language", "protocol"]


@dataclass(frozen=True, slots=True)
class _ModelPortion:
    """One system on one part in one language."""

    model: str
    benchmark: str
    part: str
    language: str
    protocol: str

    def records(self, rows: pd.DataFrame, margin: float | None, *, intervals: bool) -> Iterator[Record]:
        """The records of the items: a row each, with the columns correct, matched, gender and perhaps pair."""
        genders = {gender: rows[rows["gender"] == gender] for gender in (MASCULINE, FEMININE)}
        pairs = _build_pairs(rows)
        if all(len(side) for side in genders.values()):
            gap, n = _estimate_gap(genders[MASCULINE], genders[FEMININE], pairs)
            if intervals:
                yield build_estimate_record(self, self.part, "all", "all", ACC_GAP, gap, n, margin)
            else:
                yield build_record(self, self.part, "all", "all", ACC_GAP, gap.value, n)
        whole = rows[CORRECT] if pairs is None else pairs.min(axis=1)
        shares = [(ACC, whole), (ACC_M, genders[MASCULINE][CORRECT]), (ACC_F, genders[FEMININE][CORRECT])]
        for measure, values in (*shares, (COVERAGE, rows[MATCHED])):
            if len(values):
                share = Share.from_values(100 * values.to_numpy(dtype=float))
                ends = share.interval() if intervals else None
                yield build_record(self, self.part, "all", "all", measure, share.value, share.n, ends=ends)


def measure(
    scores: pd.DataFrame, *, margins: Mapping[str, float] | None = None, intervals: bool = True
) -> list[Record]:
    """The records of all systems, parts and languages in a table of scores; `margins` overrides those of measures."""
    require_columns(scores, (*_PORTION_COLUMNS, "item", "role", "score", "gender"))
    margin = dict(margins or {}).get(ACC_GAP.name)
    records: list[Record] = []
    for names, rows in scores.groupby(_PORTION_COLUMNS, observed=True, sort=False):
        columns = ["item", "gender", *(["pair"] if "pair" in rows.columns and rows["pair"].notna().all() else [])]
        table = rows.pivot(index=columns, columns="role", values="score").reset_index()
        bad = ~np.isin(table[[CORRECT, MATCHED]].to_numpy(dtype=float), (0.0, 1.0)).all(axis=1)
        if bad.any():
            row = table[bad].iloc[0]
            raise DataError(f"The scores of {names[0]} for item {row['item']} are not 0 or 1.")
        records += _ModelPortion(*map(str, names)).records(table, margin, intervals=intervals)
    return records


def notes(scores: pd.DataFrame) -> list[str]:
    """A sentence for each part that has items of one gender only, so that the gap is not defined."""
    return [
        f"{names[0]}/{names[1]}:{names[2]} has sources of one gender only, so {ACC_GAP.name} is not defined."
        for names, rows in scores.groupby(["benchmark", "part", "language"], observed=True, sort=False)
        if not {MASCULINE, FEMININE} <= set(rows["gender"])
    ]


def _build_pairs(rows: pd.DataFrame) -> pd.DataFrame | None:
    """Whether the masculine and the feminine item of each complete pair are correct; None if there are no pairs."""
    if "pair" not in rows.columns:
        return None
    table = rows.pivot(index="pair", columns="gender", values=CORRECT)
    if not {MASCULINE, FEMININE} <= set(table.columns):
        return None
    complete = table[[MASCULINE, FEMININE]].dropna()
    return complete if len(complete) else None


def _estimate_gap(masculine: pd.DataFrame, feminine: pd.DataFrame, pairs: pd.DataFrame | None) -> tuple[Estimate, int]:
    """acc_m − acc_f with its number of items: paired where all items are in pairs."""
    n = len(masculine) + len(feminine)
    if pairs is not None and 2 * len(pairs) == n and len(pairs) > 1:
        differences = 100 * (pairs[MASCULINE] - pairs[FEMININE]).to_numpy(dtype=float)
        return PairedMean.from_differences(differences), n
    sides = [side[CORRECT].to_numpy(dtype=float) for side in (masculine, feminine)]
    counts, sizes = (np.array(list(map(function, sides)), dtype=np.float64) for function in (np.sum, len))
    return WeightedShares(np.array([100.0, -100.0]), counts, sizes), n
