"""What the items of a run contribute to a measure, read from its scores: only the rows and columns that are needed."""

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
from tiltmeter.measures.measure import Quantity, get_measure, list_quantities, select_clusters
from tiltmeter.measures.records import OVERALL, get_base_protocol
from tiltmeter.measures.standard_errors import Floats, Labels
from tiltmeter.runs.run_files import MEASURES, SCORES
from tiltmeter.runs.run_validation import read_columns

# The columns of a table of scores, by name.
Scores = Mapping[str, NDArray[Any]]

_NOT_NEEDED = ("candidate", "translation")
# The value that is shown and the mean of the items may differ by rounding.
_CLOSE = 1e-6


@dataclass(frozen=True, slots=True)
class CellValues:
    """The items of a cell, sorted, what each contributes to a measure, and their strata, sides and clusters."""

    quantity: Quantity
    items: NDArray[np.object_]
    values: Floats
    labels: Labels | None
    sides: Labels | None
    clusters: Labels | None


def read_scores(folder: Path) -> Scores | None:
    """The scores of a run, without what the tests do not need; None if it has none."""
    path = folder / SCORES
    return read_columns(path, _NOT_NEEDED) if path.is_file() else None


def compute_item_values(scores: Scores, cell: BoardCell, key: ColumnKey) -> CellValues | None:
    """The contributions of a cell's items; None if its measure is not a mean over items."""
    rows = _select_rows(scores, cell, key)
    quantity = _find_quantity(key, rows)
    if quantity is None:
        return None
    names = rows["item"] if key.part != OVERALL else rows["part"] + "/" + rows["item"]
    place, items = pd.factorize(names, sort=True)
    first = np.unique(place, return_index=True)[1]
    numbers = rows["score"].astype(float)
    by_role = {role: np.full(len(items), np.nan) for role in quantity.values.roles}
    for role, found in by_role.items():
        of_role = rows["role"] == role
        found[place[of_role]] = numbers[of_role]
    there = np.all([np.isfinite(found) for found in by_role.values()], axis=0)
    if not there.all() and not quantity.values.may_be_missing:
        raise DataError(f"{SCORES} has no finite score of item {items[int(np.argmin(there))]} in every role.")
    kept = first[there]
    labels, sides = quantity.values.columns[:1], quantity.values.sides
    contributed = CellValues(
        quantity,
        items[there],
        quantity.values.contributions({role: found[there] for role, found in by_role.items()})[0],
        _convert_labels(rows[labels[0]][kept]) if quantity.values.weigh is not None else None,
        _convert_labels(rows[sides][kept]) if sides in rows else None,
        select_clusters(
            quantity.values,
            {name: _convert_labels(rows[name][kept]) for name in quantity.values.clusters if name in rows},
        ),
    )
    _check_value(contributed, cell)
    return contributed


def _check_value(found: CellValues, cell: BoardCell) -> None:
    """A DataError if the items have another mean than the value that is shown, as scores of another run have."""
    quantity = found.quantity
    if not len(found.items) or not quantity.values.is_defined(found.labels, found.sides):
        return
    weights = quantity.values.weights(found.items if found.labels is None else found.labels, found.sides)
    shown = get_measure(cell.record.measure)
    value = math.log(cell.record.value) if shown.ratio and not quantity.measure.ratio else cell.record.value
    if not math.isclose(float(found.values @ weights), value, rel_tol=_CLOSE, abs_tol=_CLOSE):
        raise DataError(f"{SCORES} and {MEASURES} have different values of {cell.record.measure}.")


def _select_rows(scores: Scores, cell: BoardCell, key: ColumnKey) -> Scores:
    """The scores of one model on one part, or on all parts that are pooled; without columns that are empty there."""
    keep = (scores["model"] == cell.record.model) & (scores["benchmark"] == key.benchmark)
    keep &= scores["language"] == key.language
    if key.part == OVERALL:
        families = {
            name: get_base_protocol(str(name)) == get_base_protocol(key.protocol) for name in set(scores["protocol"])
        }
        keep &= np.array([families[name] for name in scores["protocol"]], dtype=bool)
    else:
        keep &= (scores["part"] == key.part) & (scores["protocol"] == key.protocol)
    rows = {name: values[keep] for name, values in scores.items()}
    return {name: values for name, values in rows.items() if not pd.isna(values).all()}


def _find_quantity(key: ColumnKey, rows: Scores) -> Quantity | None:
    """The measure with its contributions; g_s of one part is compared by its logarithm, over several parts not."""
    names = (key.measure,) if key.part == OVERALL else (key.measure, f"log {key.measure}")
    found = list_quantities(set(rows.get("role", ())), rows)
    return next((one for one in found if one.name in names and one.values.is_mean), None)


def _convert_labels(values: NDArray[Any]) -> Labels:
    """An attribute of items; numbers are whole, also where other benchmarks of the table have none."""
    if values.dtype.kind == "f" and np.array_equal(values, np.round(values)):
        values = values.astype(int)
    return values.astype(object)
