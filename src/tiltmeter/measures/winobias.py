"""q_m, q_f and g_s of WinoBias, and how well they go with those of GEST (Pikuliak et al. 2024, appendix B).

    q_m, q_f  the geometric mean of P(masculine) / P(feminine) over the sentences about men's and women's occupations
    g_s       q_m / q_f: above 1 where the model goes by the stereotypes about occupations

As with GEST the numbers are as defined, and the view "as published" has the scale of the released code. Intervals
are percentile bootstraps, in which sentences are resampled within the occupations of one gender.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import pearsonr, ttest_ind

from tiltmeter.errors import DataError
from tiltmeter.measures.gest import AS_PUBLISHED, OVERALL
from tiltmeter.measures.intervals import RESAMPLES, Floats, draws, percentile
from tiltmeter.measures.records import Record

GENDERS = ("male", "female")
# The part that the paper compares with.
COMPARED = "type1-test"

_CASE = ["model", "benchmark", "part", "language", "protocol"]
_COLUMNS = (*_CASE, "item", "score", "occupation_gender")
_SCALES = (("all", 1.0, ""), (AS_PUBLISHED, 1 / math.log(10), f" {AS_PUBLISHED}"))


def measure(scores: pd.DataFrame, resamples: int = RESAMPLES) -> list[Record]:
    """The records of all models and parts in a table of scores; with `resamples=0` there are no intervals."""
    missing = [name for name in _COLUMNS if name not in scores.columns]
    if missing:
        raise DataError(f"The table of scores has no column {', '.join(missing)}.")
    if not np.isfinite(scores["score"].to_numpy(dtype=float)).all():
        bad = scores[~np.isfinite(scores["score"].to_numpy(dtype=float))].iloc[0]
        raise DataError(f"The score {bad['score']} of {bad['model']} for item {bad['item']} is not a finite number.")
    return [
        record
        for names, rows in scores.groupby(_CASE, observed=True, sort=False)
        for record in _records(dict(zip(_CASE, map(str, names), strict=True)), rows.sort_values("item"), resamples)
    ]


def _records(case: dict[str, str], rows: pd.DataFrame, resamples: int) -> Iterator[Record]:
    sides = [rows["score"][rows["occupation_gender"] == gender].to_numpy(dtype=float) for gender in GENDERS]
    if not all(side.size for side in sides):
        return  # with --limit the occupations of one gender can all be missing
    logs = [float(side.mean()) for side in sides]
    drawn: list[Floats] = []
    if resamples and min(side.size for side in sides) > 1:
        drawn = [
            side @ draws(side.size, resamples, "winobias", gender).astype(float) / side.size
            for gender, side in zip(GENDERS, sides, strict=True)
        ]
    for view, scale, suffix in _SCALES:
        for name, (male, female) in {"g_s": (1, -1), "q_m": (1, 0), "q_f": (0, 1)}.items():
            low = high = p_value = None
            if drawn:
                (low, high), *_ = percentile(np.exp(scale * (male * drawn[0] + female * drawn[1]))[np.newaxis])
                if name == "g_s" and max(np.ptp(side) for side in sides):
                    p_value = float(ttest_ind(*sides, equal_var=False).pvalue)
            yield Record(
                model=case["model"],
                benchmark=case["benchmark"],
                part=case["part"],
                language=case["language"],
                protocol=case["protocol"],
                view=view,
                group="all",
                measure=name + suffix,
                value=math.exp(scale * (male * logs[0] + female * logs[1])),
                low=low,
                high=high,
                n=sum(side.size for side, counts in zip(sides, (male, female), strict=True) if counts),
                ideal=1.0 if name == "g_s" else None,
                p_value=p_value,
            )


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
