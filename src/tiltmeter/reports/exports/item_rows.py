"""The outcome of each item of a run as a row, for exports that contain items."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tiltmeter.comparing.cells import ITEM_TRANSLATION, Cell, build_cells
from tiltmeter.datasets.dataset_loader import allows_text_export
from tiltmeter.measures.records import OVERALL
from tiltmeter.reports.exports.exported_model import select_model
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_items import get_item_texts

# The columns that identify a row, and the column with the reason why an item was not scored.
KEY = ("model", "benchmark", "part", "language", "protocol", "item")
REASON = "not scored"
# The prefixes of the other columns: scores of roles, contributions to measures, and texts. Attributes have no prefix.
SCORE, PREFERENCE, VALUE, TEXT = "score.", "preference", "value.", "text."


def list_item_rows(result: Result, model: str | None) -> Iterator[dict[str, Any]]:
    """Yield a row for each item of the model, or of all models if `model` is None.

    Texts are left out if the licence of the data set does not allow storing them.
    """
    chosen = None if model is None else select_model(result, model).model
    for cell in build_cells("", result):
        if cell.part != OVERALL and chosen in (None, cell.model):
            yield from _build_rows(cell)
    for entry in result.manifest.skipped:
        if chosen in (None, entry.model):
            key = (entry.model, entry.benchmark, entry.part, entry.language, None, entry.item)
            yield {**dict(zip(KEY, key, strict=True)), REASON: entry.reason}


def _build_rows(cell: Cell) -> Iterator[dict[str, Any]]:
    values = _compute_values(cell)
    shows_texts = allows_text_export(cell.benchmark)
    texts = get_item_texts(cell.texts) if cell.texts is not None and shows_texts else {}
    for number, index in enumerate(cell.scores.index):
        part, item = index
        key = (cell.model, cell.benchmark, part, cell.language, cell.protocol, item)
        row: dict[str, Any] = dict(zip(KEY, key, strict=True))
        row |= {name: cell.attributes[name].iat[number] for name in cell.get_attributes((part, item))}
        row |= {f"{SCORE}{role}": cell.get_score((part, item), str(role)) for role in cell.scores.columns}
        row |= {name: float(column[number]) for name, column in values.items()}
        if item in texts:
            named = {"context": texts[item].context, **texts[item].texts}
            row |= {f"{TEXT}{role}": text for role, text in named.items() if text}
        if shows_texts and (translation := cell.get_translation((part, item))) is not None:
            row[f"{TEXT}{ITEM_TRANSLATION}"] = translation
        yield row


def _compute_values(cell: Cell) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """Return a mapping from column to a number for each item: the preference and the contributions to measures."""
    columns = {}
    scale = cell.find_item_scale()
    # With the unit "influence", the strength of an item depends on all other items, so it is no outcome of this item.
    if scale is not None and scale.strength.unit != "influence":
        columns[PREFERENCE] = cell.compute_strengths(scale, cell.scores.index)
    for quantity in cell.list_quantities():
        if quantity.values.estimate is not None or not quantity.values.is_mean:
            continue
        items = cell.list_items(quantity)
        column = np.full(len(cell.scores), np.nan)
        column[cell.scores.index.get_indexer(items)] = cell.compute_item_values(quantity, items)[0]
        columns[f"{VALUE}{quantity.name}"] = column
    return columns
