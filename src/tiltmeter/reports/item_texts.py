"""The texts of a run's items: from the run, or for runs of earlier versions from the data."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from tiltmeter.datasets import Spec, load_spec, parse_spec
from tiltmeter.datasets.dataset_loader import DATASETS, allows_text_export, explain_missing_texts
from tiltmeter.datasets.file_hashes import get_sha256
from tiltmeter.errors import TiltmeterError
from tiltmeter.forms import Item, ItemText, get_item_form
from tiltmeter.reports.display_text import clip, format_label
from tiltmeter.runs.manifest import index_data_sets
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_items import get_item_texts
from tiltmeter.translators.translator_protocol import SOURCE

# Benchmark and language, as a report names them.
DataKey = tuple[str, str]


def load_item_texts(
    results: Iterable[Result], names: Mapping[str, str]
) -> tuple[dict[DataKey, dict[str, ItemText]], list[str]]:
    """The texts of all items by id, and why those of some data sets are missing. `names` are the report's names.

    A run holds the texts that it measured. For runs of earlier versions, which do not, they are looked up in the data;
    nothing is downloaded for a report, and a file that has changed since the run is not used.
    """
    texts_at: dict[DataKey, dict[str, ItemText]] = {}
    looked_up: set[DataKey] = set()
    missing: dict[str, None] = {}
    for result in results:
        for (name, language), data in index_data_sets(result.manifest).items():
            key = (names.get(name, format_label(name)), format_label(language))
            if not allows_text_export(name):
                missing[explain_missing_texts(name)] = None
                continue
            if result.texts is not None:
                rows = result.texts[(result.texts["benchmark"] == name) & (result.texts["language"] == language)]
                texts = list_stored_texts(rows)
            elif key in looked_up:
                continue
            else:
                looked_up.add(key)
                try:
                    texts = load_texts(data)
                except (TiltmeterError, OSError) as error:
                    missing[f"{key[0]}: {clip(str(error), 300).rstrip('.')}."] = None
                    continue
            # Runs may hold different items of one data set; if several hold an item, the first run's text is shown.
            texts_at[key] = texts | texts_at.get(key, {})
    return texts_at, list(missing)


def list_stored_texts(items: pd.DataFrame) -> dict[str, ItemText]:
    """The texts in a run's table of items, by id, ready for display."""
    return {format_label(item): _clip_texts(text) for item, text in get_item_texts(items).items()}


def load_texts(data: Mapping[str, Any]) -> dict[str, ItemText]:
    """The texts of a manifest's data set, by id; an error if its files are not on this machine."""
    items = _load_items(*_find_source(data), data.get("files") or {})
    return {format_label(item.id): _clip_texts(get_item_form(item).shown(item)) for item in items}


def _find_source(data: Mapping[str, Any]) -> tuple[str, str]:
    """The name and language of the data set with the items; for translations, of the sentences translated."""
    if "source" in data:
        return str(data["source"]), str(data.get("item_language", SOURCE))
    return str(data["benchmark"]), str(data["language"])


def _load_items(name: str, language: str, files: Mapping[str, str]) -> list[Item]:
    """The items of a data set; an error if its files have other hashes than these."""
    if not allows_text_export(name):
        raise TiltmeterError(explain_missing_texts(name))
    if name in DATASETS:
        for source in DATASETS[name].select(None, [language]):
            if not source.is_local():
                raise TiltmeterError(f"The texts are not on this machine; `tiltmeter data get {name}` downloads them.")
            for file, path in zip(source.files, source.paths(), strict=True):
                _reject_changed(path, files.get(file.name))
        return load_spec(Spec(name, None, (language,)))
    spec = parse_spec(name)
    if spec.path is None or not spec.path.is_file():
        raise TiltmeterError("The file of items is not where it was when they were measured.")
    _reject_changed(spec.path, files.get(spec.path.name))
    return load_spec(Spec(name, None, (language,), spec.path))


def _reject_changed(path: Path, digest: str | None) -> None:
    if digest is not None and get_sha256(path) != digest:
        raise TiltmeterError(f"{path.name} has changed since the run, so its texts are not shown.")


def _clip_texts(text: ItemText) -> ItemText:
    return ItemText(clip(text.context), {role: clip(candidate) for role, candidate in text.texts.items()})
