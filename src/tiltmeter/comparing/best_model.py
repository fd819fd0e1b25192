"""The best of several models in a measure, if the paired tests tell it apart from all others."""

from collections.abc import Sequence

from tiltmeter.comparing.cells import Cell
from tiltmeter.comparing.comparability import list_differing_conditions
from tiltmeter.measures.contrasts import compute_contrast
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.verdict_rule import ALPHA


def find_best_model(cells: Sequence[Cell], measure: str) -> Cell | None:
    """The cell that is significantly closer to the ideal of a measure than every other one; None if there is none.

    Each test is on the items that the two have, and its p-value is multiplied by the number of other models. That is
    enough although the best is chosen by the same data: for a wrong choice its test against the model that is truly
    best has to fail, and there are as many such tests as there are other models. Measures that are no function of means
    of items, and cells that are not comparable, have no best.
    """
    quantities = [_get_quantity(cell, measure) for cell in cells]
    first = quantities[0] if quantities else None
    if first is None or len(cells) < 2 or first.measure.ideal is None or any(other != first for other in quantities):
        return None
    best = min(cells, key=lambda cell: _compute_distance(cell, first))
    others = [cell for cell in cells if cell is not best]
    return best if all(_is_closer(best, other, first, len(others)) for other in others) else None


def _get_quantity(cell: Cell, measure: str) -> Quantity | None:
    """The measure as it is compared item by item; of g_s, which is a ratio, that is its logarithm."""
    found = {quantity.name: quantity for quantity in cell.list_quantities()}
    return found.get(measure) or found.get(f"log {measure}")


def _compute_distance(cell: Cell, quantity: Quantity) -> float:
    items = cell.items(quantity)
    if not len(items) or not cell.supports_quantity(quantity, items):
        return float("inf")
    values, labels = cell.values(quantity, items), cell.labels(quantity, items)
    means = values.mean(axis=1)
    if labels is not None:
        means = values @ quantity.values.weights(labels, cell.sides(quantity, items))
    return abs(float(min(quantity.values.pieces(means))) - quantity.ideal)


def _is_closer(best: Cell, other: Cell, quantity: Quantity, tests: int) -> bool:
    items = best.items(quantity).intersection(other.items(quantity)).sort_values()
    if (
        list_differing_conditions(best, other, quantity.measure)
        or not len(items)
        or not best.supports_quantity(quantity, items)
    ):
        return False
    result = compute_contrast(
        quantity,
        best.values(quantity, items),
        other.values(quantity, items),
        best.labels(quantity, items),
        best.clusters(quantity, items),
        sides=best.sides(quantity, items),
    )
    return tests * result.p_value < ALPHA and result.farther_high < 0
