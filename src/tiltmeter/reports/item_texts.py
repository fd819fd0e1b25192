"""Loading of the texts of items from runs, for display."""

from collections.abc import Iterable, Mapping

import pandas as pd

from tiltmeter.datasets.dataset_loader import allows_text_export, explain_missing_texts
from tiltmeter.forms import ItemText
from tiltmeter.reports.display_text import clip_text, format_label
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_items import get_item_texts

# (display name of the benchmark, display name of the language)
DataKey = tuple[str, str]


def load_item_texts(
    results: Iterable[Result], names: Mapping[str, str]
) -> tuple[dict[DataKey, dict[str, ItemText]], list[str]]:
    """Return the texts of all items, and a sentence for each data set whose texts may not be shown.

    The texts are a dictionary {(benchmark, language): {item id: text}} with display names of benchmarks and languages.
    `names` maps benchmarks to display names.
    """
    texts_at: dict[DataKey, dict[str, ItemText]] = {}
    missing: dict[str, None] = {}
    for result in results:
        for name, language in result.manifest.index_data_sets():
            key = (names.get(name, format_label(name)), format_label(language))
            if not allows_text_export(name):
                missing[explain_missing_texts(name)] = None
                continue
            if result.texts is not None:
                rows = result.texts[(result.texts["benchmark"] == name) & (result.texts["language"] == language)]
                # Runs may contain different items of one data set. If several runs have an item, keep its first text.
                texts_at[key] = list_stored_texts(rows) | texts_at.get(key, {})
    return texts_at, list(missing)


def list_stored_texts(items: pd.DataFrame) -> dict[str, ItemText]:
    """Return the texts in a run's table of items, shortened for display; the keys are the ids of the items."""
    return {format_label(item): _clip_texts(text) for item, text in get_item_texts(items).items()}


def _clip_texts(text: ItemText) -> ItemText:
    return ItemText(clip_text(text.context), {role: clip_text(candidate) for role, candidate in text.texts.items()})
