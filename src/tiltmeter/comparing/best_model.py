"""The best of several models in a measure, if its difference from every other model is significant."""

from collections.abc import Sequence

from tiltmeter.comparing.cells import Cell
from tiltmeter.comparing.comparability import Across, list_differing_conditions
from tiltmeter.measures.contrasts import compute_contrast
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.verdict_rule import ALPHA


def find_best_model(cells: Sequence[Cell], measure: str, across: Sequence[Across] = ()) -> Cell | None:
    """Return the cell (model) that is significantly closer to the ideal of a measure than all other cells, or None.

    The test of two cells uses the items that they share. P-values are multiplied by the number of other models. This
    correction is sufficient although the best model is selected with the same data: a wrong model is returned only if
    its test against the truly best model is a false positive. Return None if the cells differ in conditions that are
    not in `across`, or if items have no contributions to the measure.
    """
    quantities = [_get_quantity(cell, measure) for cell in cells]
    first = quantities[0] if quantities else None
    if first is None or len(cells) < 2 or first.measure.ideal is None or any(other != first for other in quantities):
        return None
    best = min(cells, key=lambda cell: _compute_distance(cell, first))
    others = [cell for cell in cells if cell is not best]
    return best if all(_is_closer(best, other, first, len(others), across) for other in others) else None


def _get_quantity(cell: Cell, measure: str) -> Quantity | None:
    """Return the quantity in which models are compared for a measure; for the ratio g_s, it is the logarithm of g_s."""
    quantities = {quantity.name: quantity for quantity in cell.list_quantities()}
    return quantities.get(measure) or quantities.get(f"log {measure}")


def _compute_distance(cell: Cell, quantity: Quantity) -> float:
    items = cell.list_items(quantity)
    if not len(items) or not cell.supports_quantity(quantity, items):
        return float("inf")
    values, labels = cell.compute_item_values(quantity, items), cell.get_strata(quantity, items)
    means = values.mean(axis=1)
    if labels is not None:
        means = values @ quantity.values.compute_weights(labels, cell.get_stratum_sides(quantity, items))
    return abs(float(min(quantity.values.pieces(means))) - quantity.ideal)


def _is_closer(best: Cell, other: Cell, quantity: Quantity, tests: int, across: Sequence[Across]) -> bool:
    items = best.list_items(quantity).intersection(other.list_items(quantity)).sort_values()
    if (
        set(list_differing_conditions(best, other, quantity.measure)) - set(across)
        or not len(items)
        or not best.supports_quantity(quantity, items)
    ):
        return False
    result = compute_contrast(
        quantity,
        best.compute_item_values(quantity, items),
        other.compute_item_values(quantity, items),
        best.get_strata(quantity, items),
        best.build_factors(quantity, items),
        sides=best.get_stratum_sides(quantity, items),
    )
    return tests * result.p_value < ALPHA and result.farther_high < 0
