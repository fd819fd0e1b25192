"""What the items of a run contribute to a measure, read from its scores: only the rows and columns that are needed."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiltmeter.cluster.board.columns import BoardCell, ColumnKey
from tiltmeter.errors import DataError
from tiltmeter.measures.measure import Quantity, clusters_of, quantities_for
from tiltmeter.measures.records import OVERALL, protocol_family
from tiltmeter.measures.standard_errors import Floats, Labels
from tiltmeter.runs.run_files import SCORES
from tiltmeter.runs.run_shape import read_table

_NOT_NEEDED = ("candidate", "translation")


@dataclass(frozen=True, slots=True)
class CellValues:
    """The items of a cell, sorted, what each contributes to a measure, and their strata, sides and clusters."""

    quantity: Quantity
    items: NDArray[np.object_]
    values: Floats
    labels: Labels | None
    sides: Labels | None
    clusters: Labels | None


def scores_of(folder: Path) -> pd.DataFrame | None:
    """The scores of a run, without what the tests do not need; None if it has none."""
    path = folder / SCORES
    return read_table(path, _NOT_NEEDED) if path.is_file() else None


def item_values(scores: pd.DataFrame, cell: BoardCell, key: ColumnKey) -> CellValues | None:
    """The contributions of a cell's items; None if its measure is not a mean over items."""
    rows = _rows(scores, cell, key)
    quantity = _quantity(key, rows)
    if quantity is None or rows.empty:
        return None
    names = rows["item"].astype(str)
    if key.part == OVERALL:
        names = rows["part"].astype(str) + "/" + names
    place, items = pd.factorize(names.to_numpy(dtype=object), sort=True)
    first = np.unique(place, return_index=True)[1]
    numbers, roles = rows["score"].to_numpy(dtype=float), rows["role"].to_numpy(dtype=object)
    by_role = {role: np.full(len(items), np.nan) for role in quantity.values.roles}
    for role, found in by_role.items():
        of_role = roles == role
        found[place[of_role]] = numbers[of_role]
    there = np.all([np.isfinite(found) for found in by_role.values()], axis=0)
    if not there.all() and not quantity.values.may_be_missing:
        raise DataError(f"{SCORES} has no finite score of item {items[int(np.argmin(there))]} in every role.")
    kept = rows.iloc[first[there]]
    return CellValues(
        quantity,
        items[there],
        quantity.values.contributions({role: found[there] for role, found in by_role.items()})[0],
        _column(kept, quantity.values.columns[0]) if quantity.values.weigh is not None else None,
        _column(kept, quantity.values.sides) if quantity.values.sides in kept.columns else None,
        clusters_of(quantity.values, {name: _column(kept, name) for name in quantity.values.clusters if name in kept}),
    )


def _rows(table: pd.DataFrame, cell: BoardCell, key: ColumnKey) -> pd.DataFrame:
    """The scores of one model on one part, or on all parts that are pooled."""
    record = cell.record
    keep = (table["model"] == record.model) & (table["benchmark"] == key.benchmark)
    keep &= table["language"] == key.language
    if key.part == OVERALL:
        families = {name: protocol_family(str(name)) for name in table["protocol"].unique()}
        keep &= table["protocol"].map(families) == protocol_family(key.protocol)
    else:
        keep &= (table["part"] == key.part) & (table["protocol"] == key.protocol)
    return table[keep].dropna(axis="columns", how="all")


def _quantity(key: ColumnKey, rows: pd.DataFrame) -> Quantity | None:
    """The measure with its contributions; g_s of one part is compared by its logarithm, over several parts not."""
    names = (key.measure,) if key.part == OVERALL else (key.measure, f"log {key.measure}")
    found = quantities_for(rows["role"].unique(), map(str, rows.columns))
    return next((one for one in found if one.name in names and one.values.is_mean), None)


def _column(rows: pd.DataFrame, name: str) -> Labels:
    """An attribute of the items; whole numbers stay whole where other benchmarks of the table have none."""
    return rows[name].convert_dtypes().to_numpy(dtype=object)
