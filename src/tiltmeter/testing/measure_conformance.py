"""The conformance check of modules that define measures."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from tiltmeter.errors import TiltmeterError
from tiltmeter.measures.item_contributions import ItemValues
from tiltmeter.measures.measure import Measure, list_measures
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.testing.requirement import Require, build_requirement

_PORTION = ["model", "benchmark", "part", "language", "protocol"]
# Tolerances for rounding errors: `_CLOSE` between two computations of a value, `_CLOSE_TO_BOUND` for bounds, intervals
# and the contributions of items.
_CLOSE = 1e-9
_CLOSE_TO_BOUND = 1e-6


def check_measure(module: Any, scores: pd.DataFrame, tolerances: Mapping[str, float] | None = None) -> None:
    """Check a module that defines measures, with a table of scores.

    The checks: Measures have a name, a meaning and an ideal within their bounds. Values are within the bounds and
    within their intervals. Values depend neither on the order of the rows nor on whether intervals are computed. The
    contributions of items, if the measure has them, reproduce the value.

    `tolerances` maps the name of a measure to the maximum difference between its value and the contributions. Shrunken
    estimates, such as the centre of an Agresti-Coull interval, need a larger tolerance than the default.
    """
    require = build_requirement(f"measures of {getattr(module, '__name__', module)!r}")
    own = list(getattr(module, "MEASURES", ()))
    for measure in own:
        _check_definition(require, measure)
    require(len({measure.name for measure in own}) == len(own), "two of its measures have the same name")
    known = {**list_measures(), **{measure.name: measure for measure in own}}
    lacking = (set(module.NEEDS_ROLES) - set(scores["role"])) | (set(module.NEEDS_COLUMNS) - set(scores.columns))
    require(not lacking, f"the table of scores has no {', '.join(sorted(map(str, lacking)))}, which the module needs")
    records = module.measure(scores, margins=None, intervals=True)
    require(
        any(record.measure in known for record in records),
        "its records have no known measure; add the measures to MEASURES",
    )
    for record in records:
        if record.measure in known:
            _check_record(require, known[record.measure], record)
    shuffled = module.measure(scores.sample(frac=1, random_state=1), margins=None, intervals=True)
    _check_same_values(require, records, shuffled, "the order of the rows")
    _check_same_values(
        require, records, module.measure(scores, margins=None, intervals=False), "the computation of intervals"
    )
    _check_contributions(require, known, records, scores, tolerances or {})
    _check_bad_scores(require, module, scores)


def _check_definition(require: Require, measure: Measure) -> None:
    require(isinstance(measure, Measure), f"{measure!r} is not a Measure")
    require(measure.name and measure.meaning, f"the measure {measure.name!r} has no name or meaning")
    if measure.bounds is not None:
        low, high = measure.bounds
        require(low < high, f"{measure.name}: the bounds {measure.bounds} are not an interval")
        require(measure.ideal is None or low <= measure.ideal <= high, f"{measure.name}: its ideal is out of bounds")
    require(measure.margin is None or measure.ideal is not None, f"{measure.name}: a margin needs an ideal")
    require(measure.margin is None or measure.margin > 0, f"{measure.name}: its margin should be above 0")


def _check_record(require: Require, measure: Measure, record: Record) -> None:
    label = f"{record}"
    require(record.n >= 0, f"{label}: n is {record.n}")
    low, high = measure.bounds or (-math.inf, math.inf)
    close = _CLOSE_TO_BOUND * max(1.0, abs(record.value))
    require(low - close <= record.value <= high + close, f"{label}: {record.value} is outside {measure.bounds}")
    if record.low is None or record.high is None:
        return
    inside = record.low - close <= record.value <= record.high + close
    require(inside, f"{label}: the value {record.value} is outside its interval [{record.low}, {record.high}]")
    bounded = low - close <= record.low and record.high <= high + close
    require(bounded, f"{label}: its interval [{record.low}, {record.high}] exceeds the bounds {measure.bounds}")


def _check_same_values(require: Require, records: Iterable[Record], others: Iterable[Record], cause: str) -> None:
    values, other_values = _index_values(records), _index_values(others)
    for key in values.keys() & other_values.keys():
        close = math.isclose(values[key], other_values[key], rel_tol=_CLOSE, abs_tol=_CLOSE)
        require(close, f"{key}: the value depends on {cause}: it is {values[key]} or {other_values[key]}")
    lacking = values.keys() ^ other_values.keys()
    require(not lacking, f"{', '.join(sorted(lacking))}: whether the value exists depends on {cause}")


def _index_values(records: Iterable[Record]) -> dict[str, float]:
    return {f"{record} {record.protocol}": record.value for record in records}


def _check_contributions(
    require: Require,
    known: Mapping[str, Measure],
    records: Iterable[Record],
    scores: pd.DataFrame,
    tolerances: Mapping[str, float],
) -> None:
    by_portion: dict[tuple[str, ...], dict[str, Record]] = {}
    for record in records:
        if record.view == "all" and record.part != OVERALL:
            place = (record.model, record.benchmark, record.part, record.language, record.protocol)
            by_portion.setdefault(place, {})[record.measure] = record
    for names, rows in scores.groupby(_PORTION, sort=False):
        found = by_portion.get(tuple(map(str, names)), {})
        for name, record in found.items():
            close = tolerances.get(name, _CLOSE_TO_BOUND)
            for values in known[name].items if name in known else ():
                expected = _recompute_value(values, rows)
                same = expected is None or math.isclose(expected, record.value, rel_tol=_CLOSE_TO_BOUND, abs_tol=close)
                require(same, f"{record}: its value is {record.value}, but its items contribute {expected}")


def _recompute_value(values: ItemValues, rows: pd.DataFrame) -> float | None:
    """Compute the value of a measure from the contributions of items; return None if the rows do not define a value."""
    if not set(values.roles) <= set(rows["role"]) or not set(values.columns) <= set(rows.columns):
        return None
    table = rows[rows["role"].isin(values.roles)].pivot_table(index="item", columns="role", values="score")
    table = table.dropna(subset=list(values.roles))
    about = rows.drop_duplicates("item").set_index("item").loc[table.index]
    labels = about[values.columns[0]].to_numpy(dtype=object) if values.weigh is not None else None
    sides = about[values.sides].to_numpy(dtype=object) if values.sides in about else None
    if table.empty or not values.is_defined(labels, sides):
        return None
    inputs = {role: table[role].to_numpy(dtype=float) for role in values.roles}
    inputs |= {name: about[name].to_numpy(dtype=float) for name in values.number_columns}
    contributed = values.contributions(inputs)
    weights = values.compute_weights(about.index.to_numpy() if labels is None else labels, sides)
    return float(np.min(values.pieces(contributed @ weights)))


def _check_bad_scores(require: Require, module: Any, scores: pd.DataFrame) -> None:
    bad = scores.copy()
    bad["score"] = bad["score"].astype(float)
    bad.loc[bad["role"] == bad["role"].iloc[0], "score"] = float("nan")
    try:
        records = module.measure(bad, margins=None, intervals=True)
    except TiltmeterError:
        return
    except Exception as error:
        require(False, f"NaN scores raise {type(error).__name__}: {error}; raise a DataError")
    same = _index_values(records) == _index_values(module.measure(scores, margins=None, intervals=True))
    require(not same, "NaN scores raise no error and do not change the values; raise a DataError")
