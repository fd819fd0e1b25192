"""Functions that count the items of data sets in local files; they download nothing."""

from collections import Counter
from functools import cache, lru_cache
from pathlib import Path

from tiltmeter.datasets.dataset_definition import Dataset, Source
from tiltmeter.datasets.dataset_loader import get_dataset
from tiltmeter.datasets.dataset_spec import parse_spec
from tiltmeter.datasets.readers.jsonl import read_jsonl
from tiltmeter.forms import Item, get_item_form
from tiltmeter.studio.studio_workspace import StudioWorkspace


def count_items(text: str, limit: int | None, workspace: StudioWorkspace) -> int | None:
    """Return the number of items that a run would measure; None if a file is not downloaded.

    `text` is a specification such as `stereoset:de`; `limit` is the maximum number of items for each part and language.
    """
    counts = _count_portions(text, workspace)
    return None if counts is None else sum(min(count, limit or count) for count in counts.values())


def count_by_language(data: Dataset) -> dict[str, int | None]:
    """Return a dictionary from each language of a data set to its number of items.

    The number is None if it is not in the catalogue and a file of the language is not downloaded.
    """
    return {
        language: data.items.get(language) or (sum(map(_count_total, sources)) if _are_local(sources) else None)
        for language in data.languages
        if (sources := data.select(None, [language]))
    }


def count_local_items(data: Dataset) -> tuple[int, int]:
    """Return the number of items in the downloaded files of a data set, and the number of downloaded files."""
    local = [source for source in data.sources if source.is_local()]
    return sum(map(_count_total, local)), len(local)


def is_data_local(data: Dataset) -> bool:
    """Return whether all files of a data set are downloaded."""
    return data.local_source_count == len(data.sources)


def load_local_items(text: str, workspace: StudioWorkspace) -> list[Item] | None:
    """Return the items that a specification such as `stereoset:de` selects; None if a file is not downloaded."""
    if ".jsonl" in text:
        return _select_languages(workspace.find_data_file(text.partition(":")[0]), text)
    spec = parse_spec(text)
    sources = get_dataset(spec.name).select(spec.part, spec.languages)
    if not _are_local(sources):
        return None
    items = (item for source in sources for item in source.validate().items)
    return [item for item in items if spec.part is None or get_item_form(item).belongs_to(item, spec.part)]


def _count_portions(text: str, workspace: StudioWorkspace) -> "Counter[tuple[str, str]] | None":
    """Return a counter from (part, language) to the number of items; None if a file is not downloaded."""
    if ".jsonl" in text:
        path = workspace.find_data_file(text.partition(":")[0])
        return Counter((_get_part(item), item.language) for item in _select_languages(path, text))
    spec = parse_spec(text)
    sources = get_dataset(spec.name).select(spec.part, spec.languages)
    if not _are_local(sources):
        return None
    counts: Counter[tuple[str, str]] = Counter()
    for source in sources:
        # An item without a part belongs to every part; for example, a GEST item belongs to every template.
        parts = {part: n for part, n in _count_parts(source).items() if part in ("", spec.part or part)}
        counts.update({(part, source.language): n for part, n in parts.items()})
    return counts


def _are_local(sources: "tuple[Source, ...]") -> bool:
    return all(source.is_local() for source in sources)


def _select_languages(path: Path, text: str) -> list[Item]:
    wanted = set(filter(None, text.partition(":")[2].split(",")))
    return [item for item in _read_own_items(path, path.stat().st_mtime_ns) if not wanted or item.language in wanted]


@lru_cache(maxsize=8)
def _read_own_items(path: Path, _changed: int) -> list[Item]:
    return read_jsonl(path)


@cache
def _count_parts(source: Source) -> "Counter[str]":
    return Counter(_get_part(item) for item in source.validate().items)


def _count_total(source: Source) -> int:
    return sum(_count_parts(source).values())


def _get_part(item: Item) -> str:
    return get_item_form(item).part_of(item) or ""
