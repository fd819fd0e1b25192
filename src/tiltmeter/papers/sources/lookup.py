"""The source of a printed number."""

from tiltmeter.papers.printed import Place, Printed
from tiltmeter.papers.sources import gest_tables, oeztuerk, steinborn
from tiltmeter.papers.sources.recipe import NumberSource


def find(number: Printed, *, from_models: bool = False, instead: Place | None = None) -> NumberSource:
    """What recomputes a number; `instead` changes its place, to recompute what it might be by mistake."""
    place = {**number.place, **(instead or {})}
    if number.paper.key == "steinborn2022":
        return steinborn.find(place, number.kind, from_models=from_models)
    if number.paper.key == "gest2024":
        return gest_tables.find(number.table, place, number.kind, from_models=from_models)
    return oeztuerk.find(number.paper.key, place, from_models=from_models)
