"""The items of a run on which its models prefer the stereotype most, with their texts."""

import numpy as np
import pandas as pd

from tiltmeter.comparing.cells import Cell, build_cells
from tiltmeter.comparing.item_panels import compute_preferences
from tiltmeter.datasets.dataset_loader import DATASETS, allows_text_export, explain_missing_texts, load
from tiltmeter.errors import UsageError
from tiltmeter.forms import ItemText, get_item_form
from tiltmeter.measures.records import OVERALL
from tiltmeter.measures.standard_errors import Floats
from tiltmeter.printable_text import escape_row
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_items import get_item_texts

ENGLISH, CONTEXT = "English", "context"
GROUP_COLUMNS = ["model", "benchmark", "part", "language"]


def select_strongest_items(result: Result, top: int = 20) -> pd.DataFrame:
    """The `top` items of each model, part and language by their preference for the stereotype, strongest first.

    `preference` is how much more likely the stereotypical text is, as a difference of log-probabilities; items without
    such a preference, and those whose scores cannot show one, as of chat models, are left out. There is a column for
    the context and for the text of each role, and for translated items the English original, if the run or a file on
    this machine has it.
    """
    if top < 1:
        raise UsageError(f"The {top} strongest items are none; ask for at least 1.")
    rows = []
    for cell in build_cells("", result):
        if cell.part != OVERALL:
            rows += _build_rows(cell, result, top)
    if not rows:
        names = dict.fromkeys(str(name) for name in result.scores["benchmark"].unique())
        unkept = [explain_missing_texts(name) for name in names if not allows_text_export(name)]
        why = (
            "This run has no items with two sides to prefer, none whose stereotype is preferred, or its texts were "
            "not kept."
        )
        why = unkept[0] if unkept else why
        raise UsageError(why)
    return pd.DataFrame([escape_row(row) for row in rows])


def _build_rows(cell: Cell, result: Result, top: int) -> list[dict[str, object]]:
    found = compute_preferences(cell, cell.scores.index)
    if found is None or cell.texts is None:
        return []
    found = found * _compute_directions(cell)
    texts, english = get_item_texts(cell.texts), _find_english_texts(cell, result)
    preferred = pd.Series(found)[found > 0]
    order = preferred.sort_values(ascending=False, kind="stable").index[:top]
    rows = []
    for at in order:
        part, item = cell.scores.index[at]
        text = texts.get(item, ItemText("", {}))
        row: dict[str, object] = dict(
            zip(GROUP_COLUMNS, (cell.model, cell.benchmark, part, cell.language), strict=True)
        )
        row |= {"item": item, "preference": float(found[at]), **cell.get_attributes((part, item))}
        row |= {CONTEXT: text.context, **text.texts}
        if item in english:
            row[ENGLISH] = " / ".join(
                words for words in (english[item].context, *english[item].texts.values()) if words
            )
        rows.append(row)
    return rows


def _compute_directions(cell: Cell) -> Floats:
    """For each item 1, or -1 where preferring the second side is the stereotype, by its weight in the measure."""
    items = cell.scores.index
    for quantity in cell.list_quantities():
        labels = cell.labels(quantity, items)
        if labels is not None:
            weights = quantity.values.weights(labels, cell.sides(quantity, items))
            return np.where(weights * (quantity.measure.stereotype or 1) < 0, -1.0, 1.0)
    return np.ones(len(items))


def _find_english_texts(cell: Cell, result: Result) -> dict[str, ItemText]:
    """The English originals of translated items by id: those of the run, or of files on this machine."""
    if cell.language == "en":
        return {}
    if result.texts is not None:
        table = result.texts
        own = table[(table["benchmark"] == cell.benchmark) & (table["language"] == "en")]
        if len(own):
            return get_item_texts(own)
    data = DATASETS.get(cell.benchmark)
    if data is None or "en" not in data.languages or not allows_text_export(cell.benchmark):
        return {}
    sources = data.select(None, ["en"])
    if not all(source.is_local() for source in sources):
        return {}
    return {item.id: get_item_form(item).shown(item) for item in load(cell.benchmark, language="en")}
