"""Compute the contribution of each item to the value of a measure, from the scores of a run."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiltmeter.cluster.board.columns import BoardCell, ColumnKey
from tiltmeter.errors import DataError
from tiltmeter.measures import is_measure_module, list_comparable_quantities
from tiltmeter.measures.factors import Factors, Labels, build_factors
from tiltmeter.measures.measure import Quantity, get_measure
from tiltmeter.measures.records import OVERALL, get_base_protocol
from tiltmeter.measures.standard_errors import Floats
from tiltmeter.runs.manifest import Manifest
from tiltmeter.runs.measurement import find_module
from tiltmeter.runs.run_files import MEASURES, SCORES
from tiltmeter.runs.run_validation import read_columns

# A table of scores, as a dictionary from column names to arrays.
Scores = Mapping[str, NDArray[Any]]

_NOT_NEEDED = ("candidate", "translation")
# Maximum rounding difference between the recorded value of a measure and the mean over the items.
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class CellValues:
    """The items of one cell of the board, which is one model in one column.

    `items` are the sorted names of the items, and `values` their contributions to the measure. `labels` are the strata
    of the items (such as their stereotypes), `sides` the sides of the strata (such as feminine), and `factors` the
    factors that items share (such as templates).
    """

    quantity: Quantity
    items: NDArray[np.object_]
    values: Floats
    labels: Labels | None
    sides: Labels | None
    factors: Factors | None


def read_scores(folder: Path) -> Scores | None:
    """Return the columns of a run's scores that the ranking needs; None if the run has no table of scores."""
    path = folder / SCORES
    return read_columns(path, _NOT_NEEDED) if path.is_file() else None


def compute_item_values(scores: Scores, cell: BoardCell, key: ColumnKey) -> CellValues | None:
    """Return the contributions of a cell's items to the measure; None if the measure is not a mean over items."""
    rows = _select_rows(scores, cell, key)
    quantity = _find_quantity(key, rows, cell.run.manifest)
    if quantity is None:
        return None
    names = rows["item"] if key.part != OVERALL else rows["part"] + "/" + rows["item"]
    indices, items = pd.factorize(names, sort=True)
    first = np.unique(indices, return_index=True)[1]
    numbers = rows["score"].astype(float)
    by_role = {role: np.full(len(items), np.nan) for role in quantity.values.roles}
    for role, scores_of_role in by_role.items():
        of_role = rows["role"] == role
        scores_of_role[indices[of_role]] = numbers[of_role]
    is_complete = np.all([np.isfinite(scores_of_role) for scores_of_role in by_role.values()], axis=0)
    if not is_complete.all() and not quantity.values.may_be_missing:
        raise DataError(f"{SCORES}: a score of item {items[int(np.argmin(is_complete))]} is missing or not finite.")
    kept = first[is_complete]
    labels, sides = quantity.values.columns[:1], quantity.values.sides
    inputs = {role: scores_of_role[is_complete] for role, scores_of_role in by_role.items()}
    inputs |= {name: rows[name][kept].astype(float) for name in quantity.values.number_columns}
    values = CellValues(
        quantity,
        items[is_complete],
        quantity.values.contributions(inputs)[0],
        _convert_labels(rows[labels[0]][kept]) if quantity.values.weigh is not None else None,
        _convert_labels(rows[sides][kept]) if sides in rows else None,
        build_factors(
            {name: _convert_labels(rows[name][kept]) for name in quantity.values.factors if name in rows},
            quantity.values.factors,
        ),
    )
    _check_value(values, cell)
    return values


def _check_value(values: CellValues, cell: BoardCell) -> None:
    """Raise a DataError if the weighted mean over the items differs from the value of the measure in the run."""
    quantity = values.quantity
    if not len(values.items) or not quantity.values.is_defined(values.labels, values.sides):
        return
    weights = quantity.values.compute_weights(values.items if values.labels is None else values.labels, values.sides)
    is_ratio = get_measure(cell.record.measure).ratio
    expected = math.log(cell.record.value) if is_ratio and not quantity.measure.ratio else cell.record.value
    if not math.isclose(float(values.values @ weights), expected, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
        raise DataError(f"{SCORES} and {MEASURES} contain different values of {cell.record.measure}.")


def _select_rows(scores: Scores, cell: BoardCell, key: ColumnKey) -> Scores:
    """Return the scores of a cell's model on the part of the column or, for pooled values, on all parts.

    Empty columns are left out.
    """
    keep = (scores["model"] == cell.record.model) & (scores["benchmark"] == key.benchmark)
    keep &= scores["language"] == key.language
    if key.part == OVERALL:
        is_same = {
            name: get_base_protocol(str(name)) == get_base_protocol(key.protocol) for name in set(scores["protocol"])
        }
        keep &= np.array([is_same[name] for name in scores["protocol"]], dtype=bool)
    else:
        keep &= (scores["part"] == key.part) & (scores["protocol"] == key.protocol)
    rows = {name: values[keep] for name, values in scores.items()}
    return {name: values for name, values in rows.items() if not pd.isna(values).all()}


def _find_quantity(key: ColumnKey, rows: Scores, manifest: Manifest) -> Quantity | None:
    """Return how items contribute to the measure of a column; None if the measure is not a mean over items.

    For a single part, the logarithm of a ratio such as g_s replaces the ratio, because only the logarithm is a mean.
    """
    names = (key.measure,) if key.part == OVERALL else (key.measure, f"log {key.measure}")
    roles = set(rows.get("role", ()))
    module = find_module(manifest, key.benchmark, roles, set(rows))
    if module is None or not is_measure_module(module):
        return None
    quantities = list_comparable_quantities(module, roles, rows)
    return next((one for one in quantities if one.name in names and one.values.is_mean), None)


def _convert_labels(values: NDArray[Any]) -> Labels:
    """Return the values of an item attribute as Python objects; whole numbers stored as floats become integers."""
    if values.dtype.kind == "f" and np.array_equal(values, np.round(values)):
        values = values.astype(int)
    return values.astype(object)
