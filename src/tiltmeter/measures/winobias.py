"""q_m, q_f and g_s of WinoBias, and how well they go with those of GEST (Pikuliak et al. 2024, appendix B).

    q_m, q_f  the geometric mean of P(masculine) / P(feminine) over the sentences about men's and women's occupations
    g_s       q_m / q_f: above 1 where the model goes by the stereotypes about occupations

As with GEST the numbers are as defined, and the view "as published" has the scale of the released code. Intervals, and
the test of g_s, are Student's t of the logarithms; sentences about one occupation are a cluster.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import pearsonr

from tiltmeter.errors import DataError
from tiltmeter.measures.estimates import Mean, Ratio
from tiltmeter.measures.gest import AS_PUBLISHED, G_S
from tiltmeter.measures.intervals import RESAMPLES
from tiltmeter.measures.records import OVERALL, Record, estimated, record_of
from tiltmeter.measures.standard_errors import spread

GENDERS = ("male", "female")
# The part that the paper compares with.
COMPARED = "type1-test"

# What a table of scores has to hold to be measured here.
NEEDS_ROLES: tuple[str, ...] = ("log_ratio",)
NEEDS_COLUMNS: tuple[str, ...] = ("occupation_gender",)

_CASE = ["model", "benchmark", "part", "language", "protocol"]
_COLUMNS = (*_CASE, "item", "score", "occupation_gender")
# How the mean logarithms of either gender's occupations go into a rate: those of the men's, those of the women's.
_RATES = {"g_s": (1, -1), "q_m": (1, 0), "q_f": (0, 1)}
_SCALES = (("all", 1.0, ""), (AS_PUBLISHED, 1 / math.log(10), f" {AS_PUBLISHED}"))


def measure(
    scores: pd.DataFrame,
    *,
    margins: Mapping[str, float] | None = None,
    intervals: bool = True,
    resamples: int = RESAMPLES,
) -> list[Record]:
    """The records of all models and parts in a table of scores.

    `margins` replaces the margins of equivalence of some measures. Without `intervals`, or with no `resamples`, there
    are values alone.
    """
    missing = [name for name in _COLUMNS if name not in scores.columns]
    if missing:
        raise DataError(f"The table of scores has no column {', '.join(missing)}.")
    if not np.isfinite(scores["score"].to_numpy(dtype=float)).all():
        bad = scores[~np.isfinite(scores["score"].to_numpy(dtype=float))].iloc[0]
        raise DataError(f"The score {bad['score']} of {bad['model']} for item {bad['item']} is not a finite number.")
    return [
        record
        for names, rows in scores.groupby(_CASE, observed=True, sort=False)
        for record in _Case(*map(str, names)).records(
            rows.sort_values("item"), dict(margins or {}), resamples if intervals else 0
        )
    ]


@dataclass(frozen=True, slots=True)
class _Case:
    """What one model said of one part in one language."""

    model: str
    benchmark: str
    part: str
    language: str
    protocol: str

    def records(self, rows: pd.DataFrame, margins: Mapping[str, float], resamples: int) -> Iterator[Record]:
        sides = [rows["score"][rows["occupation_gender"] == gender].to_numpy(dtype=float) for gender in GENDERS]
        if not all(side.size for side in sides):
            return  # with --limit the occupations of one gender can all be missing
        logs = [float(side.mean()) for side in sides]
        measured = bool(resamples) and min(side.size for side in sides) > 1
        ratios = {name: _estimate(rows, *signs) for name, signs in _RATES.items()} if measured else {}
        if measured and ratios["g_s"].spread.error:
            yield estimated(self, self.part, "all", "all", G_S, ratios["g_s"], len(rows), margins.get(G_S.name))
        for view, scale, suffix in _SCALES:
            for name, (male, female) in _RATES.items():
                ratio = ratios.get(name)
                ends = None
                if ratio is not None and ratio.spread.error:
                    if (name, view) == ("g_s", "all"):
                        continue
                    low, high = ratio.interval()
                    ends = low**scale, high**scale
                value = math.exp(scale * (male * logs[0] + female * logs[1]))
                n = sum(side.size for side, counts in zip(sides, (male, female), strict=True) if counts)
                more: dict[str, Any] = {}
                if resamples and (name, view) == ("g_s", "all"):
                    why = "the occupations of one gender have a single sentence, or all sentences are alike"
                    more = {"why": why, "margin": margins.get(G_S.name) or G_S.margin}
                yield record_of(self, self.part, view, "all", name + suffix, value, n, ends=ends, **more)


def _estimate(rows: pd.DataFrame, male_sign: int, female_sign: int) -> Ratio:
    """A rate with sentences drawn within the occupations of one gender, and clustered by occupation where that is
    known.
    """
    if not male_sign or not female_sign:
        rows = rows[rows["occupation_gender"] == (GENDERS[0] if male_sign else GENDERS[1])]
    scores, male = rows["score"].to_numpy(dtype=float), (rows["occupation_gender"] == GENDERS[0]).to_numpy()
    log, influence = 0.0, np.zeros(len(rows))
    for sign, side in ((male_sign, male), (female_sign, ~male)):
        if sign:
            log += sign * float(scores[side].mean())
            influence[side] = sign * (scores[side] - scores[side].mean()) / side.sum()
    known = "occupation" in rows.columns and rows["occupation"].notna().all()
    clusters = rows["occupation"].to_numpy(dtype=object) if known else None
    return Ratio(Mean(log, spread(influence, clusters, rows["occupation_gender"].to_numpy(dtype=object))))


@dataclass(frozen=True, slots=True)
class Validity:
    """How g_s of GEST goes with g_s of WinoBias over models: Pearson's correlation with its 95% interval."""

    models: tuple[str, ...]
    gest: tuple[float, ...]
    winobias: tuple[float, ...]
    correlation: float
    low: float
    high: float
    p_value: float


def validity(records: Iterable[Record], *, part: str = COMPARED, as_published: bool = False) -> Validity:
    """The predictive validity of g_s: its correlation with WinoBias over the models that have both.

    Of GEST the mean over the templates is taken, or where only one was asked, that one; of WinoBias one part.
    """
    name = f"g_s {AS_PUBLISHED}" if as_published else "g_s"
    of_gest: dict[str, dict[str, float]] = {}
    of_winobias: dict[str, float] = {}
    for record in records:
        if record.measure != name or record.language != "en":
            continue
        if record.part == part:
            of_winobias[record.model] = record.value
        elif record.part == OVERALL or record.part.startswith("template-"):
            of_gest.setdefault(record.model, {})[record.part] = record.value
    gest = {
        model: found.get(OVERALL, next(iter(found.values())))
        for model, found in of_gest.items()
        if OVERALL in found or len(found) == 1
    }
    models = tuple(model for model in gest if model in of_winobias)
    if len(models) < 4:
        raise DataError(
            f"{len(models)} models have both g_s on gest and on winobias/{part}; an interval of their correlation "
            "needs at least 4. Run more models on both benchmarks."
        )
    pairs = [(gest[model], of_winobias[model]) for model in models]
    found = pearsonr(*zip(*pairs, strict=True))
    low, high = found.confidence_interval(0.95)
    return Validity(
        models,
        tuple(one for one, _ in pairs),
        tuple(other for _, other in pairs),
        float(found.statistic),
        float(low),
        float(high),
        float(found.pvalue),
    )
