"""Panels: several models on the same items of one benchmark part and language, in one measure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from tiltmeter.benchmarks import get_benchmarks
from tiltmeter.comparing.cells import Cell
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.records import OVERALL
from tiltmeter.measures.standard_errors import Floats, Labels


@dataclass(frozen=True, slots=True)
class ItemPanel:
    """What each model's items contribute to a measure.

    `contributions` has a row for each model and a column for each item. `cells` are the models, `items` the items that
    all of them have, `left_out` the number of items that some lack.
    """

    quantity: Quantity
    cells: tuple[Cell, ...]
    items: pd.Index
    contributions: Floats
    left_out: int = 0

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models, with their protocols where one occurs twice."""
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
        """Whether the measure has a best value, as LMS and accuracy have, and items can be answered wrongly."""
        return self.quantity.measure.ideal_at_bound

    def values(self, chosen: "np.ndarray[tuple[int], np.dtype[np.bool_]] | None" = None) -> Floats:
        """The measure of each model, on some items; NaN where it is not defined on them."""
        items = self.items if chosen is None else self.items[chosen]
        first, values = self.cells[0], self.quantity.values
        labels, sides = first.labels(self.quantity, items), first.sides(self.quantity, items)
        if not len(items) or not values.is_defined(labels, sides):
            return np.full(len(self.cells), np.nan)
        weights = np.full(len(items), 1 / len(items)) if labels is None else values.weights(labels, sides)
        table = self.contributions if chosen is None else self.contributions[:, chosen]
        return np.asarray(table @ weights, dtype=np.float64)

    def compute_strengths(self) -> Floats | None:
        """How strongly models prefer the first side of each item, as mean ranks within a model from 0 to 1.

        Probabilities of different models are not on one scale, but their ranks are. None if the form of the items does
        not say which scores show a preference, as with choices of chat models.
        """
        found = [compute_preferences(cell, self.items) for cell in self.cells]
        known = [values for values in found if values is not None]
        if len(known) < len(found):
            return None
        ranks = np.array([rankdata(values) / len(values) for values in known])
        return np.asarray(ranks.mean(axis=0), dtype=np.float64)

    def clusters(self) -> Labels | None:
        """What items are clustered by, if the measure has clusters: their target, or template."""
        return self.cells[0].clusters(self.quantity, self.items)


def build_panels(cells: Sequence[Cell]) -> Iterator[ItemPanel]:
    """The panels of runs: for each part and language the measures that decide, and those with a best value.

    Pooled parts are left out, since their items are those of the parts. A model that occurs in several runs with the
    same protocol counts once: the first is taken.
    """
    groups: dict[tuple[str, str, str], dict[tuple[str, str], Cell]] = {}
    for cell in cells:
        if cell.part != OVERALL:
            models = groups.setdefault((cell.benchmark, cell.part, cell.language), {})
            models.setdefault((cell.model, cell.protocol), cell)
    for models in groups.values():
        by_measure: dict[str, list[tuple[Cell, Quantity]]] = {}
        for cell in models.values():
            decided = False
            for quantity in cell.list_quantities():
                if quantity.values.is_mean and (
                    quantity.measure.ideal_at_bound or (quantity.measure.decides and not decided)
                ):
                    decided |= quantity.measure.decides
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


def compute_preferences(cell: Cell, items: pd.Index) -> Floats | None:
    """A number for each item that grows with the preference for its first side; None if no scores show it."""
    form = str(cell.texts["form"].iat[0]) if cell.texts is not None and len(cell.texts) else ""
    shown = get_benchmarks()[form].shown if form in get_benchmarks() else None
    if shown is None or not set(shown.roles[:2]) <= set(cell.scores.columns):
        return None
    scores = [cell.scores[role].loc[items].to_numpy(dtype=float) for role in shown.roles[:2]]
    if shown.unit == "signed":
        return scores[0]
    if shown.unit == "ratio":
        tiny = np.finfo(float).tiny
        scores = [np.log(np.maximum(values, tiny)) for values in scores]
    return np.asarray(scores[0] - scores[1], dtype=np.float64)
