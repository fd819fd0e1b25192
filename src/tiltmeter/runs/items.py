"""The texts of a run's items, as they were measured: the table `items.parquet` of a run's folder."""

from collections.abc import Iterable
from typing import Any

import pandas as pd
import pyarrow as pa

from tiltmeter.forms import ItemText, form_of
from tiltmeter.runs.portions import Portion

_KEY = ["benchmark", "part", "language", "item"]
# One row for each item. `part` is that of the data: "all" where it is the benchmark that asks in several parts.
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in (*_KEY, "form", "context")),
        ("texts", pa.list_(pa.struct([("role", pa.string()), ("text", pa.string())]))),
    ]
)


def item_table(portions: Iterable[Portion]) -> pd.DataFrame:
    """The items of some portions: what stands before their texts, and each text with its role."""
    rows: list[dict[str, Any]] = []
    for portion in portions:
        for item in portion.items:
            form = form_of(item)
            shown = form.shown(item)
            texts = [{"role": role, "text": text} for role, text in shown.texts.items()]
            about = {"item": item.id, "form": form.name, "context": shown.context}
            rows.append({**portion.label(), **about, "texts": texts})
    return pd.DataFrame(rows, columns=SCHEMA.names).drop_duplicates(_KEY, ignore_index=True)


def texts_by_id(items: pd.DataFrame) -> dict[str, ItemText]:
    """The texts of some rows of such a table, by the ids of the items."""
    columns = zip(items["item"], items["context"], items["texts"], strict=True)
    return {item: ItemText(context, {one["role"]: one["text"] for one in texts}) for item, context, texts in columns}
