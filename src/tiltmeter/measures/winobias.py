"""q_m, q_f and g_s of WinoBias, and their correlation with GEST (Pikuliak et al. 2024, appendix B).

q_m is the geometric mean of P(masculine) / P(feminine) over the sentences about men's occupations, q_f the same mean
over the sentences about women's occupations, and g_s is q_m / q_f. Values are as defined in the paper; the view "as
published" has the scale of the released code (see `gest`). Intervals and the test of g_s are Student's t on the log
scale; they account for the occupations and templates that sentences share.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tiltmeter.errors import DataError
from tiltmeter.measures.bootstrap import RESAMPLES
from tiltmeter.measures.estimates import Mean, Ratio
from tiltmeter.measures.factors import Factors, Labels, read_factors
from tiltmeter.measures.gest import AS_PUBLISHED, G_S
from tiltmeter.measures.gest_measures import GEST_MEASURES, OCCUPATION_FACTORS
from tiltmeter.measures.records import (
    KEY_COLUMNS,
    OVERALL,
    Record,
    RecordKey,
    build_estimate_record,
    build_record,
    split_by_key,
)
from tiltmeter.measures.score_checks import require_columns, require_finite_scores
from tiltmeter.measures.standard_errors import Floats, compute_standard_error

GENDERS = ("male", "female")
# The part of WinoBias that the paper compares with GEST.
COMPARED = "type1-test"

MEASURES = GEST_MEASURES

# This module measures only tables of scores that have these roles (values of the column `role`) and these columns.
NEEDS_ROLES: tuple[str, ...] = ("log_ratio",)
NEEDS_COLUMNS: tuple[str, ...] = ("occupation_gender",)

_COLUMNS = (*KEY_COLUMNS, "item", "score", "occupation_gender")
# The logarithm of each rate is a weighted sum of two means: the mean log ratio of men's occupations and that of women's
# occupations. These are the weights.
_RATES = {"g_s": (1, -1), "q_m": (1, 0), "q_f": (0, 1)}
_SCALES = (("all", 1.0, ""), (AS_PUBLISHED, 1 / math.log(10), f" {AS_PUBLISHED}"))


def measure(
    scores: pd.DataFrame,
    *,
    margins: Mapping[str, float] | None = None,
    intervals: bool = True,
    resamples: int = RESAMPLES,
) -> list[Record]:
    """Return a record for each measured value of all models and parts in a table of scores.

    `margins` maps measure names to equivalence margins, which replace the default margins. If `intervals` is false or
    `resamples` is 0, records have values but no intervals or tests.
    """
    require_columns(scores, _COLUMNS)
    require_finite_scores(scores)
    return [
        record
        for key, rows in split_by_key(scores)
        for record in _Occupations(*key.names).build_records(
            rows.sort_values("item"), dict(margins or {}), resamples if intervals else 0
        )
    ]


@dataclass(frozen=True, slots=True)
class _Occupations(RecordKey):
    """One model on one part of WinoBias in one language."""

    def build_records(self, rows: pd.DataFrame, margins: Mapping[str, float], resamples: int) -> Iterator[Record]:
        sides = [rows["score"][rows["occupation_gender"] == gender].to_numpy(dtype=float) for gender in GENDERS]
        if not all(side.size for side in sides):
            return  # the sample of --limit may have occupations of only one gender
        logs = [float(side.mean()) for side in sides]
        has_interval = bool(resamples) and min(side.size for side in sides) > 1
        ratios = {name: _estimate_rate(rows, *signs) for name, signs in _RATES.items()} if has_interval else {}
        if has_interval and ratios["g_s"].standard_error.value:
            yield build_estimate_record(
                self, self.part, "all", "all", G_S, ratios["g_s"], len(rows), margins.get(G_S.name)
            )
        for view, scale, suffix in _SCALES:
            for name, (male, female) in _RATES.items():
                ratio = ratios.get(name)
                ends = None
                if ratio is not None and ratio.standard_error.value:
                    if (name, view) == ("g_s", "all"):
                        continue
                    low, high = ratio.interval()
                    ends = low**scale, high**scale
                value = math.exp(scale * (male * logs[0] + female * logs[1]))
                n = sum(side.size for side, counts in zip(sides, (male, female), strict=True) if counts)
                extra: dict[str, Any] = {}
                if resamples and (name, view) == ("g_s", "all"):
                    why = "the occupations of one gender have a single sentence, or all sentences have the same score"
                    extra = {"why": why, "margin": margins.get(G_S.name) or G_S.margin}
                yield build_record(self, self.part, view, "all", name + suffix, value, n, ends=ends, **extra)


def _estimate_rate(rows: pd.DataFrame, male_sign: int, female_sign: int) -> Ratio:
    """Estimate g_s, q_m or q_f from its weights in `_RATES`."""
    if not male_sign or not female_sign:
        rows = rows[rows["occupation_gender"] == (GENDERS[0] if male_sign else GENDERS[1])]
    scores, genders = rows["score"].to_numpy(dtype=float), rows["occupation_gender"].to_numpy(dtype=object)
    return estimate_rate(scores, genders, read_factors(rows, OCCUPATION_FACTORS), male_sign, female_sign)


def estimate_rate(
    scores: Floats, genders: Labels, factors: Factors | None, male_sign: int = 1, female_sign: int = -1
) -> Ratio:
    """Estimate the exponential of a weighted sum of two means: of men's and of women's occupations (g_s by default).

    `genders` are the genders of the occupations; they are strata.
    """
    male = genders == GENDERS[0]
    log, influence = 0.0, np.zeros(len(scores))
    for sign, side in ((male_sign, male), (female_sign, ~male)):
        if sign:
            log += sign * float(scores[side].mean())
            influence[side] = sign * (scores[side] - scores[side].mean()) / side.sum()
    return Ratio(Mean(log, compute_standard_error(influence, factors, genders)))


@dataclass(frozen=True, slots=True)
class PredictiveValidity:
    """The Pearson correlation over models between g_s of GEST and g_s of WinoBias, with its 95% interval."""

    models: tuple[str, ...]
    gest: tuple[float, ...]
    winobias: tuple[float, ...]
    correlation: float
    low: float
    high: float
    p_value: float


def pair_validity_records(
    records: Iterable[Record], *, part: str = COMPARED, as_published: bool = False
) -> dict[str, tuple[Record, Record]]:
    """Return two records of g_s for each model: on English GEST and on a part of WinoBias.

    Models without one of these records are left out. The record of GEST is the mean over templates, or that of the only
    template of a run.
    """
    name = f"g_s {AS_PUBLISHED}" if as_published else "g_s"
    gest_by_part: dict[str, dict[str, Record]] = {}
    winobias: dict[str, Record] = {}
    for record in records:
        if record.measure != name or record.language != "en":
            continue
        if record.part == part:
            winobias[record.model] = record
        elif record.part == OVERALL or record.part.startswith("template-"):
            gest_by_part.setdefault(record.model, {})[record.part] = record
    gest = {
        model: by_part.get(OVERALL, next(iter(by_part.values())))
        for model, by_part in gest_by_part.items()
        if OVERALL in by_part or len(by_part) == 1
    }
    return {model: (gest[model], winobias[model]) for model in gest if model in winobias}


def compute_validity(
    records: Iterable[Record], *, part: str = COMPARED, as_published: bool = False
) -> PredictiveValidity:
    """Compute the correlation between g_s on GEST and g_s on WinoBias over the models that have both values."""
    pairs = pair_validity_records(records, part=part, as_published=as_published)
    if len(pairs) < 4:
        raise DataError(
            f"{len(pairs)} models have both g_s on gest and on winobias/{part}, but an interval of the correlation "
            "needs at least 4; run more models on both benchmarks."
        )
    from scipy.stats import pearsonr  # imported here because this takes a second

    gest, winobias = zip(*((on_gest.value, on_winobias.value) for on_gest, on_winobias in pairs.values()), strict=True)
    correlation = pearsonr(gest, winobias)
    low, high = correlation.confidence_interval(0.95)
    return PredictiveValidity(
        tuple(pairs), gest, winobias, float(correlation.statistic), float(low), float(high), float(correlation.pvalue)
    )
