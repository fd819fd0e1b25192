"""The table `items.parquet` of a run: the texts of its items, after any perturbation."""

from collections.abc import Iterable
from typing import Any

import pandas as pd
import pyarrow as pa

from tiltmeter.datasets.dataset_loader import allows_text_export, explain_missing_texts
from tiltmeter.forms import ItemText, get_item_form
from tiltmeter.runs.portions import Portion

_KEY = ["benchmark", "part", "language", "item"]
# One row for each item. `part` is the part of the data set; it is "all" for benchmarks whose parts are templates.
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in (*_KEY, "form", "context")),
        ("texts", pa.list_(pa.struct([("role", pa.string()), ("text", pa.string())]))),
    ]
)


def build_item_table(portions: Iterable[Portion]) -> pd.DataFrame:
    """Return a table of the items, each with its context and its texts by role (such as stereotype).

    Items of data sets whose licence does not allow storing texts are omitted; see `describe_omitted_texts`.
    """
    rows: list[dict[str, Any]] = []
    for portion in filter(lambda portion: allows_text_export(portion.name), portions):
        for item in portion.items:
            form = get_item_form(item)
            display = form.shown(item)
            texts = [{"role": role, "text": text} for role, text in display.texts.items()]
            row = {"item": item.id, "form": form.name, "context": display.context}
            rows.append({**portion.get_key_columns(), **row, "texts": texts})
    return pd.DataFrame(rows, columns=SCHEMA.names).drop_duplicates(_KEY, ignore_index=True)


def describe_omitted_texts(portions: Iterable[Portion]) -> list[str]:
    """Return a note for each data set whose texts the run does not store because of the licence."""
    names = dict.fromkeys(portion.name for portion in portions)
    return [explain_missing_texts(name) for name in names if not allows_text_export(name)]


def get_item_texts(items: pd.DataFrame) -> dict[str, ItemText]:
    """Return a mapping from the item ids in a table of items to the texts of the items."""
    columns = zip(items["item"], items["context"], items["texts"], strict=True)
    return {
        item: ItemText(context, {entry["role"]: entry["text"] for entry in texts}) for item, context, texts in columns
    }
