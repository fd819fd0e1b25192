"""How many items a benchmark has, from files that are here: nothing is downloaded."""

from collections import Counter
from functools import cache, lru_cache
from pathlib import Path

from tiltmeter.datasets.by_name import dataset
from tiltmeter.datasets.description import Dataset, Source
from tiltmeter.datasets.readers.jsonl import read_jsonl
from tiltmeter.datasets.spec import parse_spec
from tiltmeter.forms import Item, form_of
from tiltmeter.studio.folders import StudioWorkspace


def count_items(text: str, limit: int | None, workspace: StudioWorkspace) -> int | None:
    """The items that a run with this specification and limit asks about; None if some files are not here."""
    counts = _portions(text, workspace)
    return None if counts is None else sum(min(count, limit or count) for count in counts.values())


def language_counts(data: Dataset) -> dict[str, int | None]:
    """The items of each language of a data set; None where the catalogue does not know, and the files are not here."""
    return {
        language: data.items.get(language) or (sum(map(_total, sources)) if _are_here(sources) else None)
        for language in data.languages
        if (sources := data.select(None, [language]))
    }


def items_here(data: Dataset) -> tuple[int, int]:
    """The number of items in those files of a data set that are here, and of these files."""
    here = [source for source in data.sources if source.is_local()]
    return sum(map(_total, here)), len(here)


def is_here(data: Dataset) -> bool:
    """Whether all files of a data set are on this machine."""
    return data.here == len(data.sources)


def local_items(text: str, workspace: StudioWorkspace) -> list[Item] | None:
    """The items of a specification; None if some files are not here."""
    if ".jsonl" in text:
        return _of_languages(workspace.data_file(text.partition(":")[0]), text)
    spec = parse_spec(text)
    sources = dataset(spec.name).select(spec.part, spec.languages)
    if not _are_here(sources):
        return None
    items = (item for source in sources for item in source.examine().items)
    return [item for item in items if spec.part is None or form_of(item).belongs_to(item, spec.part)]


def _portions(text: str, workspace: StudioWorkspace) -> "Counter[tuple[str, str]] | None":
    """The number of items of each part and language."""
    if ".jsonl" in text:
        path = workspace.data_file(text.partition(":")[0])
        return Counter((_part(item), item.language) for item in _of_languages(path, text))
    spec = parse_spec(text)
    sources = dataset(spec.name).select(spec.part, spec.languages)
    if not _are_here(sources):
        return None
    counts: Counter[tuple[str, str]] = Counter()
    for source in sources:
        # A part of a form whose items are in all parts, such as a template of GEST, has all of them.
        parts = {part: n for part, n in _counted(source).items() if part in ("", spec.part or part)}
        counts.update({(part, source.language): n for part, n in parts.items()})
    return counts


def _are_here(sources: "tuple[Source, ...]") -> bool:
    return all(source.is_local() for source in sources)


def _of_languages(path: Path, text: str) -> list[Item]:
    wanted = set(filter(None, text.partition(":")[2].split(",")))
    return [item for item in _own_items(path, path.stat().st_mtime_ns) if not wanted or item.language in wanted]


@lru_cache(maxsize=8)
def _own_items(path: Path, _changed: int) -> list[Item]:
    return read_jsonl(path)


@cache
def _counted(source: Source) -> "Counter[str]":
    return Counter(_part(item) for item in source.examine().items)


def _total(source: Source) -> int:
    return sum(_counted(source).values())


def _part(item: Item) -> str:
    return form_of(item).part_of(item) or ""
