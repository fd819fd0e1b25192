"""Correlations between measures and parts of a benchmark over models.

The means of languages are removed, and a model that was measured in several languages has one value: its mean.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from tiltmeter.comparing.cells import Cell
from tiltmeter.comparing.item_statistics import FEWEST_FOR_INTERVAL, compute_fisher_interval
from tiltmeter.comparing.language_validity import MeasureCorrelation
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.records import OVERALL
from tiltmeter.measures.standard_errors import Floats
from tiltmeter.measures.verdict import Verdict


def correlate_measures(
    cells: Sequence[Cell], unreliable: Mapping[tuple[str, ...], Verdict]
) -> Iterator[MeasureCorrelation]:
    """Yield the correlations of all pairs of measures and parts, for each benchmark."""
    for benchmark in dict.fromkeys(cell.benchmark for cell in cells):
        used = [cell for cell in cells if cell.benchmark == benchmark and cell.part != OVERALL]
        table = _build_table(used, unreliable).dropna()
        models = len(set(table.index.get_level_values("model")))
        languages = len(set(table.index.get_level_values("language")))
        if models < FEWEST_FOR_INTERVAL or table.shape[1] < 2:
            continue
        centred = table - table.groupby(level="language").transform("mean")
        values = centred.groupby(level="model").mean()
        # Each language mean that is removed costs a degree of freedom.
        yield from _correlate_columns(benchmark, values, models, models - languages + 1)


def _build_table(cells: Sequence[Cell], unreliable: Mapping[tuple[str, ...], Verdict]) -> pd.DataFrame:
    """Return a table with a row for each model and language and a column for each measure and part."""
    values: dict[str, dict[tuple[str, str], float]] = {}
    for cell in cells:
        for quantity in cell.list_quantities():
            if not quantity.values.is_mean or (quantity.measure.is_about_bias and cell.key in unreliable):
                continue
            name = quantity.name if cell.part == "all" else f"{quantity.name}, {cell.part}"
            values.setdefault(name, {}).setdefault((cell.model, cell.language), _compute_value(cell, quantity))
    index = pd.MultiIndex.from_tuples(
        sorted({place for column in values.values() for place in column}), names=["model", "language"]
    )
    return pd.DataFrame({name: pd.Series(column) for name, column in values.items()}, index=index)


def _compute_value(cell: Cell, quantity: Quantity) -> float:
    items = cell.list_items(quantity)
    labels = cell.get_strata(quantity, items)
    answers = cell.compute_item_values(quantity, items)[0]
    if labels is None:
        return float(answers.mean())
    if not cell.supports_quantity(quantity, items):
        return float("nan")
    return float(answers @ quantity.values.compute_weights(labels, cell.get_stratum_sides(quantity, items)))


def _correlate_columns(
    benchmark: str, table: pd.DataFrame, models: int, effective: int
) -> Iterator[MeasureCorrelation]:
    values = table.to_numpy(dtype=np.float64)
    controls = values.shape[1] - 2
    if (np.ptp(values, axis=0) < 1e-9).any():
        return
    simple = np.corrcoef(values.T)
    partial = _compute_partial(simple) if controls and effective - controls >= FEWEST_FOR_INTERVAL else None
    for one, two in combinations(range(values.shape[1]), 2):
        interval = compute_fisher_interval(float(simple[one, two]), effective)
        of_partial = None if partial is None else float(partial[one, two])
        limits = None if of_partial is None else compute_fisher_interval(of_partial, effective - controls)
        yield MeasureCorrelation(
            benchmark=benchmark,
            left=str(table.columns[one]),
            right=str(table.columns[two]),
            models=models,
            correlation=float(simple[one, two]),
            low=None if interval is None else interval[0],
            high=None if interval is None else interval[1],
            partial=of_partial,
            partial_low=None if limits is None else limits[0],
            partial_high=None if limits is None else limits[1],
        )


def _compute_partial(correlations: Floats) -> Floats | None:
    """Return the partial correlations of all pairs of variables, given all other variables; None if undefined."""
    if np.linalg.cond(correlations) > 1e8:
        return None
    inverse = np.linalg.inv(correlations)
    scale = np.sqrt(np.diag(inverse))
    return np.asarray(-inverse / np.outer(scale, scale))
