"""The items of a run on which its models prefer the stereotype most, with their texts."""

import numpy as np
import pandas as pd

from tiltmeter.comparing.cells import Cell, cells_of
from tiltmeter.comparing.item_panels import preferences
from tiltmeter.datasets.by_name import DATASETS, keeps_texts, load, without_texts
from tiltmeter.errors import UsageError
from tiltmeter.forms import ItemText, form_of
from tiltmeter.measures.records import OVERALL
from tiltmeter.measures.standard_errors import Floats
from tiltmeter.printable import visible_values
from tiltmeter.runs.items import texts_by_id
from tiltmeter.runs.result import Result

ENGLISH, CONTEXT = "English", "context"
CASE = ["model", "benchmark", "part", "language"]


def strongest_items(result: Result, top: int = 20) -> pd.DataFrame:
    """The `top` items of each model, part and language by their preference for the stereotype, strongest first.

    `preference` is how much more likely the stereotypical text is, as a difference of log-probabilities; items without
    such a preference, and those whose scores cannot show one, as of chat models, are left out. There is a column for
    the context and for the text of each role, and for translated items the English original, if the run or a file on
    this machine has it.
    """
    if top < 1:
        raise UsageError(f"The {top} strongest items are none; ask for at least 1.")
    rows = []
    for cell in cells_of("", result):
        if cell.part != OVERALL:
            rows += _rows(cell, result, top)
    if not rows:
        names = dict.fromkeys(str(name) for name in result.scores["benchmark"].unique())
        unkept = [without_texts(name) for name in names if not keeps_texts(name)]
        why = (
            "This run has no items with two sides to prefer, none whose stereotype is preferred, or its texts were "
            "not kept."
        )
        why = unkept[0] if unkept else why
        raise UsageError(why)
    return pd.DataFrame([visible_values(row) for row in rows])


def _rows(cell: Cell, result: Result, top: int) -> list[dict[str, object]]:
    found = preferences(cell, cell.scores.index)
    if found is None or cell.texts is None:
        return []
    found = found * _directions(cell)
    texts, english = texts_by_id(cell.texts), _english(cell, result)
    preferred = pd.Series(found)[found > 0]
    order = preferred.sort_values(ascending=False, kind="stable").index[:top]
    rows = []
    for at in order:
        part, item = cell.scores.index[at]
        text = texts.get(item, ItemText("", {}))
        row: dict[str, object] = dict(zip(CASE, (cell.model, cell.benchmark, part, cell.language), strict=True))
        row |= {"item": item, "preference": float(found[at]), **cell.attributes_of((part, item))}
        row |= {CONTEXT: text.context, **text.texts}
        if item in english:
            row[ENGLISH] = " / ".join(
                words for words in (english[item].context, *english[item].texts.values()) if words
            )
        rows.append(row)
    return rows


def _directions(cell: Cell) -> Floats:
    """For each item 1, or -1 where preferring the second side is the stereotype, by its weight in the measure."""
    items = cell.scores.index
    for quantity in cell.quantities():
        labels = cell.labels(quantity, items)
        if labels is not None:
            weights = quantity.values.weights(labels, cell.sides(quantity, items))
            return np.where(weights * (quantity.measure.bias_direction or 1) < 0, -1.0, 1.0)
    return np.ones(len(items))


def _english(cell: Cell, result: Result) -> dict[str, ItemText]:
    """The English originals of translated items by id: those of the run, or of files on this machine."""
    if cell.language == "en":
        return {}
    if result.texts is not None:
        table = result.texts
        own = table[(table["benchmark"] == cell.benchmark) & (table["language"] == "en")]
        if len(own):
            return texts_by_id(own)
    data = DATASETS.get(cell.benchmark)
    if data is None or "en" not in data.languages or not keeps_texts(cell.benchmark):
        return {}
    sources = data.select(None, ["en"])
    if not all(source.is_local() for source in sources):
        return {}
    return {item.id: form_of(item).shown(item) for item in load(cell.benchmark, language="en")}
