"""Panels: the contributions of items to one measure, for several models on one benchmark part and language."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from tiltmeter.comparing.cells import Cell
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.records import OVERALL
from tiltmeter.measures.standard_errors import Floats, Labels


@dataclass(frozen=True, slots=True)
class ItemPanel:
    """The contributions of items to a measure, for several models.

    `contributions` has a row for each model and a column for each item. `cells` are the models, `items` the shared
    items, `left_out` the number of items that some models do not have.
    """

    quantity: Quantity
    cells: tuple[Cell, ...]
    items: pd.Index
    contributions: Floats
    left_out: int = 0

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models; with the protocol if a name occurs twice."""
        names = [cell.model for cell in self.cells]
        return tuple(
            name if names.count(name) == 1 else f"{name} ({cell.protocol})"
            for name, cell in zip(names, self.cells, strict=True)
        )

    @property
    def location(self) -> str:
        """The benchmark, part and language."""
        return self.cells[0].location

    @property
    def language(self) -> str:
        """The language of the items."""
        return self.cells[0].language

    @property
    def is_quality(self) -> bool:
        """Whether the measure has a best value, such as LMS and accuracy, so that answers can be wrong."""
        return self.quantity.measure.ideal_at_bound

    def values(self, chosen: "np.ndarray[tuple[int], np.dtype[np.bool_]] | None" = None) -> Floats:
        """Return the measure of each model on the chosen items (None: all); NaN if it is not defined on them."""
        items = self.items if chosen is None else self.items[chosen]
        first, values = self.cells[0], self.quantity.values
        labels, sides = first.labels(self.quantity, items), first.sides(self.quantity, items)
        if not len(items) or not values.is_defined(labels, sides):
            return np.full(len(self.cells), np.nan)
        weights = np.full(len(items), 1 / len(items)) if labels is None else values.weights(labels, sides)
        table = self.contributions if chosen is None else self.contributions[:, chosen]
        return np.asarray(table @ weights, dtype=np.float64)

    def compute_strengths(self) -> Floats | None:
        """Return how much models prefer the stereotype in each item, as the mean rank within a model from 0 to 1.

        Ranks are used because probabilities of different models are not comparable. None if a model has no graded
        scale, for example a chat model.
        """
        scales = [(cell, cell.find_item_scale()) for cell in self.cells]
        graded = [(cell, scale) for cell, scale in scales if scale is not None and scale.strength.is_graded]
        if len(graded) < len(scales):
            return None
        ranks = np.array(
            [rankdata(cell.compute_strengths(scale, self.items)) / len(self.items) for cell, scale in graded]
        )
        return np.asarray(ranks.mean(axis=0), dtype=np.float64)

    def compute_directions(self) -> Floats:
        """Return 1 for each item whose higher contributions are towards stereotypes, -1 for the others."""
        return self.cells[0].compute_directions(self.quantity, self.items)

    def compute_weights(self) -> Floats | None:
        """Return the weight of each item in the measure; None if all are equal."""
        first = self.cells[0]
        labels, sides = first.labels(self.quantity, self.items), first.sides(self.quantity, self.items)
        return None if labels is None else self.quantity.values.weights(labels, sides)

    def list_cluster_columns(self) -> tuple[str, ...]:
        """Return the columns that can define clusters of items."""
        known = self.cells[0].attributes.columns
        return tuple(name for name in self.quantity.values.clusters if name in known)

    def clusters(self) -> Labels | None:
        """Return the clusters of the items (targets or templates), if the measure has any."""
        return self.cells[0].clusters(self.quantity, self.items)


def build_panels(cells: Sequence[Cell]) -> Iterator[ItemPanel]:
    """Yield, for each part and language, a panel for the primary measure and for measures with a best value.

    Pooled parts are left out, because they have the same items. If a model occurs in several runs with the same
    protocol, the first run is used.
    """
    groups: dict[tuple[str, str, str], dict[tuple[str, str], Cell]] = {}
    for cell in cells:
        if cell.part != OVERALL:
            models = groups.setdefault((cell.benchmark, cell.part, cell.language), {})
            models.setdefault((cell.model, cell.protocol), cell)
    for models in groups.values():
        by_measure: dict[str, list[tuple[Cell, Quantity]]] = {}
        for cell in models.values():
            has_primary = False
            for quantity in cell.list_quantities():
                if quantity.values.is_mean and (
                    quantity.measure.ideal_at_bound or (quantity.measure.decides and not has_primary)
                ):
                    has_primary |= quantity.measure.decides
                    by_measure.setdefault(quantity.name, []).append((cell, quantity))
        for members in by_measure.values():
            yield _build_panel([cell for cell, _ in members], members[0][1])


def _build_panel(cells: Sequence[Cell], quantity: Quantity) -> ItemPanel:
    items = cells[0].items(quantity)
    seen = set(items)
    for cell in cells[1:]:
        own = cell.items(quantity)
        seen.update(own)
        items = items[items.isin(own)]
    contributions = np.vstack([cell.values(quantity, items) for cell in cells])
    return ItemPanel(quantity, tuple(cells), items, contributions, len(seen) - len(items))
