"""The selection of the source of a printed number."""

from tiltmeter.papers.printed_numbers import TEXT, CellKey, PrintedNumber
from tiltmeter.papers.sources import (
    dutch_crows,
    gest_tables,
    oeztuerk,
    released_stereoset,
    rubia_scores,
    steinborn,
    text_numbers,
    word_replies,
)
from tiltmeter.papers.sources.recipe import NumberSource


def find_source(number: PrintedNumber, *, from_models: bool = False, other_cell: CellKey | None = None) -> NumberSource:
    """Return the source (recipe and key) of a printed number.

    `other_cell` has values that replace those of the number's cell, to test whether another cell explains a difference.
    """
    cell = {**number.cell, **(other_cell or {})}
    if number.table == TEXT:
        return text_numbers.find_source(number.paper.key, cell, from_models=from_models)
    if number.paper.key == "steinborn2022":
        return steinborn.find_source(cell, number.kind, from_models=from_models)
    if number.paper.key == "strazda2025":
        return dutch_crows.find_source(cell, from_models=from_models)
    if number.paper.key == "grigoreva2024":
        return rubia_scores.find_source(cell, from_models=from_models)
    if number.paper.key == "gest2024":
        return gest_tables.find_source(number.table, cell, number.kind, from_models=from_models)
    if number.paper.key == "bai2025":
        return word_replies.find_source(cell, from_models=from_models)
    if number.paper.key in released_stereoset.REPOSITORIES:
        return released_stereoset.find_source(number.paper.key, cell, from_models=from_models)
    return oeztuerk.find_source(number.paper.key, cell, from_models=from_models)
