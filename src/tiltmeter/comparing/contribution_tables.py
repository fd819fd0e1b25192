"""Tables with the contributions of items to one measure, for several models on one part and language."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tiltmeter.comparing.cells import Cell
from tiltmeter.measures.factors import Factors
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.ranks import compute_average_ranks
from tiltmeter.measures.records import OVERALL
from tiltmeter.measures.standard_errors import Floats
from tiltmeter.runs.scoring_methods import PROTOCOL


@dataclass(frozen=True, slots=True)
class ContributionTable:
    """The contributions of items to a measure, for several models.

    `contributions` has a row for each model and a column for each item. `cells` are the scores of the models, `items`
    the items that all models have. `left_out` is the number of items that only some models have. `repeated` are the
    cells that were left out because each model counts once.
    """

    quantity: Quantity
    cells: tuple[Cell, ...]
    items: pd.Index
    contributions: Floats
    left_out: int = 0
    repeated: tuple[Cell, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models."""
        return tuple(cell.model for cell in self.cells)

    @property
    def location(self) -> str:
        """The benchmark, part and language."""
        return self.cells[0].location

    @property
    def language(self) -> str:
        """The language of the items."""
        return self.cells[0].language

    @property
    def measures_quality(self) -> bool:
        """Whether the ideal of the measure is its best value, as for LMS and accuracy, so that answers can be wrong."""
        return self.quantity.measure.ideal_at_bound

    def compute_model_values(self, chosen: "np.ndarray[tuple[int], np.dtype[np.bool_]] | None" = None) -> Floats:
        """Return the value of the measure for each model on the items of the mask `chosen`, or on all items.

        The value is NaN if the measure is not defined on the chosen items.
        """
        items = self.items if chosen is None else self.items[chosen]
        first, values = self.cells[0], self.quantity.values
        labels, sides = first.get_strata(self.quantity, items), first.get_stratum_sides(self.quantity, items)
        if not len(items) or not values.is_defined(labels, sides):
            return np.full(len(self.cells), np.nan)
        weights = np.full(len(items), 1 / len(items)) if labels is None else values.compute_weights(labels, sides)
        table = self.contributions if chosen is None else self.contributions[:, chosen]
        return np.asarray(table @ weights, dtype=np.float64)

    def compute_strengths(self) -> Floats | None:
        """Return how much models prefer the stereotype in each item, from 0 (least) to 1 (most).

        Items are ranked by their strength for each model, and the ranks are averaged over models, because probabilities
        of different models are not comparable. Return None if a model has no continuous scale, for example a chat
        model.
        """
        scales = [(cell, cell.find_item_scale()) for cell in self.cells]
        graded = [(cell, scale) for cell, scale in scales if scale is not None and scale.strength.is_graded]
        if len(graded) < len(scales):
            return None
        ranks = np.array(
            [
                compute_average_ranks(cell.compute_strengths(scale, self.items)) / len(self.items)
                for cell, scale in graded
            ]
        )
        return np.asarray(ranks.mean(axis=0), dtype=np.float64)

    def compute_directions(self) -> Floats:
        """Return 1 for each item whose higher contributions are more stereotypical, -1 for the other items."""
        return self.cells[0].compute_directions(self.quantity, self.items)

    def compute_weights(self) -> Floats | None:
        """Return the weight of each item in the measure; None if all weights are equal."""
        first = self.cells[0]
        labels, sides = first.get_strata(self.quantity, self.items), first.get_stratum_sides(self.quantity, self.items)
        return None if labels is None else self.quantity.values.compute_weights(labels, sides)

    def list_factor_columns(self) -> tuple[str, ...]:
        """Return the names of the attributes that can define clusters of items, such as the target."""
        known = self.cells[0].attributes.columns
        return tuple(name for name in self.quantity.values.factors if name in known)

    def build_factors(self) -> Factors | None:
        """Return the factors that items share (target, words, template); None if they share none."""
        return self.cells[0].build_factors(self.quantity, self.items)


def build_contribution_tables(cells: Sequence[Cell]) -> Iterator[ContributionTable]:
    """Yield a table of items by models for each part, language and measure that is primary or has a best value.

    A measure has a best value if its ideal is an end of its scale (100 for LMS). Pooled parts are left out, because
    their items are already in the single parts. Each model counts once: if it has several cells, the one with the
    protocol `published` is used, otherwise that of the first run. Runs with the same scores are copies of one model.
    """
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        if cell.part != OVERALL:
            groups.setdefault((cell.benchmark, cell.part, cell.language), []).append(cell)
    for group in groups.values():
        distinct = _select_distinct_models(group)
        repeated = tuple(cell for cell in group if not any(cell is kept for kept in distinct))
        by_measure: dict[str, list[tuple[Cell, Quantity]]] = {}
        for cell in distinct:
            has_primary = False
            for quantity in cell.list_quantities():
                if quantity.values.is_mean and (
                    quantity.measure.ideal_at_bound or (quantity.measure.decides and not has_primary)
                ):
                    has_primary |= quantity.measure.decides
                    by_measure.setdefault(quantity.name, []).append((cell, quantity))
        for members in by_measure.values():
            yield _build_contribution_table([cell for cell, _ in members], members[0][1], repeated)


def _select_distinct_models(cells: Sequence[Cell]) -> list[Cell]:
    """Return the scores (cell) of each model once, without models whose scores equal those of an earlier model."""
    by_model: dict[str, Cell] = {}
    for cell in sorted(cells, key=lambda cell: cell.protocol != PROTOCOL):
        by_model.setdefault(cell.model, cell)
    distinct: list[Cell] = []
    for cell in (cell for cell in cells if by_model[cell.model] is cell):
        if not any(cell.scores.equals(other.scores) for other in distinct):
            distinct.append(cell)
    return distinct


def _build_contribution_table(
    cells: Sequence[Cell], quantity: Quantity, repeated: tuple[Cell, ...]
) -> ContributionTable:
    items = cells[0].list_items(quantity)
    seen = set(items)
    for cell in cells[1:]:
        own = cell.list_items(quantity)
        seen.update(own)
        items = items[items.isin(own)]
    contributions = np.vstack([cell.compute_item_values(quantity, items) for cell in cells])
    return ContributionTable(quantity, tuple(cells), items, contributions, len(seen) - len(items), repeated)
