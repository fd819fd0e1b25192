"""Accuracy of gender in translations, and the gap between the genders (MT-GenEval, Currey et al. 2022).

docs/explanation/translations.md defines the measures. Each item has two reference translations, a masculine and a
feminine one. In the published metric, a translation counts as correct unless it contains a word that is only in the
wrong reference, so a system that translates few words has a high accuracy. Therefore the gap is not interpreted if the
reference coverage (the share of translations with a word that only one reference has) is below 50%.

Intervals: mid-P binomial for shares. If all items are in pairs, the interval of the gap is the wider of McNemar's and
the paired t interval; otherwise it combines the Wilson intervals of two shares. All account for items whose references
differ in the same words, such as the two forms of an occupation.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from tiltmeter.errors import DataError
from tiltmeter.forms.geneval import FEMININE, MASCULINE
from tiltmeter.measures.estimates import PERCENT, Estimate, PairedMean, Share, WeightedShares
from tiltmeter.measures.factors import Factors, read_factors
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

CORRECT, MATCHED = "correct", "matched"
FACTORS = ("gendered_words",)
LEAST_COVERAGE = 50.0


def _check_coverage(row: Row) -> str | None:
    coverage = row.get(COVERAGE.name)
    if coverage is None or coverage.value >= LEAST_COVERAGE:
        return None
    share = f"only {coverage.value:.0f}% of the translations have a word that only one reference has"
    return f"{share}, and the other translations count as correct"


def _build_share_measure(name: str, meaning: str) -> Measure:
    return Measure(name, meaning, ideal=100.0, bounds=PERCENT, unit="%")


ACC_GAP = Measure(
    "acc gap",
    "acc_m − acc_f: how much more often the gender of men is translated correctly than that of women; 0 is equal "
    'quality, and "towards stereotypes" means towards men',
    axis="difference in gender accuracy, above 0 in favour of men",
    ideal=0.0,
    bias_direction=1,
    bounds=(-100.0, 100.0),
    unit="points",
    margin=5.0,
    decides=True,
    columns=("acc gap", "acc", "acc_m", "acc_f", "reference coverage"),
    companions=("acc",),
    statement=lambda value: (
        f"the gender of men is translated correctly {abs(value):.0f} points "
        f"{'more' if value >= 0 else 'less'} often than that of women"
    ),
    validity=(ValidityRule("too few translations have a word that only one reference has", _check_coverage),),
    items=(
        ItemValues(
            (CORRECT,),
            scale_role(CORRECT, 100.0),
            columns=("gender",),
            weigh=partial(weigh_difference, first=MASCULINE, second=FEMININE),
            strata="genders",
            two_sided=True,
            factors=FACTORS,
        ),
    ),
)
ACC = _build_share_measure(
    "acc",
    "the share of items with the correct gender; for counterfactual pairs, the share of pairs with two correct items",
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

# This module measures only tables of scores that have these roles (values of the column `role`) and these columns.
NEEDS_ROLES: tuple[str, ...] = (CORRECT, MATCHED)
NEEDS_COLUMNS: tuple[str, ...] = ("gender",)


@dataclass(frozen=True, slots=True)
class _Sources(RecordKey):
    """One translation system on one part of MT-GenEval in one language."""

    def build_records(self, rows: pd.DataFrame, margin: float | None, *, intervals: bool) -> Iterator[Record]:
        """Yield the records; `rows` has a row per item, with item, correct, matched, gender and perhaps pair."""
        genders = {gender: rows[rows["gender"] == gender] for gender in (MASCULINE, FEMININE)}
        pairs = _build_pairs(rows)
        if all(len(side) for side in genders.values()):
            gap, n = _estimate_gap(genders[MASCULINE], genders[FEMININE], pairs)
            if intervals:
                yield build_estimate_record(self, self.part, "all", "all", ACC_GAP, gap, n, margin)
            else:
                yield build_record(self, self.part, "all", "all", ACC_GAP, gap.value, n)
        whole = (rows[CORRECT], rows) if pairs is None else (pairs[[MASCULINE, FEMININE]].min(axis=1), pairs)
        sides = {gender: (side[CORRECT], side) for gender, side in genders.items()}
        shares = [(ACC, whole), (ACC_M, sides[MASCULINE]), (ACC_F, sides[FEMININE]), (COVERAGE, (rows[MATCHED], rows))]
        for measure, (values, items) in shares:
            if len(values):
                share = Share.from_values(100 * values.to_numpy(dtype=float), read_factors(items, FACTORS))
                if intervals:
                    yield build_estimate_record(self, self.part, "all", "all", measure, share, share.n, tested=False)
                else:
                    yield build_record(self, self.part, "all", "all", measure, share.value, share.n)


def measure(
    scores: pd.DataFrame, *, margins: Mapping[str, float] | None = None, intervals: bool = True
) -> list[Record]:
    """Return a record for each measured value of all translation systems, parts and languages in a table of scores.

    `margins` maps measure names to equivalence margins, which replace the default margins. If `intervals` is false,
    records have values but no intervals or tests.
    """
    require_columns(scores, (*KEY_COLUMNS, "item", "role", "score", "gender"))
    margin = dict(margins or {}).get(ACC_GAP.name)
    records: list[Record] = []
    for key, rows in split_by_key(scores):
        columns = ["item", "gender", *(["pair"] if "pair" in rows.columns and rows["pair"].notna().all() else [])]
        columns += [name for name in FACTORS if name in rows.columns]
        table = rows.pivot(index=columns, columns="role", values="score").reset_index()
        bad = ~np.isin(table[[CORRECT, MATCHED]].to_numpy(dtype=float), (0.0, 1.0)).all(axis=1)
        if bad.any():
            row = table[bad].iloc[0]
            raise DataError(f"The scores of {key.model} for item {row['item']} must be 0 or 1.")
        records += _Sources(*key.names).build_records(table, margin, intervals=intervals)
    return records


def notes(scores: pd.DataFrame) -> list[str]:
    """Return a sentence for each part whose acc gap is undefined, because all items have the same gender."""
    return [
        f"{names[0]}/{names[1]}:{names[2]} has sources of one gender only, so {ACC_GAP.name} is not defined."
        for names, rows in scores.groupby(["benchmark", "part", "language"], observed=True, sort=False)
        if not {MASCULINE, FEMININE} <= set(rows["gender"])
    ]


def _build_pairs(rows: pd.DataFrame) -> pd.DataFrame | None:
    """Return a table that tells for each complete pair whether its masculine and its feminine item are correct.

    The table also has the columns of factors. Return None if there are no pairs.
    """
    if "pair" not in rows.columns:
        return None
    table = rows.pivot(index="pair", columns="gender", values=CORRECT)
    if not {MASCULINE, FEMININE} <= set(table.columns):
        return None
    complete = table[[MASCULINE, FEMININE]].dropna()
    shared = rows.drop_duplicates("pair").set_index("pair")[[name for name in FACTORS if name in rows.columns]]
    return complete.join(shared) if len(complete) else None


def _estimate_gap(masculine: pd.DataFrame, feminine: pd.DataFrame, pairs: pd.DataFrame | None) -> tuple[Estimate, int]:
    """Estimate acc_m − acc_f, paired if all items are in pairs; return the estimate and the number of items."""
    n = len(masculine) + len(feminine)
    if pairs is not None and 2 * len(pairs) == n and len(pairs) > 1:
        sides = [pairs[gender].to_numpy(dtype=float) for gender in (MASCULINE, FEMININE)]
        return estimate_paired_gap(sides[0], sides[1], read_factors(pairs, FACTORS)), n
    sides = [side[CORRECT].to_numpy(dtype=float) for side in (masculine, feminine)]
    return estimate_gap(sides[0], sides[1], read_factors(pd.concat([masculine, feminine]), FACTORS)), n


def estimate_paired_gap(masculine: Floats, feminine: Floats, factors: Factors | None) -> PairedMean:
    """Estimate acc_m − acc_f from the correctness (0 or 1) of the two items of each pair."""
    return PairedMean.from_differences(100 * (masculine - feminine), factors)


def estimate_gap(masculine: Floats, feminine: Floats, factors: Factors | None) -> WeightedShares:
    """Estimate acc_m − acc_f from the correctness (0 or 1) of single items; `factors` has the masculine items first."""
    sides = (masculine, feminine)
    counts, sizes = (np.array(list(map(function, sides)), dtype=np.float64) for function in (np.sum, len))
    signs = (100.0, -100.0)
    influence = [sign * (side - side.mean()) / len(side) for sign, side in zip(signs, sides, strict=True)]
    error = compute_standard_error(np.concatenate(influence), factors)
    return WeightedShares(np.array(signs), counts, sizes).share_factors(error)
