"""What the items of a run say: the texts that it holds, or, for runs of earlier versions, those of the data."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from tiltmeter.datasets import Spec, load_spec, parse_spec
from tiltmeter.datasets.by_name import DATASETS
from tiltmeter.datasets.hashing import sha256_of
from tiltmeter.errors import TiltmeterError
from tiltmeter.forms import Item, ItemText, form_of
from tiltmeter.reports.clean import clip, label
from tiltmeter.runs.items import texts_by_id
from tiltmeter.runs.manifest import data_sets
from tiltmeter.runs.result import Result
from tiltmeter.translators.base import SOURCE

# Benchmark and language, as a report names them.
Place = tuple[str, str]


def item_texts(
    results: Iterable[Result], names: Mapping[str, str]
) -> tuple[dict[Place, dict[str, ItemText]], list[str]]:
    """The texts of all items by id, and why those of some data sets are not there; `names` are the report's for them.

    A run holds the texts that it measured. For runs of earlier versions, which do not, they are looked up in the data:
    nothing is downloaded for a report, and a file that has changed since the run is not the one that was measured.
    """
    found: dict[Place, dict[str, ItemText]] = {}
    looked_up: set[Place] = set()
    missing: dict[str, None] = {}
    for result in results:
        for (name, language), data in data_sets(result.manifest).items():
            place = (names.get(name, label(name)), label(language))
            if result.items is not None:
                rows = result.items[(result.items["benchmark"] == name) & (result.items["language"] == language)]
                texts = kept_texts(rows)
            elif place in looked_up:
                continue
            else:
                looked_up.add(place)
                try:
                    texts = texts_of(data)
                except (TiltmeterError, OSError) as error:
                    missing[f"{place[0]}: {clip(str(error), 300).rstrip('.')}."] = None
                    continue
            # Runs may hold different items of one data set; of one that several hold, the first run's text is shown.
            found[place] = texts | found.get(place, {})
    return found, list(missing)


def kept_texts(items: pd.DataFrame) -> dict[str, ItemText]:
    """The texts that a run holds, by id, ready to be shown."""
    return {label(item): _clipped(text) for item, text in texts_by_id(items).items()}


def texts_of(data: Mapping[str, Any]) -> dict[str, ItemText]:
    """The texts of the items of a data set that is in a manifest, by id; an error where they are not here."""
    items = _load(*_source(data), data.get("files") or {})
    return {label(item.id): _clipped(form_of(item).shown(item)) for item in items}


def _source(data: Mapping[str, Any]) -> tuple[str, str]:
    """The data set that the items are in, and its language: of translations, those of what was translated."""
    if "source" in data:
        return str(data["source"]), SOURCE
    return str(data["benchmark"]), str(data["language"])


def _load(name: str, language: str, files: Mapping[str, str]) -> list[Item]:
    """The items of a data set, if its files have these hashes."""
    if name in DATASETS:
        for source in DATASETS[name].select(None, [language]):
            if not source.is_local():
                raise TiltmeterError(f"The texts are not on this machine; `tiltmeter data get {name}` gets them.")
            for file, path in zip(source.files, source.paths(), strict=True):
                _same(path, files.get(file.name))
        return load_spec(Spec(name, None, (language,)))
    spec = parse_spec(name)
    if spec.path is None or not spec.path.is_file():
        raise TiltmeterError("The file of items is not where it was when they were measured.")
    _same(spec.path, files.get(spec.path.name))
    return load_spec(Spec(name, None, (language,), spec.path))


def _same(path: Path, digest: str | None) -> None:
    if digest is not None and sha256_of(path) != digest:
        raise TiltmeterError(f"{path.name} has changed since the run, so its texts are not shown.")


def _clipped(text: ItemText) -> ItemText:
    return ItemText(clip(text.context), {role: clip(said) for role, said in text.texts.items()})
