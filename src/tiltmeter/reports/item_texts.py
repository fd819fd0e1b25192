"""The texts of a run's items: from the run, or for runs of earlier versions from the data."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from tiltmeter.datasets import Spec, load_spec, parse_spec
from tiltmeter.datasets.by_name import DATASETS, keeps_texts, without_texts
from tiltmeter.datasets.hashing import sha256_of
from tiltmeter.errors import TiltmeterError
from tiltmeter.forms import Item, ItemText, form_of
from tiltmeter.reports.clean import clip, label
from tiltmeter.runs.items import texts_by_id
from tiltmeter.runs.manifest import data_sets
from tiltmeter.runs.result import Result
from tiltmeter.translators.base import SOURCE

# Benchmark and language, as a report names them.
DataKey = tuple[str, str]


def item_texts(
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
        for (name, language), data in data_sets(result.manifest).items():
            key = (names.get(name, label(name)), label(language))
            if not keeps_texts(name):
                missing[without_texts(name)] = None
                continue
            if result.texts is not None:
                rows = result.texts[(result.texts["benchmark"] == name) & (result.texts["language"] == language)]
                texts = kept_texts(rows)
            elif key in looked_up:
                continue
            else:
                looked_up.add(key)
                try:
                    texts = texts_of(data)
                except (TiltmeterError, OSError) as error:
                    missing[f"{key[0]}: {clip(str(error), 300).rstrip('.')}."] = None
                    continue
            # Runs may hold different items of one data set; if several hold an item, the first run's text is shown.
            texts_at[key] = texts | texts_at.get(key, {})
    return texts_at, list(missing)


def kept_texts(items: pd.DataFrame) -> dict[str, ItemText]:
    """The texts in a run's table of items, by id, ready for display."""
    return {label(item): _clipped(text) for item, text in texts_by_id(items).items()}


def texts_of(data: Mapping[str, Any]) -> dict[str, ItemText]:
    """The texts of a manifest's data set, by id; an error if its files are not on this machine."""
    items = _load(*_source(data), data.get("files") or {})
    return {label(item.id): _clipped(form_of(item).shown(item)) for item in items}


def _source(data: Mapping[str, Any]) -> tuple[str, str]:
    """The name and language of the data set with the items; for translations, of the sentences translated."""
    if "source" in data:
        return str(data["source"]), str(data.get("item_language", SOURCE))
    return str(data["benchmark"]), str(data["language"])


def _load(name: str, language: str, files: Mapping[str, str]) -> list[Item]:
    """The items of a data set; an error if its files have other hashes than these."""
    if not keeps_texts(name):
        raise TiltmeterError(without_texts(name))
    if name in DATASETS:
        for source in DATASETS[name].select(None, [language]):
            if not source.is_local():
                raise TiltmeterError(f"The texts are not on this machine; `tiltmeter data get {name}` downloads them.")
            for file, path in zip(source.files, source.paths(), strict=True):
                _refuse_changed(path, files.get(file.name))
        return load_spec(Spec(name, None, (language,)))
    spec = parse_spec(name)
    if spec.path is None or not spec.path.is_file():
        raise TiltmeterError("The file of items is not where it was when they were measured.")
    _refuse_changed(spec.path, files.get(spec.path.name))
    return load_spec(Spec(name, None, (language,), spec.path))


def _refuse_changed(path: Path, digest: str | None) -> None:
    if digest is not None and sha256_of(path) != digest:
        raise TiltmeterError(f"{path.name} has changed since the run, so its texts are not shown.")


def _clipped(text: ItemText) -> ItemText:
    return ItemText(clip(text.context), {role: clip(candidate) for role, candidate in text.texts.items()})
