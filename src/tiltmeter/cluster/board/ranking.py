"""Rank the models of a column, and test each model against the reference model of the column.

Every pair of models is tested for equal distance from the ideal. The p-values are corrected by Holm's method over all
pairs of the column, so they are valid for any choice of the reference model. Tests are paired by item; they use the
items that both runs share. If scores are missing or a measure is not a mean over items, a test uses only the intervals
of the two values and has less power.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiltmeter.cluster.board.board_runs import BoardRun
from tiltmeter.cluster.board.columns import BoardCell, BoardColumn, ColumnKey
from tiltmeter.cluster.board.item_values import CellValues, compute_item_values, read_scores
from tiltmeter.comparing.rank_ranges import adjust_pairs_holm, compute_rank_ranges, compute_unpaired_p_values
from tiltmeter.errors import TiltmeterError
from tiltmeter.measures import get_measure
from tiltmeter.measures.pairwise_tests import SharedItems, compute_distance_p_values
from tiltmeter.measures.standard_errors import Floats
from tiltmeter.measures.verdict_rule import ALPHA

# Maximum number of different item sets in a column for paired tests. If there are more, tests use only the intervals.
_MOST_SETS = 40
# Minimum share of the items of the smaller set that two item sets must have in common for a paired test.
_FEWEST_SHARED = 0.5
# Replaces a value of 0 of a ratio measure; 0 has no logarithm and occurs only in damaged files.
_SMALLEST = 1e-300

# Maps a column and a model to the contributions of the model's items.
_Values = Mapping[tuple[ColumnKey, str], CellValues]


def rank_columns(columns: Sequence[BoardColumn], reference: str = "") -> tuple[list[BoardColumn], list[str]]:
    """Add ranks and reference models to columns; return the columns, and notes on scores that could not be read.

    `reference` is the name of the reference model. If it is empty or the model is not in a column, the reference is the
    model of the column that is closest to the ideal.
    """
    groups: dict[tuple[str, str], list[int]] = {}
    for number, column in enumerate(columns):
        groups.setdefault((column.key.benchmark, column.key.language), []).append(number)
    completed, notes = list(columns), []
    for numbers in groups.values():
        values, unread = _read_values([columns[number] for number in numbers])
        notes += unread
        for number in numbers:
            completed[number] = _rank_column(columns[number], values, reference)
    return completed, list(dict.fromkeys(notes))


def _rank_column(column: BoardColumn, values: _Values, reference: str) -> BoardColumn:
    cells = [cell for cell in column.cells if cell.can_be_ranked]
    if len(cells) < 2:
        return column
    p_values, paired = _test_pairs(cells, [values.get((column.key, cell.model)) for cell in cells])
    corrected = adjust_pairs_holm(p_values)
    distances = np.array([cell.distance for cell in cells])
    names = [cell.model for cell in cells]
    chosen = names.index(reference) if reference in names else int(np.argmin(distances))
    completed = {
        cell.model: replace(
            cell,
            rank=rank,
            ranked=len(cells),
            relation=_describe_relation_to_reference(number, chosen, distances, corrected),
            p_reference=None if number == chosen else float(corrected[number, chosen]),
        )
        for number, (cell, rank) in enumerate(zip(cells, compute_rank_ranges(distances, corrected), strict=True))
    }
    return replace(
        column,
        cells=tuple(completed.get(cell.model, cell) for cell in column.cells),
        reference=names[chosen],
        paired=paired,
    )


def _describe_relation_to_reference(number: int, chosen: int, distances: Floats, corrected: Floats) -> str:
    if number == chosen:
        return "reference"
    if corrected[number, chosen] >= ALPHA:
        return "not told apart"
    return "farther" if distances[number] > distances[chosen] else "closer"


def _read_values(columns: Iterable[BoardColumn]) -> tuple[_Values, list[str]]:
    """Return the contributions of the items in all columns, and notes on scores that cannot be read.

    The scores of each run are read only once.
    """
    wanted: dict[Path, tuple[BoardRun, list[tuple[ColumnKey, BoardCell]]]] = {}
    for column in columns:
        cells = [cell for cell in column.cells if cell.can_be_ranked]
        for cell in cells if len(cells) > 1 else ():
            wanted.setdefault(cell.run.folder, (cell.run, []))[1].append((column.key, cell))
    values: dict[tuple[ColumnKey, str], CellValues] = {}
    last: dict[ColumnKey, CellValues] = {}
    notes = []
    for run, cells_of_run in wanted.values():
        try:
            scores = read_scores(run.folder)
            for key, cell in cells_of_run:
                if scores is not None and (computed := compute_item_values(scores, cell, key)) is not None:
                    previous = last.get(key)
                    if previous is not None and np.array_equal(previous.items, computed.items):
                        # Share the array with the names of the items, to save memory.
                        computed = replace(computed, items=previous.items)
                    values[key, cell.model] = last[key] = computed
        except (TiltmeterError, OSError, ValueError, KeyError) as error:
            reason = str(error).replace(str(run.folder), run.name)
            notes.append(
                f"The scores of {run.name} cannot be used, so the ranges of ranks of its models are wider: {reason}"
            )
    return values, notes


def _test_pairs(cells: Sequence[BoardCell], values: Sequence[CellValues | None]) -> tuple[Floats, bool]:
    """Return a matrix with the p-values of all pairs of models, and whether all tests are paired."""
    p_values = _test_from_standard_errors(cells)
    is_paired = np.eye(len(cells), dtype=bool)
    distances = np.array([cell.distance for cell in cells])
    sets = _group_by_items(values)
    for number, first in enumerate(sets if len(sets) <= _MOST_SETS else ()):
        for second in sets[number:]:
            _test_on_shared_items(values, first, second, distances, p_values, is_paired)
    return p_values, bool(is_paired.all())


def _test_from_standard_errors(cells: Sequence[BoardCell]) -> Floats:
    """Return the p-values of all pairs of models from their standard errors only; ratios are tested as logarithms."""
    measure = get_measure(cells[0].record.measure)
    values = np.array([cell.record.value for cell in cells], dtype=float)
    ends = np.array([cell.record.interval for cell in cells], dtype=float)
    ideal = measure.ideal or 0.0
    if measure.ratio:
        values, ends, ideal = np.log(np.maximum(values, _SMALLEST)), np.log(np.maximum(ends, _SMALLEST)), np.log(ideal)
    # If a standard error is missing, compute it from the longer side of the 95% interval.
    derived = np.abs(ends - values[:, None]).max(axis=1) / 1.96
    errors = np.array([cell.record.standard_error or derived[number] for number, cell in enumerate(cells)])
    df = np.array([max(1, cell.record.df or cell.record.n - 1) for cell in cells], dtype=float)
    return compute_unpaired_p_values(values, float(ideal), errors, df)


def _group_by_items(values: Sequence[CellValues | None]) -> list[list[int]]:
    """Group the models that have the same items; each group is a list of model indices.

    Models without scores are in no group.
    """
    sets: dict[str, list[int]] = {}
    for number, one in enumerate(values):
        if one is not None and len(one.items) > 1:
            sets.setdefault("\n".join(one.items), []).append(number)
    return list(sets.values())


def _test_on_shared_items(
    values: Sequence[CellValues | None],
    first: Sequence[int],
    second: Sequence[int],
    distances: Floats,
    p_values: Floats,
    is_paired: NDArray[np.bool_],
) -> None:
    """Test each pair of models from two groups on the items that the groups share, paired by item.

    The function writes the results to `p_values` and `is_paired`. `distances` are the distances of the displayed values
    from the ideal, computed on all items of a run. If the shared items rank two models in the opposite order, the
    p-value is 1.
    """
    numbers = [*first, *(number for number in second if number not in first)]
    tested_values = [one for number in numbers if (one := values[number]) is not None]
    leading, trailing = tested_values[0], tested_values[-1]
    same = leading.items is trailing.items or np.array_equal(leading.items, trailing.items)
    shared = leading.items if same else np.intersect1d(leading.items, trailing.items)
    fewest = max(2.0, _FEWEST_SHARED * min(len(leading.items), len(trailing.items)))
    if len(tested_values) < 2 or len(shared) < fewest:
        return
    table = np.array([one.values[np.searchsorted(one.items, shared)] for one in tested_values])
    indices = np.searchsorted(leading.items, shared)
    labels, sides = (None if each is None else each[indices] for each in (leading.labels, leading.sides))
    factors = None if leading.factors is None else leading.factors.select_rows(indices)
    if not leading.quantity.values.is_defined(labels, sides):
        return
    tested = compute_distance_p_values(leading.quantity, table, SharedItems(labels, sides, factors))
    if not same:
        weights = leading.quantity.values.compute_weights(shared if labels is None else labels, sides)
        on_shared = np.abs(table @ weights - leading.quantity.ideal)
        directions = [np.sign(each[:, None] - each[None, :]) for each in (on_shared, distances[numbers])]
        tested = np.where(directions[0] == directions[1], tested, 1.0)
    rows, others = range(len(first)), [numbers.index(number) for number in second]
    p_values[np.ix_(first, second)] = tested[np.ix_(rows, others)]
    p_values[np.ix_(second, first)] = tested[np.ix_(others, rows)]
    is_paired[np.ix_(first, second)] = is_paired[np.ix_(second, first)] = True
