"""The items of a run on which its models prefer the stereotype most, with their texts."""

from collections.abc import Sequence

import pandas as pd

from tiltmeter.comparing.cells import Cell, cells_of
from tiltmeter.datasets.by_name import DATASETS, keeps_texts, load, without_texts
from tiltmeter.errors import UsageError
from tiltmeter.forms import ItemText, form_of
from tiltmeter.measures.records import OVERALL
from tiltmeter.printable import visible_values
from tiltmeter.runs.items import texts_by_id
from tiltmeter.runs.result import Result

ENGLISH, CONTEXT = "English", "context"
PREFERENCE, INFLUENCE = "preference", "influence"
CASE = ["model", "benchmark", "part", "language"]


def strongest_items(result: Result, top: int = 20) -> pd.DataFrame:
    """The `top` items of each model, part and language by their preference for the stereotype, strongest first.

    `preference` is how much more likely the stereotypical text is, as a difference of log-probabilities; for chat
    models it is how much more often the stereotype is chosen, for translations 1. For a measure of all items together,
    such as a rank correlation, `influence` is how much the item moves the measure towards stereotypes. Items that are
    not towards stereotypes are left out. There is a column for the context and for the text of each role, and for
    translated items the English original, if the run or a file on this machine has it.
    """
    if top < 1:
        raise UsageError(f"The {top} strongest items are none; ask for at least 1.")
    rows = []
    cells = [cell for cell in cells_of("", result) if cell.part != OVERALL]
    for cell in cells:
        rows += _rows(cell, result, top)
    if not rows:
        names = dict.fromkeys(str(name) for name in result.scores["benchmark"].unique())
        unkept = [without_texts(name) for name in names if not keeps_texts(name)]
        raise UsageError(unkept[0] if unkept else _explain_no_items(cells))
    return pd.DataFrame([visible_values(row) for row in rows])


def _explain_no_items(cells: Sequence[Cell]) -> str:
    """Why no items of a run can be listed."""
    if all(cell.item_scale() is None for cell in cells):
        return (
            "The measures of this run do not define how strongly a single item is towards stereotypes, so its items "
            "cannot be listed by it; `tiltmeter show RUN --csv` has all numbers."
        )
    return "No item of this run is towards stereotypes, or the texts of its items were not kept."


def _rows(cell: Cell, result: Result, top: int) -> list[dict[str, object]]:
    scale = cell.item_scale()
    if scale is None or cell.texts is None:
        return []
    found = cell.compute_strengths(scale, cell.scores.index)
    texts, english = texts_by_id(cell.texts), _english(cell, result)
    preferred = pd.Series(found)[found > 0]
    order = preferred.sort_values(ascending=False, kind="stable").index[:top]
    rows = []
    for at in order:
        part, item = cell.scores.index[at]
        text = texts.get(item, ItemText("", {}))
        row: dict[str, object] = dict(zip(CASE, (cell.model, cell.benchmark, part, cell.language), strict=True))
        column = INFLUENCE if scale.strength.unit == INFLUENCE else PREFERENCE
        row |= {"item": item, column: float(found[at]), **cell.attributes_of((part, item))}
        row |= {CONTEXT: text.context, **text.texts}
        if item in english:
            row[ENGLISH] = " / ".join(
                words for words in (english[item].context, *english[item].texts.values()) if words
            )
        rows.append(row)
    return rows


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
