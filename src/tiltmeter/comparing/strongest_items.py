"""The items with the strongest preference for the stereotype, with their texts."""

from collections.abc import Sequence

import pandas as pd

from tiltmeter.comparing.cells import Cell, build_cells
from tiltmeter.datasets.dataset_loader import DATASETS, allows_text_export, explain_missing_texts, load
from tiltmeter.errors import UsageError
from tiltmeter.forms import ItemText, get_item_form
from tiltmeter.measures.records import OVERALL
from tiltmeter.printable_text import escape_row
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_items import get_item_texts

ENGLISH, CONTEXT = "English", "context"
PREFERENCE, INFLUENCE = "preference", "influence"
GROUP_COLUMNS = ["model", "benchmark", "part", "language"]


def select_strongest_items(result: Result, top: int = 20) -> pd.DataFrame:
    """Return the `top` items with the strongest preference for the stereotype, for each model, part and language.

    The strongest preference is first; items without a preference for the stereotype are left out. The column
    `preference` is the log-probability of the stereotypical text minus that of the other text; for chat models, the
    difference of choice rates; for translations, 1. For a measure of all items together, such as a rank correlation,
    the column `influence` is the change of the measure caused by the item. Other columns have the context and the text
    of each role, and the English original of translated items, if the run or a local file has it.
    """
    if top < 1:
        raise UsageError(f"The number of strongest items is {top}; it must be at least 1.")
    rows = []
    cells = [cell for cell in build_cells("", result) if cell.part != OVERALL]
    for cell in cells:
        rows += _build_rows(cell, result, top)
    if not rows:
        names = dict.fromkeys(str(name) for name in result.scores["benchmark"].unique())
        reasons = [explain_missing_texts(name) for name in names if not allows_text_export(name)]
        raise UsageError(reasons[0] if reasons else _explain_no_items(cells))
    return pd.DataFrame([escape_row(row) for row in rows])


def _explain_no_items(cells: Sequence[Cell]) -> str:
    """Return a sentence that explains why no items of a run can be listed."""
    if all(cell.find_item_scale() is None for cell in cells):
        return (
            "The measures of this run do not define a preference for single items, so its items cannot be sorted; "
            "`tiltmeter show RUN --csv` prints all numbers."
        )
    return "No item of this run has a preference for the stereotype, or the texts of its items were not saved."


def _build_rows(cell: Cell, result: Result, top: int) -> list[dict[str, object]]:
    scale = cell.find_item_scale()
    if scale is None or cell.texts is None:
        return []
    strengths = cell.compute_strengths(scale, cell.scores.index)
    texts, english = get_item_texts(cell.texts), _find_english_texts(cell, result)
    preferred = pd.Series(strengths)[strengths > 0]
    order = preferred.sort_values(ascending=False, kind="stable").index[:top]
    rows = []
    for at in order:
        part, item = cell.scores.index[at]
        text = texts.get(item, ItemText("", {}))
        row: dict[str, object] = dict(
            zip(GROUP_COLUMNS, (cell.model, cell.benchmark, part, cell.language), strict=True)
        )
        column = INFLUENCE if scale.strength.unit == INFLUENCE else PREFERENCE
        row |= {"item": item, column: float(strengths[at]), **cell.get_attributes((part, item))}
        row |= {CONTEXT: text.context, **text.texts}
        if item in english:
            row[ENGLISH] = " / ".join(
                words for words in (english[item].context, *english[item].texts.values()) if words
            )
        rows.append(row)
    return rows


def _find_english_texts(cell: Cell, result: Result) -> dict[str, ItemText]:
    """Return the English originals of translated items by id, from the run or from local files."""
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
