"""The contributions of items to a measure, for several members (models or languages) that all have these items."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tiltmeter.comparing.cells import Cell
from tiltmeter.comparing.comparability import Across, list_differing_conditions
from tiltmeter.measures.factors import Factors, Labels
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.standard_errors import Floats


@dataclass(frozen=True, slots=True)
class SharedAnswers:
    """The contributions of shared items: `answers` has a row per member (model or language), a column per item.

    `values` are the values of the measure for the members. `weights` are the weights of the items, `labels` are the
    strata of the items (such as stereotypes), and `sides` are the sides of the strata. `left_out` is the number of
    items that only some members have.
    """

    answers: Floats
    values: Floats
    weights: Floats
    labels: Labels | None
    factors: Factors | None
    sides: Labels | None
    left_out: int


def build_shared_answers(
    cells: Sequence[Cell],
    quantity: Quantity,
    across: Sequence[Across],
    where: str,
    member: Callable[[Cell], str],
    notes: list[str],
) -> SharedAnswers | None:
    """Return the contributions of shared items; if they are not comparable, return None and add the reason to `notes`.

    `where` is the location in the text of a note. `member` returns the name of a cell for a note.
    """
    first = cells[0]
    if not quantity.values.is_mean:
        notes.append(f"Not compared: {quantity.name}, which is not a mean over items.")
        return None
    if not _have_same_tokenizer(cells, quantity, across):
        notes.append(
            f"Not compared: {quantity.name}, a mean over the tokens of different tokenizers; to compare it anyway, "
            "add --across tokenizers."
        )
        return None
    items, left_out = find_shared_items(cells, quantity)
    fewest = min(cells, key=lambda cell: len(cell.list_items(quantity)))
    has_fewest = f"{member(fewest)} has the fewest items ({len(fewest.list_items(quantity)):,})"
    if not len(items):
        notes.append(
            f"Not compared: {quantity.name}, {where}, because all {len(cells)} results have no item in common; "
            f"{has_fewest}."
        )
        return None
    if not first.supports_quantity(quantity, items):
        notes.append(f"Not compared: {quantity.name}, {where}, because it is not defined on the shared items.")
        return None
    if left_out:
        notes.append(f"Left out, {where}: {left_out:,} items that not all {len(cells)} results have; {has_fewest}.")
    labels, sides = first.get_strata(quantity, items), first.get_stratum_sides(quantity, items)
    weights = np.full(len(items), 1 / len(items)) if labels is None else quantity.values.compute_weights(labels, sides)
    answers = np.vstack([cell.compute_item_values(quantity, items) for cell in cells])
    factors = first.build_factors(quantity, items)
    return SharedAnswers(answers, answers @ weights, weights, labels, factors, sides, left_out)


def _have_same_tokenizer(cells: Sequence[Cell], quantity: Quantity, across: Sequence[Across]) -> bool:
    if not quantity.measure.per_token or "tokenizers" in across:
        return True
    return all("tokenizers" not in list_differing_conditions(cells[0], other, quantity.measure) for other in cells[1:])


def find_shared_items(cells: Sequence[Cell], quantity: Quantity) -> tuple[pd.Index, int]:
    """Return the sorted items that all results (cells) have, and the number of items that only some have."""
    items = cells[0].list_items(quantity)
    every = items
    for cell in cells[1:]:
        own = cell.list_items(quantity)
        items, every = items.intersection(own), every.union(own)
    return items.sort_values(), len(every) - len(items)
