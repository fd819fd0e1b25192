"""The texts of a run's items."""

from collections.abc import Iterable, Mapping

import pandas as pd

from tiltmeter.datasets.by_name import keeps_texts, without_texts
from tiltmeter.forms import ItemText
from tiltmeter.reports.clean import clip, label
from tiltmeter.runs.items import texts_by_id
from tiltmeter.runs.result import Result

# Benchmark and language, as a report names them.
DataKey = tuple[str, str]


def item_texts(
    results: Iterable[Result], names: Mapping[str, str]
) -> tuple[dict[DataKey, dict[str, ItemText]], list[str]]:
    """The texts of all items by id, and why those of some data sets are missing. `names` are the report's names."""
    texts_at: dict[DataKey, dict[str, ItemText]] = {}
    missing: dict[str, None] = {}
    for result in results:
        for name, language in result.manifest.data_sets():
            key = (names.get(name, label(name)), label(language))
            if not keeps_texts(name):
                missing[without_texts(name)] = None
                continue
            if result.texts is not None:
                rows = result.texts[(result.texts["benchmark"] == name) & (result.texts["language"] == language)]
                # Runs may hold different items of one data set; of an item in several runs, the first text is shown.
                texts_at[key] = kept_texts(rows) | texts_at.get(key, {})
    return texts_at, list(missing)


def kept_texts(items: pd.DataFrame) -> dict[str, ItemText]:
    """The texts in a run's table of items, by id, ready for display."""
    return {label(item): _clipped(text) for item, text in texts_by_id(items).items()}


def _clipped(text: ItemText) -> ItemText:
    return ItemText(clip(text.context), {role: clip(candidate) for role, candidate in text.texts.items()})
