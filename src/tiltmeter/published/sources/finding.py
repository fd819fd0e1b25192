"""The source of a printed number."""

from tiltmeter.published.printed import Place, Printed
from tiltmeter.published.sources import gest_tables, pairs, stereoset
from tiltmeter.published.sources.recipe import Source


def find(number: Printed, *, from_models: bool = False, instead: Place | None = None) -> Source:
    """What recomputes a number; `instead` changes its place, to recompute what it might be by mistake."""
    place = {**number.place, **(instead or {})}
    if number.paper.key == "steinborn2022":
        return pairs.find(place, number.kind, from_models=from_models)
    if number.paper.key == "gest2024":
        return gest_tables.find(number.table, place, number.kind, from_models=from_models)
    return stereoset.find(number.paper.key, place, from_models=from_models)
