"""How many items a benchmark has, from files that are here: nothing is downloaded."""

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
    """The items that a run with this specification and limit asks about; None if some files are not here."""
    counts = _count_portions(text, workspace)
    return None if counts is None else sum(min(count, limit or count) for count in counts.values())


def count_by_language(data: Dataset) -> dict[str, int | None]:
    """The items of each language of a data set; None where the catalogue does not know, and the files are not here."""
    return {
        language: data.items.get(language) or (sum(map(_count_total, sources)) if _are_local(sources) else None)
        for language in data.languages
        if (sources := data.select(None, [language]))
    }


def count_local_items(data: Dataset) -> tuple[int, int]:
    """The number of items in those files of a data set that are here, and of these files."""
    here = [source for source in data.sources if source.is_local()]
    return sum(map(_count_total, here)), len(here)


def is_data_local(data: Dataset) -> bool:
    """Whether all files of a data set are on this machine."""
    return data.here == len(data.sources)


def load_local_items(text: str, workspace: StudioWorkspace) -> list[Item] | None:
    """The items of a specification; None if some files are not here."""
    if ".jsonl" in text:
        return _select_languages(workspace.find_data_file(text.partition(":")[0]), text)
    spec = parse_spec(text)
    sources = get_dataset(spec.name).select(spec.part, spec.languages)
    if not _are_local(sources):
        return None
    items = (item for source in sources for item in source.validate().items)
    return [item for item in items if spec.part is None or get_item_form(item).belongs_to(item, spec.part)]


def _count_portions(text: str, workspace: StudioWorkspace) -> "Counter[tuple[str, str]] | None":
    """The number of items of each part and language."""
    if ".jsonl" in text:
        path = workspace.find_data_file(text.partition(":")[0])
        return Counter((_get_part(item), item.language) for item in _select_languages(path, text))
    spec = parse_spec(text)
    sources = get_dataset(spec.name).select(spec.part, spec.languages)
    if not _are_local(sources):
        return None
    counts: Counter[tuple[str, str]] = Counter()
    for source in sources:
        # A part of a form whose items are in all parts, such as a template of GEST, has all of them.
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
